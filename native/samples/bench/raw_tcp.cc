// What the machine's loopback gives without any proxy, for the proxy's figures
// to be compared with: a ping-pong of 64 bytes between two processes that sleep
// in recv, and a stream of 64 MiB each way. Prints one line of JSON.
//   raw_tcp [--cores CLIENT,SERVER] [--ping-pongs N] [--streams N] [--mib N]
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/figures.h"

using namespace samples;

namespace {

constexpr size_t kMessage = 64;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

void send_all(int fd, const unsigned char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL);
    if (sent <= 0) give_up("send");
    data += sent;
    bytes -= static_cast<size_t>(sent);
  }
}

/// False when the peer has closed.
bool receive_all(int fd, unsigned char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t received = recv(fd, data, bytes, 0);
    if (received < 0) give_up("recv");
    if (received == 0) return false;
    data += received;
    bytes -= static_cast<size_t>(received);
  }
  return true;
}

void pin(int core) {
  if (core < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(core), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) give_up("sched_setaffinity");
}

/// A request says how many bytes follow it and how many are to come back.
struct Request {
  uint64_t up = 0;
  uint64_t down = 0;
  unsigned char padding[kMessage - 16] = {};
};
static_assert(sizeof(Request) == kMessage);

void serve(int fd, size_t buffer_bytes) {
  std::vector<unsigned char> buffer(buffer_bytes);
  Random(7).fill(buffer.data(), buffer.size());
  Request request;
  while (receive_all(fd, reinterpret_cast<unsigned char*>(&request), sizeof request)) {
    if (request.up > 0 && !receive_all(fd, buffer.data(), request.up)) return;
    send_all(fd, buffer.data(), request.down > 0 ? request.down : kMessage);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int client_core = -1, server_core = -1;
  size_t ping_pongs = 5000, streams = 5, mib = 64;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--cores") std::sscanf(argv[i + 1], "%d,%d", &client_core, &server_core);
    if (name == "--ping-pongs") ping_pongs = std::strtoul(argv[i + 1], nullptr, 10);
    if (name == "--streams") streams = std::strtoul(argv[i + 1], nullptr, 10);
    if (name == "--mib") mib = std::strtoul(argv[i + 1], nullptr, 10);
  }
  const size_t bytes = mib << 20;

  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) give_up("bind");
  if (listen(listener, 1) != 0) give_up("listen");
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) give_up("getsockname");
  const int on = 1;
  const pid_t server = fork();
  if (server < 0) give_up("fork");
  if (server == 0) {
    pin(server_core);
    const int accepted = accept(listener, nullptr, nullptr);
    if (accepted < 0) give_up("accept");
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    serve(accepted, bytes);
    _exit(0);
  }
  pin(client_core);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) give_up("connect");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);

  std::vector<unsigned char> data(bytes), answer(bytes);
  Random(8).fill(data.data(), data.size());
  const auto exchange = [&](uint64_t up, uint64_t down) {
    const Request request{up, down, {}};
    const auto start = Clock::now();
    send_all(fd, reinterpret_cast<const unsigned char*>(&request), sizeof request);
    if (up > 0) send_all(fd, data.data(), up);
    if (!receive_all(fd, answer.data(), down > 0 ? down : kMessage)) give_up("the server went away");
    return seconds_since(start);
  };
  std::vector<double> round_trips, up_seconds, down_seconds;
  for (size_t i = 0; i < ping_pongs; ++i) round_trips.push_back(exchange(0, 0));
  for (size_t i = 0; i < streams; ++i) {
    up_seconds.push_back(exchange(bytes, 0));
    down_seconds.push_back(exchange(0, bytes));
  }
  close(fd);
  waitpid(server, nullptr, 0);
  const double size = static_cast<double>(bytes);
  std::printf("{\"roundTripMicroseconds\":%.3f,\"toGBps\":%.4f,\"fromGBps\":%.4f}\n",
              median(round_trips) * 1e6, size / median(up_seconds) / 1e9, size / median(down_seconds) / 1e9);
  return 0;
}
