// Strangers: whatever they send, the listener goes on, leaks nothing and serves who has a grant.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <random>
#include <vector>

#include "wire/hello_connect.h"
#include "worker/listener.h"
#include "worker/testing_worker.h"

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;

ScopedFd connect_to(const TestWorker& worker) {
  auto socket = wire::connect_tcp(worker.address(), deadline_in(30s));
  EXPECT_TRUE(socket) << socket.error();
  return socket ? std::move(*socket) : ScopedFd();
}

void send_bytes(const ScopedFd& socket, const std::string& bytes) {
  ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// Waits until the worker has hung up on it.
void wait_for_end(const ScopedFd& socket) {
  pollfd wait{socket.get(), POLLIN, 0};
  char bytes[512];
  while (::poll(&wait, 1, 30'000) > 0) {
    const ssize_t got = ::recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return;
  }
  ADD_FAILURE() << "the worker did not hang up";
}

class Storm : public ::testing::TestWithParam<bool> {};

TEST_P(Storm, AThousandStrangersLeaveNothingBehind) {
  TestWorker worker({.tls = GetParam()});
  Agent agent(worker.control_path());
  agent.expect("ready");
  agent.send(worker.grant_line());
  agent.expect("granted");
  const size_t before = worker.open_descriptors();

  std::mt19937 random(7);
  wire::Grant wrong = worker.grant();
  wrong.secret[0] ^= 1;
  wire::Grant unknown = worker.grant("no-such-allocation");
  for (int i = 0; i < 1000; i++) {
    if (i % 10 == 8) {
      EXPECT_FALSE(Client(wrong).welcomed());
    } else if (i % 10 == 9) {
      EXPECT_FALSE(Client(unknown).welcomed());
    } else {
      const ScopedFd socket = connect_to(worker);
      std::string bytes(random() % 600, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      if (i % 10 == 1) bytes = "GET / HTTP/1.1\r\n\r\n";
      if (i % 10 == 2) bytes = "SLCE" + bytes;  // a wild header
      if (i % 10 == 3)
        bytes = std::string("SLCE\x01\0\x01\0\x10\0\0\0{\"protocol\":", 24);            // a hello cut short
      if (i % 10 == 4) bytes = std::string("SLCE\x01\0\x01\0\xff\xff\xff\xff", 12);     // 4 GiB announced
      if (i % 10 == 5) bytes = std::string("SLCE\x01\0\x01\0\x02\0\0\0{}", 14);         // an empty hello
      if (i % 10 == 6) bytes = std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9);  // the start of TLS
      send_bytes(socket, bytes);
      if (i % 3 == 0) {  // half of them wait for the answer, the others are gone at once
        ::shutdown(socket.get(), SHUT_WR);
        wait_for_end(socket);
      }
    }
  }
  Client client(worker.grant());
  ASSERT_TRUE(client.welcomed()) << client.message();
  EXPECT_EQ(client.call('r', 1), 1u);
  client.close();
  agent.expect("session_ended");
  // Every stranger's process has been reaped with its descriptors once the last one has.
  const Deadline deadline = deadline_in(15s);
  while (worker.open_descriptors() > before && poll_timeout_ms(deadline) > 0) agent.expect("stats");
  EXPECT_EQ(worker.open_descriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(Plain, Storm, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Tls, Storm, ::testing::Values(true));

TEST(Strangers, HoldPlacesOnlyForTheTimeOfAHello) {
  TestWorker worker({.hello_time = 300ms});
  Agent agent(worker.control_path());
  agent.expect("ready");
  agent.send(worker.grant_line());
  agent.expect("granted");
  std::vector<ScopedFd> silent;
  for (size_t i = 0; i < worker::kMaxStrangers; i++) silent.push_back(connect_to(worker));
  // All places are taken: a client with a grant waits in the kernel's queue until the silent ones are thrown
  // out.
  wire::Grant grant = worker.grant();
  const auto connect = wire::connect_and_hello(grant.servers[0], grant, wire::this_program(),
                                               {.features = {}, .timeout = 30s});
  ASSERT_TRUE(connect.connection) << connect.message;
  char byte = 0;
  EXPECT_EQ(::recv(silent.front().get(), &byte, 1, 0), 0);
}

}  // namespace
}  // namespace sluice::testing
