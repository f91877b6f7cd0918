#include "wire/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "wire/adaptive_poll.h"
#include "wire/tls.h"
#include "wire/tls_io.h"

namespace sluice::wire {

namespace {

constexpr int kKeepaliveIdleS = 10;
constexpr int kKeepaliveIntervalS = 5;
constexpr int kKeepaliveProbes = 3;
// Keepalive does not run while data is unacknowledged; this ends the connection then.
constexpr unsigned kUnacknowledgedMs = 30'000;
constexpr size_t kMaxParts = 64;  // per sendmsg; the kernel allows 1024

void option(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof value);
}

std::string errno_text(int error) { return std::strerror(error); }

}  // namespace

Connection::Connection(ScopedFd socket, std::unique_ptr<TlsStream> tls) : socket_(std::move(socket)) {
  if (tls) encrypt(tls->take_sender(), tls->take_receiver());
  set_up();
}

Connection::Connection(ScopedFd socket, std::unique_ptr<TlsRecords> sends,
                       std::unique_ptr<TlsRecords> receives)
    : socket_(std::move(socket)) {
  encrypt(std::move(sends), std::move(receives));
  set_up();
}

void Connection::encrypt(std::unique_ptr<TlsRecords> sends, std::unique_ptr<TlsRecords> receives) {
  tls_reader_ = std::make_unique<TlsReader>(std::move(receives));
  tls_writer_ = std::make_unique<TlsWriter>(
      std::move(sends), [this](const uint8_t* data, size_t size) { return send_bytes(data, size); });
}

void Connection::set_up() {
  const int fd = socket_.get();
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleS);
  option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveIntervalS);
  option(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
  option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
  // SO_SNDBUF and SO_RCVBUF stay unset: a fixed size would be cut at net.core.*mem_max (208 KiB on most
  // machines) and would turn off the kernel's own growth to megabytes, which long pipes need.
}

Connection::~Connection() = default;

