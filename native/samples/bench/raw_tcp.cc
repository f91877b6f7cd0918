// What the machine's loopback gives without any proxy, for the proxy's figures to be compared with: one
// connection between two processes. Prints one line of JSON:
//   asleepMicroseconds, pollingMicroseconds     a ping-pong of 64 bytes whose sides sleep in recv, or poll
//   batchedMicroseconds, singleMicroseconds     a message of 64 bytes, many in one send or one send each
//   stepMicroseconds                            600 KiB and 300 messages one way, then an answer
//   toGBps, fromGBps, to1GBps, from1GBps        64 MiB and 1 MiB each way, answered
//   raw_tcp [--cores CLIENT,SERVER]
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

bool polling = false;  // this process's recv never sleeps

/// False when the peer has closed.
bool receive_all(int fd, unsigned char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t received = recv(fd, data, bytes, polling ? MSG_DONTWAIT : 0);
    if (received < 0 && polling && errno == EAGAIN) continue;
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
  uint64_t poll = 0;        // whether the server polls for what comes next
  uint64_t unanswered = 0;  // bytes follow and that is all
  unsigned char padding[kMessage - 32] = {};
};
static_assert(sizeof(Request) == kMessage);

// In pieces of a size that stays in the processor's cache, as a worker does it with page-locked memory.
void serve(int fd) {
  std::vector<unsigned char> buffer(1 << 20);
  Random(7).fill(buffer.data(), buffer.size());
  Request request;
  while (receive_all(fd, reinterpret_cast<unsigned char*>(&request), sizeof request)) {
    polling = request.poll != 0;
    for (uint64_t left = request.up; left > 0;) {
      const uint64_t part = std::min<uint64_t>(left, buffer.size());
      if (!receive_all(fd, buffer.data(), part)) return;
      left -= part;
    }
    if (request.unanswered != 0) continue;
    for (uint64_t left = request.down > 0 ? request.down : kMessage; left > 0;) {
      const uint64_t part = std::min<uint64_t>(left, buffer.size());
      send_all(fd, buffer.data(), part);
      left -= part;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int client_core = -1, server_core = -1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--cores") std::sscanf(argv[i + 1], "%d,%d", &client_core, &server_core);
  }
  constexpr size_t bytes = size_t{64} << 20;

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
    serve(accepted);
    _exit(0);
  }
  pin(client_core);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) give_up("connect");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);

  std::vector<unsigned char> data(bytes), answer(bytes);
  Random(8).fill(data.data(), data.size());
  const auto exchange = [&](uint64_t up, uint64_t down, bool poll = false) {
    const Request request{up, down, poll, 0, {}};
    const auto start = Clock::now();
    send_all(fd, reinterpret_cast<const unsigned char*>(&request), sizeof request);
    if (up > 0) send_all(fd, data.data(), up);
    if (!receive_all(fd, answer.data(), down > 0 ? down : kMessage)) give_up("the server went away");
    return seconds_since(start);
  };
  const auto middle = [&](size_t times, uint64_t up, uint64_t down) {
    std::vector<double> seconds;
    for (size_t i = 0; i < times; ++i) seconds.push_back(exchange(up, down, polling));
    return median(seconds);
  };
  // Messages of 64 bytes, so many in a send, for half a second: seconds each.
  const auto messages = [&](size_t in_a_send) {
    const size_t total = in_a_send == 1 ? 50000 : 2000000;
    const Request request{total * kMessage, 0, 0, 1, {}};
    send_all(fd, reinterpret_cast<const unsigned char*>(&request), sizeof request);
    const auto start = Clock::now();
    for (size_t sent = 0; sent < total; sent += in_a_send) {
      const size_t now = std::min(in_a_send, total - sent);
      // Written one by one, as calls would be.
      for (size_t i = 0; i < now; ++i)
        std::memcpy(answer.data() + i * kMessage, data.data() + (sent + i) % 4096 * kMessage, kMessage);
      send_all(fd, answer.data(), now * kMessage);
    }
    const double each = seconds_since(start) / static_cast<double>(total);
    exchange(0, 0);
    return each;
  };
  const double asleep = middle(3000, 0, 0);
  polling = true;
  exchange(0, 0, true);
  const double polled = middle(3000, 0, 0);
  polling = false;
  exchange(0, 0);
  const double batched = messages(1024), single = messages(1);
  const double step = middle(100, (600 << 10) + 300 * kMessage, 0);
  std::vector<double> up_seconds, down_seconds;
  for (size_t i = 0; i < 5; ++i) {
    up_seconds.push_back(exchange(bytes, 0));
    down_seconds.push_back(exchange(0, bytes));
  }
  const double up1 = middle(40, 1 << 20, 0), down1 = middle(40, 0, 1 << 20);
  close(fd);
  waitpid(server, nullptr, 0);
  const double size = static_cast<double>(bytes);
  constexpr double kMib = 1 << 20;
  std::printf(
      "{\"asleepMicroseconds\":%.3f,\"pollingMicroseconds\":%.3f,\"batchedMicroseconds\":%.4f,"
      "\"singleMicroseconds\":%.4f,\"stepMicroseconds\":%.3f,\"toGBps\":%.4f,\"fromGBps\":%.4f,"
      "\"to1GBps\":%.4f,\"from1GBps\":%.4f}\n",
      asleep * 1e6, polled * 1e6, batched * 1e6, single * 1e6, step * 1e6, size / median(up_seconds) / 1e9,
      size / median(down_seconds) / 1e9, kMib / up1 / 1e9, kMib / down1 / 1e9);
  return 0;
}
