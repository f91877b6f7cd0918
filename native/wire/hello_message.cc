#include "wire/hello_message.h"

#include <cstring>

#include "wire/hello.h"

namespace sluice::wire {

namespace {

constexpr char kMagic[4] = {'S', 'L', 'C', 'E'};
constexpr size_t kHeaderBytes = 12;
constexpr unsigned kMaxDepth = 8;

void put(unsigned char* at, uint32_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) at[i] = static_cast<unsigned char>(value >> (8 * i));
}

uint32_t get(const unsigned char* at, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; i++) value |= uint32_t{at[i]} << (8 * i);
  return value;
}

crypto::Bytes32 mask(const crypto::Bytes32& key, const Transcript& transcript) {
  return crypto::hmac_sha256(
      key, {crypto::bytes_of("sluice-hello-1"), transcript.client_nonce, transcript.server_nonce,
            crypto::bytes_of(transcript.allocation), transcript.certificate_hash});
}

crypto::Bytes32 exclusive_or(crypto::Bytes32 a, const crypto::Bytes32& b) {
  for (size_t i = 0; i < a.size(); i++) a[i] ^= b[i];
  return a;
}

}  // namespace

bool send_message(Connection& connection, HelloMessage message, const json::Value& body) {
  const std::string text = body.dump();
  unsigned char header[kHeaderBytes];
  std::memcpy(header, kMagic, sizeof kMagic);
  put(header + 4, static_cast<uint32_t>(message), 2);
  put(header + 6, kProtocolMax, 2);
  put(header + 8, static_cast<uint32_t>(text.size()), 4);
  const iovec parts[] = {{header, sizeof header}, {const_cast<char*>(text.data()), text.size()}};
  return connection.write_all(parts);
}

ReceivedMessage read_message(Connection& connection, size_t max_bytes) {
  ReceivedMessage received;
  unsigned char header[kHeaderBytes];
  // The magic first: a peer of another kind may never send the rest of a header.
  if (!connection.read_exact(header, sizeof kMagic)) return received;
  if (std::memcmp(header, kMagic, sizeof kMagic) != 0) {
    received.status = ReadStatus::not_sluice;
    return received;
  }
  if (!connection.read_exact(header + sizeof kMagic, kHeaderBytes - sizeof kMagic)) return received;
  received.message = static_cast<HelloMessage>(get(header + 4, 2));
  const uint32_t length = get(header + 8, 4);
  if (length > max_bytes) {
    received.status = ReadStatus::too_long;
    return received;
  }
  std::string text(length, '\0');
  if (!connection.read_exact(text.data(), length)) return received;
  auto body = json::parse(text, {.max_bytes = max_bytes, .max_depth = kMaxDepth});
  received.status = body && body->is_object() ? ReadStatus::ok : ReadStatus::bad_json;
  if (body) received.body = std::move(*body);
  return received;
}

crypto::Bytes32 stored_key(const crypto::Bytes32& secret) { return crypto::sha256(secret); }

crypto::Bytes32 make_proof(const crypto::Bytes32& secret, const Transcript& transcript) {
  return exclusive_or(secret, mask(stored_key(secret), transcript));
}

bool proof_is_valid(const crypto::Bytes32& proof, const crypto::Bytes32& key, const Transcript& transcript) {
  crypto::Bytes32 secret = exclusive_or(proof, mask(key, transcript));
  const bool valid = crypto::equal_in_constant_time(stored_key(secret), key);
  crypto::wipe(secret);
  return valid;
}

}  // namespace sluice::wire
