// Hashes, message authentication, randomness and hexadecimal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::crypto {

using Bytes32 = std::array<uint8_t, 32>;

inline std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Sets OpenSSL up for use inside other people's programs: no configuration file, no exit handler.
// Everything here calls it; call it before using OpenSSL directly.
void init_openssl();

// SHA-256 of the bytes.
Bytes32 sha256(std::span<const uint8_t> data);

// SHA-256 of data that arrives in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::span<const uint8_t> data);
  // Call once, last.
  Bytes32 finish();

 private:
  void* context_;
};

// HMAC-SHA-256 of the parts one after the other.
Bytes32 hmac_sha256(std::span<const uint8_t> key, std::initializer_list<std::span<const uint8_t>> parts);

// Whether they are equal; the time taken does not depend on where they differ.
bool equal_in_constant_time(const Bytes32& a, const Bytes32& b);

// Fills with random bytes from the operating system; ends the process if there are none to be had.
void random_bytes(std::span<uint8_t> out);
Bytes32 random32();

// Lower-case hexadecimal, and back (either case; nothing when the length or a digit is wrong).
std::string to_hex(std::span<const uint8_t> bytes);
std::optional<Bytes32> hex32(std::string_view text);

// Overwrites secrets so that the compiler cannot leave the writes out.
void wipe(std::span<uint8_t> bytes);

}  // namespace sluice::crypto