bool Connection::read_exact(void* into, size_t size, AdaptivePoll* poll) {
  auto* at = static_cast<unsigned char*>(into);
  while (size > 0) {
    const ssize_t got = read_some(at, size, poll);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

ssize_t Connection::read_some(void* into, size_t size, AdaptivePoll* poll) {
  const ssize_t got = tls_reader_ ? read_tls(into, size, poll) : receive(into, size, poll);
  if (got > 0) bytes_read_.fetch_add(static_cast<uint64_t>(got), std::memory_order_relaxed);
  return got;
}

ssize_t Connection::receive(void* into, size_t size, AdaptivePoll* poll) {
  while (!failed_.load(std::memory_order_relaxed)) {
    if (deadline_ && !wait_for(POLLIN)) return -1;
    ssize_t got = -1;
    const auto look = [&] {
      got = ::recv(socket_.get(), into, size, MSG_DONTWAIT);
      return got >= 0 || errno != EAGAIN;
    };
    if (poll == nullptr || !poll->run(look)) got = ::recv(socket_.get(), into, size, 0);
    if (got > 0) return got;
    if (got == 0) {
      fail("the peer closed the connection");
      return 0;
    }
    if (errno != EINTR) fail(errno_text(errno));
  }
  return -1;
}

ssize_t Connection::read_tls(void* into, size_t size, AdaptivePoll* poll) {
  if (failed_.load(std::memory_order_relaxed)) return -1;
  size_t got = 0;
  ssize_t received = 0;
  const auto more = [&](void* to, size_t bytes) { return received = receive(to, bytes, poll); };
  const TlsReader::Result result = tls_reader_->read(into, size, more, &got);
  if (tls_reader_->take_key_request()) tls_writer_->want_fresh_key();
  switch (result) {
    case TlsReader::Result::data:
      return static_cast<ssize_t>(got);
    case TlsReader::Result::closed:
      fail("the peer closed the connection");
      return 0;
    case TlsReader::Result::broken:
      fail("the peer sent broken TLS records");
      return -1;
    case TlsReader::Result::no_bytes:
      break;
  }
  return received;
}

bool Connection::write_all(const void* data, size_t size) {
  const iovec part{const_cast<void*>(data), size};
  return write_all(std::span(&part, 1));
}

bool Connection::write_all(std::span<const iovec> parts) {
  if (!tls_writer_) return write_plain(parts);
  if (failed_.load(std::memory_order_relaxed)) return false;
  if (!tls_writer_->write(parts)) {
    fail("TLS cannot encrypt");  // unless sending has failed and said so
    return false;
  }
  uint64_t total = 0;
  for (const iovec& part : parts) total += part.iov_len;
  bytes_written_.fetch_add(total, std::memory_order_relaxed);
  return true;
}

bool Connection::write_plain(std::span<const iovec> parts) {
  size_t skip = 0;  // bytes of parts[0] that are gone
  while (!parts.empty()) {
    if (failed_.load(std::memory_order_relaxed)) return false;
    if (parts[0].iov_len == skip) {
      parts = parts.subspan(1);
      skip = 0;
      continue;
    }
    iovec window[kMaxParts];
    const size_t count = std::min(parts.size(), kMaxParts);
    std::copy_n(parts.begin(), count, window);
    window[0].iov_base = static_cast<char*>(window[0].iov_base) + skip;
    window[0].iov_len -= skip;
    msghdr message{};
    message.msg_iov = window;
    message.msg_iovlen = count;
    if (deadline_ && !wait_for(POLLOUT)) return false;
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | (deadline_ ? MSG_DONTWAIT : 0));
    if (sent < 0) {
      if (errno == EINTR || (deadline_ && errno == EAGAIN)) continue;
      fail(errno_text(errno));
      return false;
    }
    bytes_written_.fetch_add(static_cast<uint64_t>(sent), std::memory_order_relaxed);
    size_t left = static_cast<size_t>(sent);
    while (left > 0) {
      const size_t here = std::min(left, parts[0].iov_len - skip);
      skip += here;
      left -= here;
      if (skip == parts[0].iov_len) {
        parts = parts.subspan(1);
        skip = 0;
      }
    }
  }
  return true;
}

bool Connection::send_bytes(const unsigned char* data, size_t size) {
  while (size > 0) {
    if (failed_.load(std::memory_order_relaxed)) return false;
    if (deadline_ && !wait_for(POLLOUT)) return false;
    const ssize_t sent = ::send(socket_.get(), data, size, MSG_NOSIGNAL | (deadline_ ? MSG_DONTWAIT : 0));
    if (sent < 0) {
      if (errno == EINTR || (deadline_ && errno == EAGAIN)) continue;
      fail(errno_text(errno));
      return false;
    }
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool Connection::readable(std::chrono::microseconds timeout) {
  if (failed_.load(std::memory_order_relaxed)) return true;
  if (tls_reader_ && tls_reader_->ready()) return true;
  pollfd wait{socket_.get(), POLLIN, 0};
  const auto end = SteadyClock::now() + timeout;
  for (;;) {
    const auto left = std::max<int64_t>(0, std::chrono::nanoseconds(end - SteadyClock::now()).count());
    const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
    const int ready = ::ppoll(&wait, 1, timeout.count() < 0 ? nullptr : &limit, nullptr);
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) return true;
  }
}

bool Connection::wait_for(short events) {
  pollfd wait{socket_.get(), events, 0};
  for (;;) {
    const int ready = ::poll(&wait, 1, poll_timeout_ms(deadline_));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;
    fail(ready == 0 ? "the peer does not answer" : errno_text(errno));
    return false;
  }
}

void Connection::shutdown() {
  fail("the connection was closed here");
  ::shutdown(socket_.get(), SHUT_RDWR);
}

void Connection::finish_writing() { ::shutdown(socket_.get(), SHUT_WR); }

void Connection::fail(std::string why) {
  const std::lock_guard lock(failure_mutex_);
  if (failure_.empty()) failure_ = std::move(why);
  failed_.store(true);
}

std::string Connection::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

std::string Connection::peer() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown";
  }
  std::string text = host;
  if (text.find(':') != std::string::npos) text.insert(0, 1, '[').push_back(']');
  return text.append(":").append(port);
}

}  // namespace sluice::wire
