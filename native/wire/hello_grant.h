// What entitles a program to GPUs: the content of SLUICE_GRANT.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/crypto.h"
#include "common/result.h"

namespace sluice::wire {

struct GrantGpu {
  std::string uuid;                    // "GPU-…", as NVML and nvidia-smi print it
  std::optional<uint64_t> memory_mib;  // nothing: the whole GPU
};

struct GrantServer {
  std::string address;      // "host:port" or "[v6]:port"
  std::string fingerprint;  // "sha256:<64 hex>" of the certificate's DER form; empty when TLS is off
  std::vector<GrantGpu> gpus;
};

struct Grant {
  std::string allocation;
  crypto::Bytes32 secret{};
  bool tls = true;
  std::vector<GrantServer> servers;
};

// Reads the JSON form. The sentence in a failure names what is wrong; it never holds the secret.
Result<Grant> parse_grant(std::string_view text);

// The grant in SLUICE_GRANT, else in the file that SLUICE_GRANT_FILE names. Nothing when neither is set.
Result<std::optional<Grant>> grant_from_environment();

}  // namespace sluice::wire
