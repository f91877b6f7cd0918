// What the transport's and the worker's tests share.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "common/scoped_fd.h"
#include "wire/connection.h"
#include "wire/hello.h"
#include "wire/tls.h"

namespace sluice::testing {

// A folder of its own that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Writes a fresh self-signed certificate and its key as cert.pem and key.pem.
void write_certificate(const TemporaryFolder& folder);
// Loads what write_certificate wrote.
std::shared_ptr<wire::TlsServer> load_tls(const TemporaryFolder& folder);

// A connected pair of TCP sockets on loopback.
std::pair<ScopedFd, ScopedFd> tcp_pair();
// A connected pair of connections, over TLS when a server is given.
std::pair<std::unique_ptr<wire::Connection>, std::unique_ptr<wire::Connection>> connection_pair(
    const wire::TlsServer* tls);

// A socket that listens on loopback, and its address.
std::pair<ScopedFd, std::string> listening_socket();

// A grant for one server with one GPU; TLS off when the fingerprint is empty.
wire::Grant make_grant(const std::string& address, const std::string& fingerprint);

inline constexpr const char* kAllocation = "alloc-1";

}  // namespace sluice::testing
