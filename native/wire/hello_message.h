// Messages of the hello and the proof that a client knows the allocation's secret.
//
// Each message: "SLCE", u16 message, u16 protocol version of the sender, u32 length, then that
// many bytes of JSON; integers are little-endian. This framing never changes, so that versions
// that share nothing else can still tell each other so.
//
//   client: hello      {protocol:{min,max}, version, features, allocation, clientNonce, addressPlace,
//                      program}
//   worker: challenge  {protocol, version, serverNonce}
//   client: proof      {proof}
//   worker: welcome    {session, protocol, version, features, driverVersion, devices}
//   worker: refused    {code, message}, in place of challenge or welcome
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/crypto.h"
#include "common/json.h"
#include "wire/connection.h"

namespace sluice::wire {

enum class HelloMessage : uint16_t {
  hello = 1,
  challenge = 2,
  proof = 3,
  welcome = 4,
  refused = 5,
  // After a welcome with the feature "nvml": {query} and the answer to it.
  query = 16,
  answer = 17,
};

// How a hello without TLS begins; a TLS handshake begins with 0x16.
inline constexpr char kHelloFirstByte = 'S';
// What a worker accepts from a stranger: the longest honest hello is a quarter of it.
inline constexpr size_t kMaxHelloBytes = 16u << 10;
// What a client accepts from a worker: some 4 KiB for each of 64 devices, with room.
inline constexpr size_t kMaxWelcomeBytes = 1u << 20;

inline constexpr std::string_view kNvmlFeature = "nvml";

enum class ReadStatus { ok, closed, not_sluice, too_long, bad_json };

struct ReceivedMessage {
  ReadStatus status = ReadStatus::closed;
  HelloMessage message{};
  json::Value body;
};

bool send_message(Connection& connection, HelloMessage message, const json::Value& body);
ReceivedMessage read_message(Connection& connection, size_t max_bytes);

// What both sides bind the proof to. The certificate's hash (zeros without TLS) makes a proof that
// was given to one server useless at another.
struct Transcript {
  crypto::Bytes32 client_nonce{};
  crypto::Bytes32 server_nonce{};
  std::string allocation;
  crypto::Bytes32 certificate_hash{};
};

// What a worker stores in place of the secret.
crypto::Bytes32 stored_key(const crypto::Bytes32& secret);

// secret XOR HMAC-SHA256(stored key, transcript): shows the secret only to who has the stored key.
crypto::Bytes32 make_proof(const crypto::Bytes32& secret, const Transcript& transcript);

// Takes the same time whatever is wrong.
bool proof_is_valid(const crypto::Bytes32& proof, const crypto::Bytes32& stored_key,
                    const Transcript& transcript);

}  // namespace sluice::wire
