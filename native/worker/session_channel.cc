#include "worker/session_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

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

bool SessionChannel::send(const json::Value& message, int descriptor) const {
  std::string text = message.dump();
  iovec part{text.data(), text.size()};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  if (descriptor >= 0) {
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&packet);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  return ::sendmsg(socket_.get(), &packet, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(text.size());
}

std::optional<json::Value> SessionChannel::receive(const Deadline& deadline, ScopedFd* descriptor) const {
  std::array<char, kMaxPacket> text;
  for (;;) {
    pollfd wait{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, poll_timeout_ms(deadline));
    if (ready == 0) return std::nullopt;
    iovec part{text.data(), text.size()};
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
    const ssize_t got = ready > 0 ? ::recvmsg(socket_.get(), &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) : -1;
    if (got <= 0) {
      if (got == 0 || (errno != EINTR && errno != EAGAIN)) return std::nullopt;
      continue;
    }
    ScopedFd received;
    const cmsghdr* rights = CMSG_FIRSTHDR(&packet);
    if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
      received.reset(fd);
    }
    if (descriptor != nullptr) *descriptor = std::move(received);
    return json::parse(std::string_view(text.data(), static_cast<size_t>(got)));
  }
}

}  // namespace sluice::worker
