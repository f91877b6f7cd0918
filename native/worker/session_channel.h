// The socket pair between the listener and one session process: one JSON object per packet.
//
//   session → listener   {"type":"authenticated","allocation","kind":"session"|"nvml","program":{…}}
//                        {"type":"started"}            the client was welcomed
//                        {"type":"refused","reason"}   the hello failed; the process ends
//                        {"type":"stripe","session","index","proof"} with a socket: not a client but a
//                                                      further connection of one; the process ends
//   listener → session   {"type":"go","slot","session"} or {"type":"no","code","message"}
//                        {"type":"stripe","index","proof"} with the socket, not judged yet
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

  // `descriptor` travels with the message, unless it is negative; the caller keeps its own.
  bool send(const json::Value& message, int descriptor = -1) const;
  // The next message, waiting until the deadline. Nothing at the end of the channel or past the deadline.
  // A descriptor that came with it goes to `descriptor`, or is closed.
  std::optional<json::Value> receive(const Deadline& deadline, ScopedFd* descriptor = nullptr) const;

 private:
  ScopedFd socket_;
};

}  // namespace sluice::worker
