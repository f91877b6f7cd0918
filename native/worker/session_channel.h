// The socket pair between the listener and one session process: one JSON object per packet.
//
//   session → listener   {"type":"authenticated","allocation","kind":"session"|"nvml","program":{…}}
//                        {"type":"started"}            the client was welcomed
//                        {"type":"refused","reason"}   the hello failed; the process ends
//   listener → session   {"type":"go","slot","session"} or {"type":"no","code","message"}
//                        {"type":"end","reason"}
#pragma once

#include <optional>
#include <utility>

#include "common/clock.h"
#include "common/json.h"
#include "common/scoped_fd.h"

namespace sluice::worker {

class SessionChannel {
 public:
  SessionChannel() = default;
  explicit SessionChannel(ScopedFd socket) : socket_(std::move(socket)) {}
  // Both ends; the first is the listener's and never blocks it. Invalid when the process has no descriptors
  // left.
  static std::pair<SessionChannel, SessionChannel> make();

  bool valid() const { return socket_.valid(); }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

  bool send(const json::Value& message) const;
  // The next message, waiting until the deadline. Nothing at the end of the channel or past the deadline.
  std::optional<json::Value> receive(const Deadline& deadline) const;

 private:
  ScopedFd socket_;
};

}  // namespace sluice::worker
