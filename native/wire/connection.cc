#include "wire/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "wire/adaptive_poll.h"
#include "wire/tls.h"

namespace sluice::wire {

namespace {

constexpr size_t kRecord = 16u << 10;      // the most that one TLS record holds
constexpr size_t kCiphertext = 64u << 10;  // sent with one system call; small enough to stay in the cache
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

Connection::Connection(ScopedFd socket, std::unique_ptr<TlsStream> tls)
    : socket_(std::move(socket)), tls_(std::move(tls)) {
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

bool Connection::read_exact(void* into, size_t size) {
  auto* at = static_cast<unsigned char*>(into);
  while (size > 0) {
    const ssize_t got =
        tls_ ? read_tls(at, size, nullptr) : read_plain(at, size, deadline_ ? 0 : MSG_WAITALL, nullptr);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

ssize_t Connection::read_some(void* into, size_t size, AdaptivePoll* poll) {
  return tls_ ? read_tls(into, size, poll) : read_plain(into, size, 0, poll);
}

ssize_t Connection::read_plain(void* into, size_t size, int flags, AdaptivePoll* poll) {
  while (!failed_.load(std::memory_order_relaxed)) {
    if (deadline_ && !wait_for(POLLIN)) return -1;
    ssize_t got = -1;
    const auto look = [&] {
      got = ::recv(socket_.get(), into, size, flags | MSG_DONTWAIT);
      return got >= 0 || errno != EAGAIN;
    };
    if (poll == nullptr || !poll->run(look)) got = ::recv(socket_.get(), into, size, flags);
    if (got > 0) {
      bytes_read_.fetch_add(static_cast<uint64_t>(got), std::memory_order_relaxed);
      return got;
    }
    if (got == 0) {
      fail("the peer closed the connection");
      return 0;
    }
    if (errno != EINTR) fail(errno_text(errno));
  }
  return -1;
}

ssize_t Connection::read_tls(void* into, size_t size, AdaptivePoll* poll) {
  while (!failed_.load(std::memory_order_relaxed)) {
    size_t got = 0;
    int error = SSL_ERROR_NONE;
    int system_error = 0;
    {
      const std::lock_guard lock(tls_mutex_);
      ERR_clear_error();
      errno = 0;
      const int done = SSL_read_ex(tls_->ssl(), into, size, &got);
      if (done != 1) error = SSL_get_error(tls_->ssl(), done);
      system_error = errno;
    }
    if (error == SSL_ERROR_NONE) {
      bytes_read_.fetch_add(got, std::memory_order_relaxed);
      return static_cast<ssize_t>(got);
    }
    if (error == SSL_ERROR_WANT_READ) {
      char byte = 0;
      const auto look = [&] {
        return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
      };
      if ((poll == nullptr || !poll->run(look)) && !wait_for(POLLIN)) return -1;
    } else if (error == SSL_ERROR_ZERO_RETURN || (error == SSL_ERROR_SYSCALL && system_error == 0)) {
      fail("the peer closed the connection");
      return 0;
    } else {
      fail(system_error ? errno_text(system_error) : "the peer sent broken TLS records");
    }
  }
  return -1;
}

bool Connection::write_all(const void* data, size_t size) {
  const iovec part{const_cast<void*>(data), size};
  return write_all(std::span(&part, 1));
}

bool Connection::write_all(std::span<const iovec> parts) {
  return tls_ ? write_tls(parts) : write_plain(parts);
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

// Small parts are gathered, because each SSL_write makes a record of its own with 22 bytes and a
// cipher set-up; large ones are encrypted from where they lie.
bool Connection::write_tls(std::span<const iovec> parts) {
  gathered_.clear();
  uint64_t total = 0;
  for (const iovec& part : parts) {
    const auto* data = static_cast<const unsigned char*>(part.iov_base);
    size_t size = part.iov_len;
    total += size;
    if (!gathered_.empty() || size < kRecord) {
      const size_t here = std::min(size, kRecord - gathered_.size());
      gathered_.insert(gathered_.end(), data, data + here);
      data += here;
      size -= here;
      if (gathered_.size() == kRecord) {
        if (!encrypt(gathered_.data(), kRecord)) return false;
        gathered_.clear();
      }
    }
    const size_t whole = size - size % kRecord;
    if (whole > 0 && !encrypt(data, whole)) return false;
    gathered_.insert(gathered_.end(), data + whole, data + size);
  }
  if (!gathered_.empty() && !encrypt(gathered_.data(), gathered_.size())) return false;
  if (!send_encrypted(0)) return false;
  bytes_written_.fetch_add(total, std::memory_order_relaxed);
  return true;
}

bool Connection::encrypt(const unsigned char* data, size_t size) {
  while (size > 0) {
    if (failed_.load(std::memory_order_relaxed)) return false;
    size_t done = 0;
    bool ok = false;
    {
      const std::lock_guard lock(tls_mutex_);
      ERR_clear_error();
      ok = SSL_write_ex(tls_->ssl(), data, std::min(size, kRecord), &done) == 1;
    }
    if (!ok) {
      fail("TLS cannot encrypt");
      return false;
    }
    data += done;
    size -= done;
    if (!send_encrypted(kCiphertext)) return false;
  }
  return true;
}

// Sends the collected ciphertext when there is more than `keep` of it.
bool Connection::send_encrypted(size_t keep) {
  sending_.clear();
  {
    const std::lock_guard lock(tls_mutex_);
    if (tls_->out().size() > keep) sending_.swap(tls_->out());
  }
  return send_bytes(sending_.data(), sending_.size());
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
  if (tls_) {
    // A record may lie decrypted or half-read in the SSL object, where poll cannot see it.
    const std::lock_guard lock(tls_mutex_);
    char byte = 0;
    size_t got = 0;
    if (SSL_pending(tls_->ssl()) > 0) return true;
    if (SSL_has_pending(tls_->ssl()) && SSL_peek_ex(tls_->ssl(), &byte, 1, &got) == 1) return true;
  }
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
