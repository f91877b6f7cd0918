#include "common/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace sluice::crypto {

namespace {

constexpr size_t kBlock = 64;  // SHA-256's block, which HMAC pads its key to

}  // namespace

void init_openssl() {
  static const int once = OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  if (once != 1) std::abort();
}

Sha256::Sha256() : context_((init_openssl(), EVP_MD_CTX_new())) {
  if (!context_ || EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) != 1)
    std::abort();
}

Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256::update(std::span<const uint8_t> data) {
  if (EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), data.data(), data.size()) != 1) std::abort();
}

Bytes32 Sha256::finish() {
  Bytes32 out{};
  if (EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), out.data(), nullptr) != 1) std::abort();
  return out;
}

Bytes32 sha256(std::span<const uint8_t> data) {
  Sha256 hash;
  hash.update(data);
  return hash.finish();
}

Bytes32 hmac_sha256(std::span<const uint8_t> key, std::initializer_list<std::span<const uint8_t>> parts) {
  std::array<uint8_t, kBlock> pad{};
  if (key.size() > kBlock) {
    const Bytes32 shortened = sha256(key);
    std::copy(shortened.begin(), shortened.end(), pad.begin());
  } else {
    std::copy(key.begin(), key.end(), pad.begin());
  }
  for (uint8_t& byte : pad) byte ^= 0x36;
  Sha256 inner;
  inner.update(pad);
  for (const auto& part : parts) inner.update(part);
  const Bytes32 inner_hash = inner.finish();

  for (uint8_t& byte : pad) byte ^= 0x36 ^ 0x5c;
  Sha256 outer;
  outer.update(pad);
  outer.update(inner_hash);
  wipe(pad);
  return outer.finish();
}

bool equal_in_constant_time(const Bytes32& a, const Bytes32& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void random_bytes(std::span<uint8_t> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = getrandom(out.data() + done, out.size() - done, 0);
    if (got < 0 && errno != EINTR) std::abort();  // no secret may ever be predictable
    if (got > 0) done += static_cast<size_t>(got);
  }
}

Bytes32 random32() {
  Bytes32 out{};
  random_bytes(out);
  return out;
}

std::string to_hex(std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::optional<Bytes32> hex32(std::string_view text) {
  Bytes32 out{};
  if (text.size() != out.size() * 2) return std::nullopt;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    out[i / 2] = static_cast<uint8_t>(out[i / 2] << 4 | digit);
  }
  return out;
}

void wipe(std::span<uint8_t> bytes) { OPENSSL_cleanse(bytes.data(), bytes.size()); }

}  // namespace sluice::crypto
