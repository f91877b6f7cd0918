#include "worker/listener_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "wire/hello_connect.h"

namespace sluice::worker {

namespace {

// Clients that wait while strangers hold all places of the hello.
constexpr int kBacklog = 512;
constexpr const char* kListening = "0A";  // the state in /proc/net/tcp

// The inode of the socket that listens on a port, from /proc/net/tcp or tcp6.
std::optional<std::string> listening_inode(const char* table, unsigned port) {
  std::ifstream stream(table);
  std::string line;
  std::getline(stream, line);
  while (std::getline(stream, line)) {
    std::istringstream fields(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    const size_t colon = local.rfind(':');
    if (state != kListening || colon == std::string::npos) continue;
    if (std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port) return inode;
  }
  return std::nullopt;
}

// "the process 123 (nginx)", when this user may see it.
std::optional<std::string> holder_of(const std::string& inode) {
  namespace fs = std::filesystem;
  const std::string wanted = "socket:[" + inode + "]";
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    const std::string pid = process.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code denied;
    for (const auto& fd : fs::directory_iterator(process.path() / "fd", denied)) {
      std::error_code gone;
      if (fs::read_symlink(fd.path(), gone) != wanted) continue;
      std::string name;
      std::getline(std::ifstream(process.path() / "comm"), name);
      return "the process " + pid + " (" + name + ")";
    }
  }
  return std::nullopt;
}

std::string port_taken(const std::string& address, const std::string& port) {
  const unsigned number = static_cast<unsigned>(std::strtoul(port.c_str(), nullptr, 10));
  auto inode = listening_inode("/proc/net/tcp", number);
  if (!inode) inode = listening_inode("/proc/net/tcp6", number);
  const auto holder = inode ? holder_of(*inode) : std::nullopt;
  return "The port " + port + " (" + address + ") is already in use by " +
         holder.value_or("another process") + ". Stop it, or choose another port with SLUICE_DATA_PORT.";
}

std::string text_of(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown";
  }
  std::string text = host;
  if (text.find(':') != std::string::npos) text.insert(0, 1, '[').push_back(']');
  return text.append(":").append(port);
}

}  // namespace

Result<ScopedFd> listen_on(const std::string& address) {
  const auto parts = wire::parse_address(address);
  if (!parts) return Failure{parts.error()};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
  if (error != 0)
    return Failure{"The address " + address + " cannot be used: " + ::gai_strerror(error) + "."};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> chosen(found, &::freeaddrinfo);
  ScopedFd socket(::socket(chosen->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  // A restart must not wait for the last connections' TIME_WAIT.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), chosen->ai_addr, chosen->ai_addrlen) == 0 &&
      ::listen(socket.get(), kBacklog) == 0) {
    return socket;
  }
  if (errno == EADDRINUSE) return Failure{port_taken(address, parts->port)};
  return Failure{"Cannot listen on " + address + ": " + std::strerror(errno) + "."};
}

std::string local_address(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return text_of(address, size);
}

std::string peer_address(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "unknown";
  return text_of(address, size);
}

}  // namespace sluice::worker
