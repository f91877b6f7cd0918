#include "wire/connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "transport/testing.h"

namespace sluice::wire {
namespace {

using testing::connection_pair;
using namespace std::chrono_literals;

class ConnectionTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      testing::write_certificate(folder_);
      tls_ = testing::load_tls(folder_);
    }
    std::tie(client_, server_) = connection_pair(tls_.get());
  }

  testing::TemporaryFolder folder_;
  std::shared_ptr<TlsServer> tls_;
  std::unique_ptr<Connection> client_;
  std::unique_ptr<Connection> server_;
};

std::vector<unsigned char> random_data(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned char> data(size);
  for (auto& byte : data) byte = static_cast<unsigned char>(random());
  return data;
}

TEST_P(ConnectionTest, CarriesPartsOfAllSizesInOrder) {
  const auto data = random_data(3'000'000, 1);
  std::vector<iovec> parts;
  size_t at = 0;
  for (const size_t size :
       {1ul, 0ul, 7ul, 16383ul, 16384ul, 16385ul, 2ul, 65536ul, 100'000ul, 1ul, 1'000'000ul, 3ul}) {
    parts.push_back({const_cast<unsigned char*>(data.data()) + at, size});
    at += size;
  }
  for (; at < data.size(); at += 10'000) {
    parts.push_back(
        {const_cast<unsigned char*>(data.data()) + at, std::min<size_t>(10'000, data.size() - at)});
  }
  std::thread writer([&] { EXPECT_TRUE(client_->write_all(parts)); });
  std::vector<unsigned char> got(data.size());
  EXPECT_TRUE(server_->read_exact(got.data(), got.size()));
  writer.join();
  EXPECT_EQ(got, data);
  EXPECT_EQ(server_->bytes_read(), data.size());
  EXPECT_EQ(client_->bytes_written(), data.size());
}

TEST_P(ConnectionTest, BothDirectionsAtOnceOnBothSides) {
  const auto up = random_data(8'000'000, 2);
  const auto down = random_data(8'000'000, 3);
  const auto read = [](Connection& connection, const std::vector<unsigned char>& wanted) {
    std::vector<unsigned char> got(wanted.size());
    for (size_t at = 0; at < got.size();) {
      const ssize_t count = connection.read_some(got.data() + at, got.size() - at);
      ASSERT_GT(count, 0);
      at += static_cast<size_t>(count);
    }
    EXPECT_EQ(got, wanted);
  };
  std::thread threads[] = {
      std::thread([&] { EXPECT_TRUE(client_->write_all(up.data(), up.size())); }),
      std::thread([&] { EXPECT_TRUE(server_->write_all(down.data(), down.size())); }),
      std::thread([&] { read(*server_, up); }),
      std::thread([&] { read(*client_, down); }),
  };
  for (auto& thread : threads) thread.join();
}

TEST_P(ConnectionTest, ReadableSeesDataWithoutTakingIt) {
  EXPECT_FALSE(server_->readable(0us));
  EXPECT_FALSE(server_->readable(1000us));
  ASSERT_TRUE(client_->write_all("abc", 3));
  EXPECT_TRUE(server_->readable(-1us));
  char byte = 0;
  ASSERT_TRUE(server_->read_exact(&byte, 1));
  EXPECT_EQ(byte, 'a');
  EXPECT_TRUE(server_->readable(0us));  // the rest of the record
  char rest[2];
  ASSERT_TRUE(server_->read_exact(rest, 2));
  EXPECT_FALSE(server_->readable(0us));
  client_.reset();
  EXPECT_TRUE(server_->readable(-1us));
  EXPECT_EQ(server_->read_some(&byte, 1), 0);
}

TEST_P(ConnectionTest, EndOfTheStreamFailsReads) {
  ASSERT_TRUE(client_->write_all("abc", 3));
  client_->finish_writing();
  char bytes[8];
  EXPECT_FALSE(server_->read_exact(bytes, sizeof bytes));
  EXPECT_EQ(server_->failure(), "the peer closed the connection");
  EXPECT_FALSE(server_->read_exact(bytes, 1));
}

TEST_P(ConnectionTest, ShutdownWakesABlockedReader) {
  std::thread reader([&] {
    char byte = 0;
    EXPECT_FALSE(client_->read_exact(&byte, 1));
  });
  client_->shutdown();
  reader.join();
  EXPECT_FALSE(client_->write_all("a", 1));
  EXPECT_EQ(client_->failure(), "the connection was closed here");
}

TEST_P(ConnectionTest, ShutdownWakesABlockedWriter) {
  std::thread writer([&] {
    const std::vector<char> data(64u << 20);
    EXPECT_FALSE(client_->write_all(data.data(), data.size()));
  });
  char byte = 0;
  ASSERT_TRUE(server_->read_exact(&byte, 1));
  client_->shutdown();
  writer.join();
}

TEST_P(ConnectionTest, WritingToAGonePeerFailsWithoutASignal) {
  std::signal(SIGPIPE, SIG_DFL);
  server_.reset();
  const std::vector<char> data(1u << 20);
  bool ok = true;
  for (int i = 0; i < 100 && ok; i++) ok = client_->write_all(data.data(), data.size());
  EXPECT_FALSE(ok);
  EXPECT_NE(client_->failure(), "");
}

TEST_P(ConnectionTest, ADeadlineEndsASilentRead) {
  server_->set_deadline(deadline_in(20ms));
  char byte = 0;
  EXPECT_FALSE(server_->read_exact(&byte, 1));
  EXPECT_EQ(server_->failure(), "the peer does not answer");
}

TEST_P(ConnectionTest, ADeadlineEndsAStuckWrite) {
  client_->set_deadline(deadline_in(50ms));
  const std::vector<char> data(64u << 20);
  EXPECT_FALSE(client_->write_all(data.data(), data.size()));
}

INSTANTIATE_TEST_SUITE_P(Plain, ConnectionTest, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Tls, ConnectionTest, ::testing::Values(true));

TEST(ConnectionTls, CorruptedRecordsEndTheConnection) {
  testing::TemporaryFolder folder;
  testing::write_certificate(folder);
  const auto tls = testing::load_tls(folder);
  auto [client, server] = connection_pair(tls.get());
  ASSERT_EQ(::send(client->fd(), "not a record, not even close", 28, 0), 28);
  char byte = 0;
  EXPECT_EQ(server->read_some(&byte, 1), -1);
  EXPECT_EQ(server->failure(), "the peer sent broken TLS records");
}

}  // namespace
}  // namespace sluice::wire
