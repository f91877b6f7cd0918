// Whether the other side is still there. TCP's own keepalive is answered by whatever box on the way holds the
// connection, and does not say that bytes still get through: so both sides send a frame when they have been
// silent for an interval, and take a peer for lost that has been silent for much longer.
#pragma once

#include <chrono>
#include <mutex>

#include "common/clock.h"
#include "wire/connection.h"

namespace sluice::wire {

// Both sides send keepalives from this version of the protocol on.
inline constexpr unsigned kKeepaliveProtocol = 2;

// SLUICE_KEEPALIVE_MS, for tests; 10 s.
std::chrono::milliseconds keepalive_interval();

// A worker sends whatever the driver does, so that three missed intervals and a bit mean that it is gone.
inline std::chrono::milliseconds worker_silence() { return keepalive_interval() * 7 / 2; }
// A client may be stopped by its user (SIGSTOP, a debugger) and go on: a quarter of an hour.
inline std::chrono::milliseconds client_silence() { return keepalive_interval() * 90; }

// Watches one side of a connection. Used by one thread, which calls `look` a few times per interval at least.
class Keepalive {
 public:
  explicit Keepalive(Connection& connection) : connection_(connection) {}

  // Sends `frame` when nothing was sent for an interval and the connection takes it without waiting. False
  // when the peer has been silent for `longest`. `received`: bytes so far, over all connections to it.
  bool look(std::mutex& write_mutex, const void* frame, size_t size, std::chrono::milliseconds longest,
            uint64_t received);

 private:
  Connection& connection_;
  uint64_t read_ = 0;
  uint64_t written_ = 0;
  SteadyClock::time_point heard_ = SteadyClock::now();
  SteadyClock::time_point said_ = SteadyClock::now();
};

}  // namespace sluice::wire
