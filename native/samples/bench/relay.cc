// A TCP relay that behaves like a longer, narrower or broken network, for benchmarks and tests.
//   relay --to HOST:PORT [--rtt-us N] [--gbit X]
// Listens on a free port of 127.0.0.1 and prints it as {"port":N}. Each way takes half of the round trip, and
// all connections share the rate, each direction its own. Commands on stdin, each answered by a line "ok":
//   stall    nothing is forwarded any more and nothing is read; connections stay open
//   resume   goes on after a stall
//   cut      closes all connections; later ones are accepted again
// It ends with its stdin.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/sample.h"

namespace {

using samples::Clock;

constexpr size_t kChunk = 128 << 10;
// What one direction holds: 30 ms at 10 Gbit/s, and as much again.
constexpr size_t kChunksInFlight = (size_t{72} << 20) / kChunk;

struct Options {
  sockaddr_in to{};
  Clock::duration delay{};  // one way
  double seconds_per_byte = 0;
};

/// Stops and lets go all pumps.
class Gate {
 public:
  void set(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};

/// The time at which bytes have gone through a wire that others use as well.
class Wire {
 public:
  explicit Wire(const Options& options) : options_(options) {}
  Clock::time_point arrival(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::chrono::duration<double> takes(static_cast<double>(bytes) * options_.seconds_per_byte);
    free_ = std::max(free_, Clock::now()) + std::chrono::duration_cast<Clock::duration>(takes);
    return free_ + options_.delay;
  }

 private:
  const Options& options_;
  std::mutex mutex_;
  Clock::time_point free_{};
};

struct Chunk {
  std::vector<unsigned char> bytes = std::vector<unsigned char>(kChunk);
  size_t used = 0;
  Clock::time_point due{};
};

/// One direction of a connection: a thread that reads and one that sends what is due.
class Pump {
 public:
  Pump(int from, int to, Wire& wire, Gate& gate) : from_(from), to_(to), wire_(wire), gate_(gate) {}

  void read() {
    for (;;) {
      std::unique_ptr<Chunk> chunk = empty();
      gate_.pass();
      const ssize_t got = recv(from_, chunk->bytes.data(), kChunk, 0);
      if (got <= 0) break;
      chunk->used = static_cast<size_t>(got);
      chunk->due = wire_.arrival(chunk->used);
      push(std::move(chunk));
    }
    push(nullptr);
  }

  void send() {
    for (;;) {
      std::unique_ptr<Chunk> chunk = pop();
      if (!chunk) break;
      std::this_thread::sleep_until(chunk->due);
      gate_.pass();
      for (size_t sent = 0; sent < chunk->used;) {
        const ssize_t now = ::send(to_, chunk->bytes.data() + sent, chunk->used - sent, MSG_NOSIGNAL);
        if (now <= 0) {
          // The reader learns of it, too; what it still brings is dropped.
          shutdown(from_, SHUT_RD);
          break;
        }
        sent += static_cast<size_t>(now);
      }
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(chunk));
      changed_.notify_all();
    }
    shutdown(to_, SHUT_WR);
  }

 private:
  std::unique_ptr<Chunk> empty() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !idle_.empty() || made_ < kChunksInFlight; });
    if (idle_.empty()) {
      ++made_;
      return std::make_unique<Chunk>();
    }
    auto chunk = std::move(idle_.back());
    idle_.pop_back();
    return chunk;
  }
  void push(std::unique_ptr<Chunk> chunk) {
    const std::lock_guard lock(mutex_);
    full_.push_back(std::move(chunk));
    changed_.notify_all();
  }
  std::unique_ptr<Chunk> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !full_.empty(); });
    auto chunk = std::move(full_.front());
    full_.pop_front();
    return chunk;
  }

  const int from_, to_;
  Wire& wire_;
  Gate& gate_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Chunk>> idle_;
  std::deque<std::unique_ptr<Chunk>> full_;
  size_t made_ = 0;
};

class Relay {
 public:
  explicit Relay(const Options& options) : options_(options), up_(options), down_(options) {}

  void serve(int accepted) {
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(server, reinterpret_cast<const sockaddr*>(&options_.to), sizeof options_.to) != 0) {
      close(server);
      close(accepted);
      return;
    }
    const int on = 1;
    for (const int fd : {accepted, server}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    remember({accepted, server});
    Pump up(accepted, server, up_, gate), down(server, accepted, down_, gate);
    std::thread threads[] = {std::thread([&] { up.read(); }), std::thread([&] { up.send(); }),
                             std::thread([&] { down.read(); }), std::thread([&] { down.send(); })};
    for (auto& thread : threads) thread.join();
    const std::lock_guard lock(mutex_);
    for (const int fd : {accepted, server}) {
      open_.erase(fd);
      close(fd);
    }
  }

  void cut() {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }

  Gate gate;

 private:
  void remember(std::initializer_list<int> fds) {
    const std::lock_guard lock(mutex_);
    open_.insert(fds);
  }

  const Options& options_;
  Wire up_, down_;
  std::mutex mutex_;
  std::set<int> open_;
};

Options parse(int argc, char** argv) {
  Options options;
  options.to.sin_family = AF_INET;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--to") {
      const size_t colon = value.rfind(':');
      if (colon == std::string::npos ||
          inet_pton(AF_INET, value.substr(0, colon).c_str(), &options.to.sin_addr) != 1) {
        std::cerr << "relay: --to wants an IPv4 address and a port\n";
        std::exit(2);
      }
      options.to.sin_port = htons(static_cast<uint16_t>(std::strtoul(&value[colon + 1], nullptr, 10)));
    }
    if (name == "--rtt-us") {
      options.delay =
          std::chrono::nanoseconds(static_cast<int64_t>(std::strtod(value.c_str(), nullptr) * 500));
    }
    if (name == "--gbit") {
      const double gbit = std::strtod(value.c_str(), nullptr);
      options.seconds_per_byte = gbit > 0 ? 8 / (gbit * 1e9) : 0;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_TIMERSLACK, 1);  // delays are as short as 25 us
  const Options options = parse(argc, argv);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 64) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::perror("relay");
    return 1;
  }
  std::cout << "{\"port\":" << ntohs(address.sin_port) << "}" << std::endl;

  Relay relay(options);
  std::thread([&] {
    for (;;) {
      const int accepted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (accepted >= 0) std::thread([&relay, accepted] { relay.serve(accepted); }).detach();
    }
  }).detach();
  for (std::string command; std::getline(std::cin, command);) {
    if (command == "stall") relay.gate.set(false);
    if (command == "resume") relay.gate.set(true);
    if (command == "cut") relay.cut();
    std::cout << "ok" << std::endl;
  }
  _exit(0);  // with its threads
}
