// The listener's end of the control socket: JSON lines, one agent at a time.
#pragma once

#include <poll.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/result.h"
#include "common/scoped_fd.h"

namespace sluice::worker {

class ControlSocket {
 public:
  // Binds the path with mode 0600, replacing a socket that nobody listens on. The sentence in a
  // failure says so when another worker does.
  static Result<ControlSocket> bind(const std::string& path);
  ControlSocket(ControlSocket&&) = default;
  ControlSocket& operator=(ControlSocket&&) = default;

  // Descriptors to wait for.
  void add_to(std::vector<pollfd>& wanted) const;

  // Does what the sockets are ready for: accepts (a new agent replaces the one before), reads, writes.
  // True when an agent has just connected.
  bool progress();
  // The next whole line that has arrived, parsed; nothing when there is none.
  std::optional<json::Value> next();

  bool connected() const { return agent_.valid(); }
  // To the connected agent; dropped when there is none.
  void send(const json::Value& message);
  // As send, but kept for the next agent while there is none: what must not be lost.
  void send_or_keep(json::Value message);
  // Sends what send_or_keep kept; call after the first line of a new connection.
  void send_kept();
  // Writes what is buffered, as far as the agent takes it within the time. Before exit.
  void drain(int timeout_ms);

 private:
  ControlSocket(std::string path, ScopedFd listener)
      : path_(std::move(path)), listener_(std::move(listener)) {}
  void read();
  void flush();
  void drop();

  std::string path_;
  ScopedFd listener_;
  ScopedFd agent_;
  std::string in_;
  std::string out_;
  std::deque<json::Value> kept_;
};

}  // namespace sluice::worker
