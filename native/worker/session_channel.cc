#include "worker/session_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace sluice::worker {

namespace {

// An "authenticated" message with a command, a folder and names at their longest, all escaped.
constexpr size_t kMaxPacket = 64u << 10;

}  // namespace

std::pair<SessionChannel, SessionChannel> SessionChannel::make() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return {};
  return {SessionChannel(ScopedFd(ends[0])), SessionChannel(ScopedFd(ends[1]))};
}

bool SessionChannel::send(const json::Value& message) const {
  const std::string text = message.dump();
  return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(text.size());
}

std::optional<json::Value> SessionChannel::receive(const Deadline& deadline) const {
  std::array<char, kMaxPacket> packet;
  for (;;) {
    pollfd wait{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, poll_timeout_ms(deadline));
    if (ready == 0) return std::nullopt;
    const ssize_t got = ready > 0 ? ::recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT) : -1;
    if (got > 0) return json::parse(std::string_view(packet.data(), static_cast<size_t>(got)));
    if (got == 0 || (errno != EINTR && errno != EAGAIN)) return std::nullopt;
  }
}

}  // namespace sluice::worker
