#include "wire/tls.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>
#include <thread>

#include "transport/testing.h"

namespace sluice::wire {
namespace {

using namespace std::chrono_literals;

TEST(Tls, ShowsTheCertificateThatWasLoaded) {
  testing::TemporaryFolder folder;
  testing::write_certificate(folder);
  const auto server = testing::load_tls(folder);
  auto [client_socket, server_socket] = testing::tcp_pair();
  std::thread other(
      [&, socket = server_socket.get()] { EXPECT_TRUE(server->accept(socket, deadline_in(5s))); });
  const auto client = tls_connect(client_socket.get(), deadline_in(5s));
  other.join();
  ASSERT_TRUE(client) << client.error();
  EXPECT_EQ((*client)->peer_fingerprint(), server->fingerprint());
}

TEST(Tls, SaysWhichFileCannotBeUsed) {
  testing::TemporaryFolder folder;
  EXPECT_NE(TlsServer::load(folder.file("cert.pem"), folder.file("key.pem")).error().find("cert.pem"),
            std::string::npos);
  testing::write_certificate(folder);
  std::ofstream(folder.file("key.pem")) << "not a key";
  EXPECT_NE(TlsServer::load(folder.file("cert.pem"), folder.file("key.pem")).error().find("key.pem"),
            std::string::npos);
}

TEST(Tls, HandshakesEndAtTheDeadline) {
  testing::TemporaryFolder folder;
  testing::write_certificate(folder);
  const auto server = testing::load_tls(folder);
  auto [client_socket, server_socket] = testing::tcp_pair();
  EXPECT_EQ(server->accept(server_socket.get(), deadline_in(20ms)).error(), "the peer does not answer");
  EXPECT_EQ(tls_connect(client_socket.get(), deadline_in(20ms)).error(), "the peer does not answer");
}

TEST(Tls, GarbageFailsTheHandshake) {
  testing::TemporaryFolder folder;
  testing::write_certificate(folder);
  const auto server = testing::load_tls(folder);
  auto [client_socket, server_socket] = testing::tcp_pair();
  ASSERT_GT(::send(client_socket.get(), "GET / HTTP/1.1\r\n\r\n", 18, 0), 0);
  EXPECT_FALSE(server->accept(server_socket.get(), deadline_in(5s)));
}

TEST(Tls, FingerprintsHaveOneForm) {
  const crypto::Bytes32 hash = crypto::random32();
  EXPECT_EQ(parse_fingerprint(format_fingerprint(hash)), hash);
  EXPECT_FALSE(parse_fingerprint(crypto::to_hex(hash)));
  EXPECT_FALSE(parse_fingerprint("sha1:" + crypto::to_hex(hash)));
  EXPECT_FALSE(parse_fingerprint(""));
}

}  // namespace
}  // namespace sluice::wire
