#include "wire/hello_server.h"

#include <algorithm>

#include "common/version.h"
#include "wire/hello_message.h"

namespace sluice::wire {

namespace {

constexpr size_t kMaxAllocationBytes = 128;
constexpr size_t kMaxTextBytes = 1024;
constexpr size_t kMaxFeatures = 32;

// Text from the client ends up in logs and on pages: no control characters, bounded.
std::string clean(const json::Value& value) {
  std::string text = value.string_or("").substr(0, kMaxTextBytes);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return text;
}

bool valid_allocation_id(const std::string& id) {
  return !id.empty() && id.size() <= kMaxAllocationBytes &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

Failure describe(const ReceivedMessage& received, const Connection& connection) {
  switch (received.status) {
    case ReadStatus::closed:
      return {"the connection ended during the hello: " + connection.failure()};
    case ReadStatus::not_sluice:
      return {"the peer does not speak Sluice's protocol"};
    case ReadStatus::too_long:
      return {"the hello is longer than " + std::to_string(kMaxHelloBytes) + " bytes"};
    case ReadStatus::bad_json:
      return {"the hello is not valid JSON"};
    case ReadStatus::ok:
      break;
  }
  return {"the peer sent message " + std::to_string(static_cast<unsigned>(received.message)) +
          " out of turn"};
}

Failure refuse(Connection& connection, std::string_view code, std::string message) {
  send_refusal(connection, code, message);
  return {std::move(message)};
}

// The highest version that both speak; a sentence that names the side to update when there is none.
Result<unsigned> negotiate(const json::Value& range) {
  const auto min = range["min"].as_uint();
  const auto max = range["max"].as_uint();
  if (!min || !max || *min > *max) return Failure{"The client's hello names no protocol version."};
  if (*max < kProtocolMin || *min > kProtocolMax) {
    const bool client_is_older = *max < kProtocolMin;
    return Failure{"The client speaks protocol " + std::to_string(*min) + " to " + std::to_string(*max) +
                   ", this server " + std::to_string(kProtocolMin) + " to " + std::to_string(kProtocolMax) +
                   ". Update Sluice on " + (client_is_older ? "the client's machine." : "the server.")};
  }
  return static_cast<unsigned>(std::min<uint64_t>(*max, kProtocolMax));
}

HelloRequest read_request(const json::Value& body) {
  HelloRequest request;
  request.allocation = body["allocation"].string_or("");
  const auto& features = body["features"].items();
  for (size_t i = 0; i < std::min(features.size(), kMaxFeatures); i++)
    request.features.push_back(clean(features[i]));
  const json::Value& program = body["program"];
  request.program = {.command = clean(program["command"]),
                     .user = clean(program["user"]),
                     .host = clean(program["host"]),
                     .cwd = clean(program["cwd"]),
                     .pid = static_cast<int>(std::clamp<int64_t>(program["pid"].int_or(0), 0, 1 << 30))};
  request.address_place = body["addressPlace"].uint_or(0);
  return request;
}

}  // namespace

bool HelloRequest::has_feature(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

Result<HelloRequest> authenticate(Connection& connection, const crypto::Bytes32& certificate_hash,
                                  const KeyLookup& stored_key) {
  const ReceivedMessage hello = read_message(connection, kMaxHelloBytes);
  if (hello.status != ReadStatus::ok || hello.message != HelloMessage::hello)
    return describe(hello, connection);
  const auto protocol = negotiate(hello.body["protocol"]);
  if (!protocol) return refuse(connection, "version", protocol.error());
  HelloRequest request = read_request(hello.body);
  request.protocol = *protocol;
  const auto client_nonce = crypto::hex32(hello.body["clientNonce"].string_or(""));
  if (!client_nonce || !valid_allocation_id(request.allocation)) {
    return refuse(connection, "bad_hello",
                  "The client's hello lacks an allocation or a nonce. Update Sluice on its machine.");
  }

  const Transcript transcript{.client_nonce = *client_nonce,
                              .server_nonce = crypto::random32(),
                              .allocation = request.allocation,
                              .certificate_hash = certificate_hash};
  const json::Value challenge =
      json::Value::object({{"protocol", request.protocol},
                           {"version", version()},
                           {"serverNonce", crypto::to_hex(transcript.server_nonce)}});
  if (!send_message(connection, HelloMessage::challenge, challenge)) return describe({}, connection);

  const ReceivedMessage answer = read_message(connection, kMaxHelloBytes);
  if (answer.status != ReadStatus::ok || answer.message != HelloMessage::proof)
    return describe(answer, connection);
  const auto proof = crypto::hex32(answer.body["proof"].string_or(""));
  const auto key = stored_key(request.allocation);
  // An unknown allocation is checked against a key that nothing fits, so that it takes as long.
  const bool valid =
      proof_is_valid(proof.value_or(crypto::Bytes32{}), key.value_or(crypto::random32()), transcript);
  if (!valid || !proof || !key) {
    return refuse(connection, "invalid_allocation", invalid_allocation_message(request.allocation));
  }
  return request;
}

void send_refusal(Connection& connection, std::string_view code, std::string_view message) {
  send_message(connection, HelloMessage::refused,
               json::Value::object({{"code", code}, {"message", message}}));
}

std::string invalid_allocation_message(std::string_view allocation) {
  return "The allocation " + std::string(allocation) +
         " is not valid on this server: it has ended, belongs to another server, or its secret is wrong. "
         "Request GPUs again.";
}

}  // namespace sluice::wire
