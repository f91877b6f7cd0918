#include "worker/control_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "common/clock.h"
#include "common/log.h"

namespace sluice::worker {

namespace {

constexpr size_t kMaxLine = 8u << 20;  // the full set of grants of a large host is well below
constexpr size_t kMaxOut = 16u << 20;  // an agent that reads nothing for so long is taken for dead
constexpr size_t kMaxKept = 1024;      // ends of sessions while no agent is there

bool somebody_listens(const sockaddr_un& address) {
  const ScopedFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

Result<ControlSocket> ControlSocket::bind(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Failure{"The path of the control socket must have 1 to " +
                   std::to_string(sizeof address.sun_path - 1) + " bytes: " + path};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  if (somebody_listens(address)) {
    return Failure{"Another Sluice worker listens on " + path + ". Stop it first."};
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) ::unlink(path.c_str());
  ScopedFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The mode holds from the start: whoever can connect can grant GPUs.
  const mode_t before = ::umask(0177);
  const bool bound = ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                     ::listen(listener.get(), 8) == 0;
  const int error = errno;
  ::umask(before);
  if (!bound) return Failure{"The control socket " + path + " cannot be made: " + std::strerror(error) + "."};
  return ControlSocket(path, std::move(listener));
}

void ControlSocket::add_to(std::vector<pollfd>& wanted) const {
  wanted.push_back({listener_.get(), POLLIN, 0});
  if (agent_.valid()) {
    wanted.push_back({agent_.get(), static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  }
}

bool ControlSocket::progress() {
  bool fresh = false;
  for (;;) {
    ScopedFd next(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!next.valid()) break;
    drop();
    agent_ = std::move(next);
    fresh = true;
  }
  if (agent_.valid() && !fresh) {
    flush();
    read();
  }
  return fresh;
}

void ControlSocket::read() {
  char buffer[16 << 10];
  while (agent_.valid()) {
    const ssize_t got = ::recv(agent_.get(), buffer, sizeof buffer, 0);
    if (got > 0) {
      in_.append(buffer, static_cast<size_t>(got));
      if (in_.size() <= kMaxLine || in_.find('\n') != std::string::npos) continue;
      SLUICE_ERROR("the agent sent a line of more than %zu bytes", kMaxLine);
      drop();
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      // What it sent before it left still counts: next() finds it in `in_`.
      agent_.reset();
      out_.clear();
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

std::optional<json::Value> ControlSocket::next() {
  for (;;) {
    const size_t end = in_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string error;
    auto message = json::parse(std::string_view(in_).substr(0, end), {.max_bytes = kMaxLine}, &error);
    in_.erase(0, end + 1);
    if (message) return message;
    SLUICE_ERROR("the agent sent a line that is not JSON: %s", error.c_str());
  }
}

void ControlSocket::send(const json::Value& message) {
  if (!agent_.valid()) return;
  out_ += message.dump();
  out_ += '\n';
  flush();
  if (out_.size() > kMaxOut) drop();
}

void ControlSocket::send_or_keep(json::Value message) {
  if (agent_.valid()) return send(message);
  if (kept_.size() == kMaxKept) kept_.pop_front();
  kept_.push_back(std::move(message));
}

void ControlSocket::send_kept() {
  while (!kept_.empty() && agent_.valid()) {
    send(kept_.front());
    kept_.pop_front();
  }
}

void ControlSocket::drain(int timeout_ms) {
  const Deadline deadline = deadline_in(std::chrono::milliseconds(timeout_ms));
  flush();
  while (agent_.valid() && !out_.empty()) {
    pollfd wait{agent_.get(), POLLOUT, 0};
    if (::poll(&wait, 1, poll_timeout_ms(deadline)) <= 0) break;
    flush();
  }
  ::unlink(path_.c_str());
}

void ControlSocket::flush() {
  while (agent_.valid() && !out_.empty()) {
    const ssize_t sent = ::send(agent_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      out_.erase(0, static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      // Reading finds the end of the connection, after what the agent sent last.
      out_.clear();
      return;
    }
  }
}

void ControlSocket::drop() {
  agent_.reset();
  in_.clear();
  out_.clear();
}

}  // namespace sluice::worker
