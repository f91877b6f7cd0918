#include "wire/hello_connect.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace sluice::wire {

namespace {

// Waits for a started connect; 0 or the errno that it failed with.
int finish_connect(int socket, const Deadline& deadline) {
  pollfd wait{socket, POLLOUT, 0};
  for (;;) {
    const int ready = ::poll(&wait, 1, poll_timeout_ms(deadline));
    if (ready == 0) return ETIMEDOUT;
    if (ready < 0 && errno != EINTR) return errno;
    if (ready > 0) break;
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

// Programs that were started without stdin, stdout or stderr must not read or print on our socket.
ScopedFd above_standard_streams(ScopedFd socket) {
  if (socket.get() > 2) return socket;
  return ScopedFd(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 3));
}

std::string cannot_connect(const std::string& address, int error) {
  if (error == ECONNREFUSED) {
    return "No Sluice server answers at " + address +
           " (connection refused). Check that the Sluice agent on that host is running.";
  }
  const std::string reason = error == ETIMEDOUT ? "no answer in time" : std::strerror(error);
  return "The Sluice server at " + address + " cannot be reached (" + reason +
         "). Check the network and the firewalls between this machine and that port.";
}

}  // namespace

Result<HostPort> parse_address(const std::string& address) {
  const size_t colon = address.rfind(':');
  HostPort parts;
  if (colon != std::string::npos) {
    parts.host = address.substr(0, colon);
    parts.port = address.substr(colon + 1);
  }
  const bool bracketed = parts.host.size() > 2 && parts.host.front() == '[' && parts.host.back() == ']';
  if (bracketed) parts.host = parts.host.substr(1, parts.host.size() - 2);
  unsigned port = 0;
  const char* end = parts.port.data() + parts.port.size();
  const bool number =
      std::from_chars(parts.port.data(), end, port).ptr == end && !parts.port.empty() && port <= 65535;
  if (!number || parts.host.empty() || (!bracketed && parts.host.find_first_of(":[]") != std::string::npos)) {
    return Failure{"\"" + address +
                   "\" is no address; it must look like 10.0.0.1:56001, name:56001 or [fe80::1]:56001."};
  }
  return parts;
}

Result<ScopedFd> connect_tcp(const std::string& address, const Deadline& deadline) {
  const auto parts = parse_address(address);
  if (!parts) return Failure{parts.error()};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
  if (error != 0) {
    return Failure{"The Sluice server's name " + parts->host + " cannot be resolved (" +
                   ::gai_strerror(error) + ")."};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, &::freeaddrinfo);
  int last_error = ETIMEDOUT;
  for (const addrinfo* at = addresses.get(); at; at = at->ai_next) {
    ScopedFd socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) {
      last_error = errno;
      continue;
    }
    socket = above_standard_streams(std::move(socket));
    last_error = ::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    if (last_error == EINPROGRESS) last_error = finish_connect(socket.get(), deadline);
    if (last_error == 0) return socket;
  }
  return Failure{cannot_connect(address, last_error)};
}

}  // namespace sluice::wire
