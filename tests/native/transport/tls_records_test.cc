// Our records against OpenSSL's: its client on one end, a Connection on the other.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <thread>

#include "transport/testing.h"
#include "wire/connection.h"
#include "wire/tls.h"
#include "wire/tls_io.h"

namespace sluice::wire {
namespace {

using namespace std::chrono_literals;

std::vector<uint8_t> random_data(size_t size) {
  std::vector<uint8_t> data(size);
  crypto::random_bytes(data);
  return data;
}

class TlsRecordsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    testing::write_certificate(folder_);
    tls_ = testing::load_tls(folder_);
    ScopedFd server_socket;
    std::tie(socket_, server_socket) = testing::tcp_pair();
    std::unique_ptr<TlsStream> stream;
    std::thread other(
        [&, fd = server_socket.get()] { stream = std::move(*tls_->accept(fd, deadline_in(5s))); });
    crypto::init_openssl();
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_ciphersuites(context, GetParam());
    ssl_ = SSL_new(context);
    SSL_CTX_free(context);
    SSL_set_fd(ssl_, socket_.get());
    const int connected = SSL_connect(ssl_);
    other.join();
    ASSERT_EQ(connected, 1);
    ASSERT_STREQ(SSL_get_cipher_name(ssl_), GetParam());
    connection_ = std::make_unique<Connection>(std::move(server_socket), std::move(stream));
    connection_->set_deadline(deadline_in(10s));
  }
  void TearDown() override { SSL_free(ssl_); }

  // Sends through OpenSSL, has it echoed by the connection, receives through OpenSSL.
  void expect_echo(size_t size) {
    const std::vector<uint8_t> sent = random_data(size);
    std::vector<uint8_t> through(size);
    std::vector<uint8_t> back(size);
    std::thread other([&] {
      EXPECT_TRUE(connection_->read_exact(through.data(), size)) << connection_->failure();
      EXPECT_TRUE(connection_->write_all(through.data(), size)) << connection_->failure();
    });
    size_t done = 0;
    EXPECT_EQ(SSL_write_ex(ssl_, sent.data(), size, &done), 1);
    for (size_t at = 0; at < size; at += done) {
      if (SSL_read_ex(ssl_, back.data() + at, size - at, &done) != 1) break;
    }
    other.join();
    EXPECT_EQ(through, sent);
    EXPECT_EQ(back, sent);
  }

  testing::TemporaryFolder folder_;
  std::shared_ptr<TlsServer> tls_;
  ScopedFd socket_;
  SSL* ssl_ = nullptr;
  std::unique_ptr<Connection> connection_;
};

TEST_P(TlsRecordsTest, AreOpenSslsInEverySize) {
  for (const size_t size : {1, 2, 15, 16, 17, 4096, 16383, 16384, 16385, 65536, 300'001}) expect_echo(size);
}

TEST_P(TlsRecordsTest, PartsAreOneStream) {
  std::vector<std::vector<uint8_t>> pieces;
  std::vector<iovec> parts;
  std::vector<uint8_t> whole;
  for (size_t i = 0; i < 100; i++) pieces.push_back(random_data(i * i * 7 % 5000));
  for (auto& piece : pieces) {
    parts.push_back({piece.data(), piece.size()});
    whole.insert(whole.end(), piece.begin(), piece.end());
  }
  std::vector<uint8_t> received(whole.size());
  std::thread other([&] { EXPECT_TRUE(connection_->write_all(parts)); });
  size_t done = 0;
  for (size_t at = 0; at < received.size(); at += done) {
    if (SSL_read_ex(ssl_, received.data() + at, received.size() - at, &done) != 1) break;
  }
  other.join();
  EXPECT_EQ(received, whole);
}

TEST_P(TlsRecordsTest, FollowFreshKeys) {
  expect_echo(100);
  ASSERT_EQ(SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
  expect_echo(100);
  ASSERT_EQ(SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED), 1);  // ours change as well
  expect_echo(100);
  expect_echo(100'000);
}

TEST_P(TlsRecordsTest, ACloseNotifyIsTheEnd) {
  SSL_shutdown(ssl_);
  char byte = 0;
  EXPECT_EQ(connection_->read_some(&byte, 1), 0);
  EXPECT_EQ(connection_->failure(), "the peer closed the connection");
}

TEST_P(TlsRecordsTest, AChangedByteIsFound) {
  TlsSecret secret;
  secret.cipher = EVP_aes_128_gcm();
  secret.hash = EVP_sha256();
  secret.traffic = random_data(32);
  const auto data = random_data(200);
  const iovec part{const_cast<uint8_t*>(data.data()), data.size()};
  for (size_t changed = 0; changed < data.size() + kTlsOverhead; changed++) {
    const auto sender = TlsRecords::make(secret, true);
    const auto receiver = TlsRecords::make(secret, false);
    uint8_t record[1024];
    ASSERT_EQ(sender->seal(TlsContent::application, std::span(&part, 1), record), data.size() + kTlsOverhead);
    TlsContent type{};
    size_t bytes = 0;
    uint8_t into[1024];
    record[changed] ^= 0x10;
    EXPECT_FALSE(receiver->open(record, data.size() + kTlsOverhead - kTlsHeader, into, &type, &bytes))
        << "byte " << changed;
  }
}

INSTANTIATE_TEST_SUITE_P(Suites, TlsRecordsTest,
                         ::testing::Values("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                                           "TLS_CHACHA20_POLY1305_SHA256"));

}  // namespace
}  // namespace sluice::wire
