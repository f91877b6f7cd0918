// What a session process knows when it starts to serve calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/cuda_types.h"
#include "wire/connection.h"

namespace sluice::generated {
struct DriverTable;  // generated/driver_table.h
}

namespace sluice::worker {

// Lives in memory shared with the listener, which reads it while the session runs and after it was
// killed. Relaxed order everywhere: each is a figure of its own.
struct SessionCounters {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> round_trips{0};
  std::atomic<uint64_t> bytes_in{0};   // from the client
  std::atomic<uint64_t> bytes_out{0};  // to the client
  std::atomic<int64_t> last_call_unix_ms{0};
};

// Device memory of the allocation: the limit holds for all its sessions together. Devices are given
// by their ordinal in the session. Thread-safe, and safe against a session killed at any point.
class MemoryAccounting {
 public:
  virtual ~MemoryAccounting() = default;
  // Counts `bytes` as used by this session. False, with nothing changed, when that would exceed the limit.
  virtual bool reserve(size_t device, uint64_t bytes) = 0;
  // Gives back what reserve counted; never below zero.
  virtual void release(size_t device, uint64_t bytes) = 0;
  // Bytes used by all sessions of the allocation.
  virtual uint64_t used(size_t device) const = 0;
  // Bytes used by this session.
  virtual uint64_t used_here(size_t device) const = 0;
  // Bytes granted; for a whole GPU what the driver reports as its total.
  virtual uint64_t limit(size_t device) const = 0;
};

struct GrantedDevice {
  CUdevice device = 0;       // the driver's ordinal on this host
  std::string uuid;          // "GPU-…"
  uint64_t total_bytes = 0;  // what the program sees as the device's memory: the granted bytes
  bool whole = false;        // granted without a limit
};

struct SessionContext {
  wire::Connection& connection;
  unsigned protocol;                  // the negotiated version
  std::vector<std::string> features;  // negotiated
  std::string session;                // its id
  std::string allocation;
  std::vector<GrantedDevice> devices;  // grant order: the session's ordinals
  MemoryAccounting& memory;
  SessionCounters& counters;
  generated::DriverTable& driver;
  std::string cache_dir;  // for images by content hash; exists, mode 0700
};

// What the session process needs of the part that serves calls. The listener's program passes the
// real one (worker/calls), tests pass their own.
struct CallServer {
  // JSON object with what the hello tells a client about the device: name, attributes, limits.
  std::string (*device_snapshot)(generated::DriverTable& driver, CUdevice device);
  // Serves the client until it goes away; the process's exit status.
  int (*serve)(SessionContext& context);
  // Tells the client that the session ends and why. Called from another thread while serve runs.
  void (*send_goodbye)(std::string_view reason);
  // Takes a further connection for bulk data, proved to be the client's. Called as send_goodbye is, also
  // before serve. Null where there can be none.
  void (*add_stripe)(size_t index, std::unique_ptr<wire::Connection> connection) = nullptr;
};

}  // namespace sluice::worker
