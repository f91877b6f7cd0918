#include "wire/stripes.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "wire/adaptive_poll.h"
#include "wire/tls.h"

namespace sluice::wire {

namespace {

// Large enough to cost little per system call, small enough that a copy of a few megabytes uses all.
constexpr size_t kBlock = 256u << 10;
constexpr size_t kSessionBytes = 32;
constexpr char kMagic[4] = {kPreludeFirstByte, 'A', 'T', 'A'};

// "DATA", index, bytes of the session's id, two zeros, the id, the proof.
constexpr size_t kPreludeBytes = sizeof kMagic + 4 + kSessionBytes + sizeof(crypto::Bytes32);

crypto::Bytes32 derive(const crypto::Bytes32& key, std::string_view purpose, uint8_t index) {
  return crypto::hmac_sha256(key, {crypto::bytes_of(purpose), std::span(&index, 1)});
}

std::unique_ptr<TlsRecords> records_of(const crypto::Bytes32& key, std::string_view purpose, uint8_t index,
                                       bool sends) {
  const crypto::Bytes32 secret = derive(key, purpose, index);
  TlsSecret traffic;
  traffic.cipher = EVP_aes_128_gcm();
  traffic.hash = EVP_sha256();
  traffic.traffic.assign(secret.begin(), secret.end());
  return TlsRecords::make(std::move(traffic), sends);
}

}  // namespace

crypto::Bytes32 stripe_proof(const crypto::Bytes32& key, uint8_t index) {
  return derive(key, "stripe proof", index);
}

crypto::Bytes32 peer_key(const crypto::Bytes32& key, uint8_t index) { return derive(key, "peer key", index); }

bool send_prelude(Connection& connection, const StripePrelude& prelude) {
  uint8_t bytes[kPreludeBytes] = {};
  if (prelude.session.size() > kSessionBytes) return false;
  std::memcpy(bytes, kMagic, sizeof kMagic);
  bytes[4] = prelude.index;
  bytes[5] = static_cast<uint8_t>(prelude.session.size());
  std::memcpy(bytes + 8, prelude.session.data(), prelude.session.size());
  std::memcpy(bytes + 8 + kSessionBytes, prelude.proof.data(), prelude.proof.size());
  return connection.write_all(bytes, sizeof bytes);
}

std::optional<StripePrelude> read_prelude(Connection& connection) {
  uint8_t bytes[kPreludeBytes];
  if (!connection.read_exact(bytes, sizeof bytes) || std::memcmp(bytes, kMagic, sizeof kMagic) != 0 ||
      bytes[5] > kSessionBytes) {
    return std::nullopt;
  }
  StripePrelude prelude;
  prelude.index = bytes[4];
  prelude.session.assign(reinterpret_cast<const char*>(bytes + 8), bytes[5]);
  std::memcpy(prelude.proof.data(), bytes + 8 + kSessionBytes, prelude.proof.size());
  return prelude;
}

std::unique_ptr<Connection> stripe_connection(ScopedFd socket, const crypto::Bytes32& key, uint8_t index,
                                              bool encrypted, bool server) {
  if (!encrypted) return std::make_unique<Connection>(std::move(socket), nullptr);
  auto sends = records_of(key, server ? "stripe to client" : "stripe to server", index, true);
  auto receives = records_of(key, server ? "stripe to server" : "stripe to client", index, false);
  if (!sends || !receives) return nullptr;
  return std::make_unique<Connection>(std::move(socket), std::move(sends), std::move(receives));
}

void Stripes::set(std::vector<std::unique_ptr<Connection>> connections) {
  connections_ = std::move(connections);
  set_.store(true, std::memory_order_release);
}

bool Stripes::write(const void* data, size_t size) {
  const auto* at = static_cast<const uint8_t*>(data);
  while (size > 0) {
    const size_t part = std::min<uint64_t>(size, kBlock - written_ % kBlock);
    if (!connections_[written_ / kBlock % connections_.size()]->write_all(at, part)) return false;
    written_ += part;
    at += part;
    size -= part;
  }
  return true;
}

bool Stripes::read(void* into, size_t size, AdaptivePoll* poll) {
  if (!is_set()) return false;
  auto* at = static_cast<uint8_t*>(into);
  while (size > 0) {
    const size_t part = std::min<uint64_t>(size, kBlock - read_ % kBlock);
    if (!connections_[read_ / kBlock % connections_.size()]->read_exact(at, part, poll)) return false;
    read_ += part;
    at += part;
    size -= part;
  }
  return true;
}

void Stripes::shutdown() {
  if (!is_set()) return;
  for (const auto& connection : connections_) connection->shutdown();
}

void Stripes::close_in_child() {
  if (!is_set()) return;
  for (const auto& connection : connections_) ::close(connection->fd());
}

uint64_t Stripes::bytes_read() const {
  if (!is_set()) return 0;
  uint64_t sum = 0;
  for (const auto& connection : connections_) sum += connection->bytes_read();
  return sum;
}

uint64_t Stripes::bytes_written() const {
  if (!is_set()) return 0;
  uint64_t sum = 0;
  for (const auto& connection : connections_) sum += connection->bytes_written();
  return sum;
}

}  // namespace sluice::wire
