#include "wire/hello_grant.h"

#include <fstream>
#include <iterator>

#include "common/env.h"
#include "common/json.h"
#include "wire/tls.h"

namespace sluice::wire {

namespace {

constexpr size_t kMaxGrantBytes = 1u << 20;
constexpr const char* kHint = " Run the program through \"sluice run\" or set it from the allocation's page.";

Result<GrantGpu> parse_gpu(const json::Value& json) {
  GrantGpu gpu;
  gpu.uuid = json["uuid"].string_or("");
  if (gpu.uuid.empty()) return Failure{"a GPU has no \"uuid\""};
  const json::Value& memory = json["memoryMib"];
  gpu.memory_mib = memory.as_uint();
  if (!memory.is_null() && !gpu.memory_mib)
    return Failure{"\"memoryMib\" is neither a whole number nor null"};
  return gpu;
}

Result<GrantServer> parse_server(const json::Value& json, bool tls) {
  GrantServer server;
  server.address = json["address"].string_or("");
  if (server.address.empty()) return Failure{"a server has no \"address\""};
  server.fingerprint = json["fingerprint"].string_or("");
  if (tls && !parse_fingerprint(server.fingerprint)) {
    return Failure{"the server " + server.address +
                   " has no certificate fingerprint of the form sha256:<64 hex digits>"};
  }
  for (const json::Value& item : json["gpus"].items()) {
    auto gpu = parse_gpu(item);
    if (!gpu) return Failure{gpu.error()};
    server.gpus.push_back(std::move(*gpu));
  }
  if (server.gpus.empty()) return Failure{"the server " + server.address + " has no \"gpus\""};
  return server;
}

Result<Grant> parse_fields(const json::Value& json) {
  if (json["version"].as_int() != 1) {
    return Failure{
        "its \"version\" is not 1: the grant was made by another version of Sluice, update the older side"};
  }
  Grant grant;
  grant.allocation = json["allocation"].string_or("");
  if (grant.allocation.empty()) return Failure{"\"allocation\" is missing"};
  const auto secret = crypto::hex32(json["secret"].string_or(""));
  if (!secret) return Failure{"\"secret\" is not 64 hexadecimal digits"};
  grant.secret = *secret;
  grant.tls = json["tls"].bool_or(true);
  for (const json::Value& item : json["servers"].items()) {
    auto server = parse_server(item, grant.tls);
    if (!server) return Failure{server.error()};
    grant.servers.push_back(std::move(*server));
  }
  if (grant.servers.empty()) return Failure{"it names no \"servers\""};
  return grant;
}

}  // namespace

Result<Grant> parse_grant(std::string_view text) {
  std::string error;
  const auto json = json::parse(text, {.max_bytes = kMaxGrantBytes, .max_depth = 8}, &error);
  if (!json) return Failure{"The grant is not JSON (" + error + ")." + kHint};
  auto grant = parse_fields(*json);
  if (!grant) return Failure{"The grant cannot be used: " + grant.error() + "." + kHint};
  return grant;
}

Result<std::optional<Grant>> grant_from_environment() {
  auto text = env::text("SLUICE_GRANT");
  if (!text) {
    const auto file = env::text("SLUICE_GRANT_FILE");
    if (!file) return std::optional<Grant>();
    std::ifstream stream(*file, std::ios::binary);
    text.emplace(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    if (!stream.is_open() || stream.bad()) {
      return Failure{"The file " + *file + ", which SLUICE_GRANT_FILE names, cannot be read."};
    }
  }
  auto grant = parse_grant(*text);
  if (!grant) return Failure{grant.error()};
  return std::optional(std::move(*grant));
}

}  // namespace sluice::wire
