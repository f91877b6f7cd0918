#include "transport/testing.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <cstdio>

namespace sluice::testing {

TemporaryFolder::TemporaryFolder() {
  std::string name = std::filesystem::temp_directory_path() / "sluice-test-XXXXXX";
  path_ = ::mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

void write_certificate(const TemporaryFolder& folder) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("sluice"), -1,
                             -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_sign(certificate, key, EVP_sha256());
  const auto write = [&](const char* file, auto how) {
    FILE* out = std::fopen(folder.file(file).c_str(), "w");
    how(out);
    std::fclose(out);
  };
  write("cert.pem", [&](FILE* out) { PEM_write_X509(out, certificate); });
  write("key.pem", [&](FILE* out) { PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(certificate);
  EVP_PKEY_free(key);
}

std::shared_ptr<wire::TlsServer> load_tls(const TemporaryFolder& folder) {
  auto tls = wire::TlsServer::load(folder.file("cert.pem"), folder.file("key.pem"));
  EXPECT_TRUE(tls) << tls.error();
  return tls ? *tls : nullptr;
}

std::pair<ScopedFd, std::string> listening_socket() {
  ScopedFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener.get(), 64), 0);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return {std::move(listener), "127.0.0.1:" + std::to_string(ntohs(address.sin_port))};
}

std::pair<ScopedFd, ScopedFd> tcp_pair() {
  const auto [listener, text] = listening_socket();
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  ScopedFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  return {std::move(client), ScopedFd(::accept(listener.get(), nullptr, nullptr))};
}

std::pair<std::unique_ptr<wire::Connection>, std::unique_ptr<wire::Connection>> connection_pair(
    const wire::TlsServer* tls) {
  auto [client, server] = tcp_pair();
  std::unique_ptr<wire::TlsStream> client_tls;
  std::unique_ptr<wire::TlsStream> server_tls;
  if (tls) {
    std::thread other(
        [&, socket = server.get()] { server_tls = std::move(*tls->accept(socket, std::nullopt)); });
    client_tls = std::move(*wire::tls_connect(client.get(), std::nullopt));
    other.join();
  }
  return {std::make_unique<wire::Connection>(std::move(client), std::move(client_tls)),
          std::make_unique<wire::Connection>(std::move(server), std::move(server_tls))};
}

wire::Grant make_grant(const std::string& address, const std::string& fingerprint) {
  wire::Grant grant;
  grant.allocation = kAllocation;
  grant.secret = crypto::sha256(crypto::bytes_of("a secret for tests"));
  grant.tls = !fingerprint.empty();
  grant.servers = {{address, fingerprint, {{"GPU-00000000-0000-0000-0000-000000000001", 1024}}}};
  return grant;
}

}  // namespace sluice::testing
