// MD2 (RFC 1319) and HMAC-MD2 (RFC 2104), for the integrity answer only. MD2 is broken as a hash; it is
// here because runtime libraries expect it, not to protect anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::contract {

using Md2Digest = std::array<uint8_t, 16>;

// The MD2 digest of the bytes.
Md2Digest md2(std::span<const uint8_t> message);

// HMAC with MD2 as its hash. The key is at most one block (16 bytes) long.
Md2Digest hmac_md2(std::span<const uint8_t> key, std::span<const uint8_t> message);

}  // namespace sluice::contract
