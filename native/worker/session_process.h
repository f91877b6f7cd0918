// The life of a session process, from the fork to its end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/crypto.h"
#include "common/json.h"
#include "common/scoped_fd.h"
#include "wire/tls.h"
#include "worker/limits.h"
#include "worker/session.h"
#include "worker/session_channel.h"

namespace sluice::worker {

// Time for a stranger to get through the hello.
inline constexpr std::chrono::milliseconds kHelloTime{10'000};

// A GPU of a grant. Without a limit the whole GPU is granted.
struct WorkerGpu {
  std::string uuid;
  std::optional<uint64_t> memory_bytes;
  bool operator==(const WorkerGpu&) const = default;
};

// An allocation as the agent announces it, with the memory its sessions share.
struct WorkerGrant {
  std::string allocation;
  crypto::Bytes32 stored_key{};
  std::vector<WorkerGpu> gpus;
  std::shared_ptr<AllocationMemory> memory;
};

// What a session process is given when it is forked; all of it was made by the listener.
struct SessionStart {
  ScopedFd socket;
  SessionChannel channel;
  std::shared_ptr<wire::TlsServer> tls;  // null: TLS is off
  std::string driver_path;
  std::string cache_dir;
  json::Value probe;  // what the driver probe found: {driverVersion, devices}, or {error}
  CallServer calls;
  std::chrono::milliseconds hello_time = kHelloTime;
  // The grant of that id as of the fork; the listener decides again once the client has proved itself.
  std::function<const WorkerGrant*(const std::string& allocation)> find_grant;
};

// Exit statuses of a session process; others and signals are crashes.
inline constexpr int kExitClosed = 0;    // the client went away
inline constexpr int kExitNonsense = 1;  // the client broke the protocol
inline constexpr int kExitEnded = 10;    // the session was ended, the client was told
inline constexpr int kExitRefused = 11;  // the hello came to nothing

// Does the hello, then serves the client. Never returns: the process exits.
[[noreturn]] void run_session(SessionStart start);

}  // namespace sluice::worker
