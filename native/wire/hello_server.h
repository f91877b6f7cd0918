// The worker's side of the hello: negotiate, challenge, check the proof. Nothing is served before.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/crypto.h"
#include "common/json.h"
#include "common/result.h"
#include "wire/connection.h"
#include "wire/hello.h"

namespace sluice::wire {

// What an authenticated client asked for.
struct HelloRequest {
  std::string allocation;
  unsigned protocol = 0;
  std::vector<std::string> features;
  ProgramInfo program;
  uint64_t address_place = 0;  // see HelloOptions
  bool has_feature(std::string_view feature) const;
};

// The stored key of a valid allocation; nothing for any other.
using KeyLookup = std::function<std::optional<crypto::Bytes32>(const std::string& allocation)>;

// Goes through the hello up to the proof, within the connection's deadline. On failure the client has
// been told where that made sense, and the sentence says for the log what was wrong. A wrong secret
// and an unknown allocation look and take the same.
Result<HelloRequest> authenticate(Connection& connection, const crypto::Bytes32& certificate_hash,
                                  const KeyLookup& stored_key);

void send_refusal(Connection& connection, std::string_view code, std::string_view message);

// The same words for a wrong secret, an unknown allocation and one that has ended.
std::string invalid_allocation_message(std::string_view allocation);

}  // namespace sluice::wire
