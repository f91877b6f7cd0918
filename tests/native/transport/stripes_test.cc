#include "wire/stripes.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "transport/testing.h"

namespace sluice::wire {
namespace {

std::vector<uint8_t> random_data(size_t size) {
  std::vector<uint8_t> data(size);
  crypto::random_bytes(data);
  return data;
}

class StripesTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const crypto::Bytes32 key = crypto::random32();
    std::vector<std::unique_ptr<Connection>> clients;
    std::vector<std::unique_ptr<Connection>> servers;
    for (uint8_t index = 0; index < kStripes; index++) {
      auto [client, server] = testing::tcp_pair();
      clients.push_back(stripe_connection(std::move(client), key, index, GetParam(), false));
      servers.push_back(stripe_connection(std::move(server), key, index, GetParam(), true));
    }
    client_.set(std::move(clients));
    server_.set(std::move(servers));
  }

  Stripes client_;
  Stripes server_;
};

TEST_P(StripesTest, AreOneStreamEachWay) {
  const std::vector<size_t> sizes = {1, 262143, 262144, 262145, 5'000'000, 7, 3'000'001};
  const auto pass = [&](Stripes& from, Stripes& to) {
    for (const size_t size : sizes) {
      const auto sent = random_data(size);
      std::vector<uint8_t> received(size);
      std::thread writer([&] {
        // In two parts: blocks do not begin where parts do.
        EXPECT_TRUE(from.write(sent.data(), size / 3));
        EXPECT_TRUE(from.write(sent.data() + size / 3, size - size / 3));
      });
      EXPECT_TRUE(to.read(received.data(), size, nullptr));
      writer.join();
      EXPECT_TRUE(received == sent) << size;
    }
  };
  pass(client_, server_);
  pass(server_, client_);
}

TEST_P(StripesTest, OneThatEndsEndsTheCopy) {
  std::thread reader([&] {
    std::vector<uint8_t> received(size_t{16} << 20);
    EXPECT_FALSE(server_.read(received.data(), received.size(), nullptr));
  });
  const auto sent = random_data(300'000);
  EXPECT_TRUE(client_.write(sent.data(), sent.size()));
  client_.shutdown();
  reader.join();
}

INSTANTIATE_TEST_SUITE_P(Plain, StripesTest, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Tls, StripesTest, ::testing::Values(true));

TEST(Stripes, NothingIsReadBeforeThereAreAny) {
  Stripes stripes;
  char byte = 0;
  EXPECT_FALSE(stripes.read(&byte, 1, nullptr));
  EXPECT_FALSE(stripes.in_use());
}

TEST(Stripes, APreludeNamesItsSession) {
  auto [client, server] = testing::connection_pair(nullptr);
  const StripePrelude sent{"s-0123456789abcdef", 5, stripe_proof(crypto::random32(), 5)};
  ASSERT_TRUE(send_prelude(*client, sent));
  const auto received = read_prelude(*server);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->session, sent.session);
  EXPECT_EQ(received->index, sent.index);
  EXPECT_EQ(received->proof, sent.proof);
  EXPECT_FALSE(send_prelude(*client, {std::string(33, 's'), 0, {}}));
}

TEST(Stripes, WhatIsNoPreludeIsRefused) {
  auto [client, server] = testing::connection_pair(nullptr);
  const std::vector<uint8_t> nonsense(72, 'D');
  ASSERT_TRUE(client->write_all(nonsense.data(), nonsense.size()));
  EXPECT_FALSE(read_prelude(*server));
}

TEST(Stripes, ProofsAreOfOneKeyAndOneIndex) {
  const crypto::Bytes32 key = crypto::random32();
  EXPECT_EQ(stripe_proof(key, 1), stripe_proof(key, 1));
  EXPECT_NE(stripe_proof(key, 1), stripe_proof(key, 2));
  EXPECT_NE(stripe_proof(key, 1), stripe_proof(crypto::random32(), 1));
}

TEST(Stripes, DataUnderAnotherKeyIsRefused) {
  auto [client_socket, server_socket] = testing::tcp_pair();
  const auto client = stripe_connection(std::move(client_socket), crypto::random32(), 0, true, false);
  const auto server = stripe_connection(std::move(server_socket), crypto::random32(), 0, true, true);
  char byte = 'x';
  ASSERT_TRUE(client->write_all(&byte, 1));
  EXPECT_FALSE(server->read_exact(&byte, 1));
  EXPECT_EQ(server->failure(), "the peer sent broken TLS records");
}

}  // namespace
}  // namespace sluice::wire
