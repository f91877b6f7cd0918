// The first exchange on a connection, as a client does it: connect, TLS with the pinned
// certificate, negotiate the protocol version, prove the allocation's secret, be welcomed.
// Messages and proof: wire/hello_message.h; the other side: wire/hello_server.h.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/json.h"
#include "wire/connection.h"
#include "wire/hello_grant.h"

namespace sluice::wire {

// Versions of the whole protocol (hello, frames, calls) that this build speaks.
inline constexpr unsigned kProtocolMin = 1;
inline constexpr unsigned kProtocolMax = 2;
// The first one with launches in their short form (kShort in wire/frame.h).
inline constexpr unsigned kProtocolShortLaunch = 2;

// The program on whose behalf a client connects; shown to people beside the GPU it uses.
struct ProgramInfo {
  std::string command;  // at most 1 KiB
  std::string user;
  std::string host;
  std::string cwd;
  int pid = 0;
};

// This process, from /proc and the password file.
ProgramInfo this_program();

struct HelloOptions {
  // What the client asks for beyond the protocol; a worker ignores what it does not know.
  std::vector<std::string> features;
  // The server's place among those of the grant: drivers keep their addresses apart by it.
  uint64_t address_place = 0;
  std::chrono::milliseconds timeout{10'000};  // for all of it; the worker allows as long
};

struct Welcome {
  unsigned protocol = 0;                  // the version both sides speak from here on
  std::string session;                    // names the session in logs and on the dashboard
  std::optional<int64_t> driver_version;  // as cuDriverGetVersion gives it
  std::string worker_version;
  std::vector<std::string> features;          // those asked for that the worker has
  json::Value body;                           // the whole message; body["devices"] in grant order
  std::chrono::microseconds first_answer{0};  // from the hello to the challenge: a round trip and a fork
};

enum class HelloError { none, unreachable, not_sluice, wrong_certificate, version, refused, broken };

struct Connect {
  std::unique_ptr<Connection> connection;  // null on failure
  Welcome welcome;
  HelloError error = HelloError::none;
  std::string code;     // the worker's code when it refused, such as "invalid_allocation"
  std::string message;  // a sentence for the user that names the server; empty on success
};

// Connects to one of the grant's servers and goes through the hello. Never throws; returns within
// the timeout (name look-ups excepted).
Connect connect_and_hello(const GrantServer& server, const Grant& grant, const ProgramInfo& program,
                          const HelloOptions& options = {});

}  // namespace sluice::wire
