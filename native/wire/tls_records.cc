#include "wire/tls_records.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sluice::wire {

namespace {

constexpr size_t kTag = 16;

}  // namespace

std::unique_ptr<TlsRecords> TlsRecords::make(TlsSecret secret, bool sends) {
  std::unique_ptr<TlsRecords> made(new TlsRecords(std::move(secret), sends));
  return made->context_ != nullptr && made->set_key() ? std::move(made) : nullptr;
}

TlsRecords::TlsRecords(TlsSecret secret, bool sends)
    : secret_(std::move(secret)), sends_(sends), context_(EVP_CIPHER_CTX_new()) {}

TlsRecords::~TlsRecords() { EVP_CIPHER_CTX_free(context_); }

// HKDF-Expand-Label without context, for outputs that one block of the hash covers.
bool TlsRecords::expand(const char* label, std::span<uint8_t> out) const {
  const std::string_view text(label);
  uint8_t info[64];
  size_t at = 0;
  const auto put = [&](std::string_view bytes) {
    std::memcpy(info + at, bytes.data(), bytes.size());
    at += bytes.size();
  };
  constexpr std::string_view kPrefix = "tls13 ";
  info[at++] = 0;
  info[at++] = static_cast<uint8_t>(out.size());
  info[at++] = static_cast<uint8_t>(kPrefix.size() + text.size());
  put(kPrefix);
  put(text);
  info[at++] = 0;  // no context
  info[at++] = 1;  // the first block
  uint8_t block[EVP_MAX_MD_SIZE];
  unsigned block_bytes = 0;
  const bool good = HMAC(secret_.hash, secret_.traffic.data(), static_cast<int>(secret_.traffic.size()), info,
                         at, block, &block_bytes) != nullptr &&
                    out.size() <= block_bytes;
  if (good) std::memcpy(out.data(), block, out.size());
  crypto::wipe(block);
  return good;
}

bool TlsRecords::set_key() {
  uint8_t key[EVP_MAX_KEY_LENGTH];
  const std::span<uint8_t> used(key, static_cast<size_t>(EVP_CIPHER_get_key_length(secret_.cipher)));
  const bool good = expand("key", used) && expand("iv", nonce_base_) &&
                    EVP_CipherInit_ex(context_, secret_.cipher, nullptr, key, nullptr, sends_ ? 1 : 0) == 1;
  crypto::wipe(key);
  sequence_ = 0;
  return good;
}

bool TlsRecords::update_key() {
  std::vector<uint8_t> next(secret_.traffic.size());
  if (!expand("traffic upd", next)) return false;
  secret_.traffic.swap(next);
  crypto::wipe(next);
  return set_key();
}

bool TlsRecords::begin(const uint8_t* header) {
  uint8_t nonce[sizeof nonce_base_];
  std::memcpy(nonce, nonce_base_, sizeof nonce);
  for (size_t i = 0; i < sizeof sequence_; i++) {
    nonce[sizeof nonce - 1 - i] ^= static_cast<uint8_t>(sequence_ >> (8 * i));
  }
  sequence_++;
  int ignored = 0;
  return EVP_CipherInit_ex(context_, nullptr, nullptr, nullptr, nonce, -1) == 1 &&
         EVP_CipherUpdate(context_, nullptr, &ignored, header, kTlsHeader) == 1;
}

size_t TlsRecords::seal(TlsContent type, std::span<const iovec> parts, uint8_t* out) {
  size_t content = 0;
  for (const iovec& part : parts) content += part.iov_len;
  const size_t body = content + 1 + kTag;
  const uint8_t header[kTlsHeader] = {static_cast<uint8_t>(TlsContent::application), 3, 3,
                                      static_cast<uint8_t>(body >> 8), static_cast<uint8_t>(body)};
  std::memcpy(out, header, sizeof header);
  if (!begin(header)) return 0;
  uint8_t* at = out + kTlsHeader;
  int done = 0;
  for (const iovec& part : parts) {
    if (part.iov_len == 0) continue;
    if (EVP_CipherUpdate(context_, at, &done, static_cast<const uint8_t*>(part.iov_base),
                         static_cast<int>(part.iov_len)) != 1) {
      return 0;
    }
    at += part.iov_len;
  }
  const auto inner = static_cast<uint8_t>(type);
  if (EVP_CipherUpdate(context_, at, &done, &inner, 1) != 1) return 0;
  at++;
  if (EVP_CipherFinal_ex(context_, at, &done) != 1 ||
      EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, kTag, at) != 1) {
    return 0;
  }
  return kTlsHeader + body;
}

bool TlsRecords::open(const uint8_t* record, size_t body_bytes, uint8_t* into, TlsContent* type,
                      size_t* bytes) {
  if (body_bytes < 1 + kTag || body_bytes > kTlsMostBody || !begin(record)) return false;
  const uint8_t* body = record + kTlsHeader;
  size_t content = body_bytes - kTag - 1;
  uint8_t inner = 0;
  int done = 0;
  const bool good =
      (content == 0 || EVP_CipherUpdate(context_, into, &done, body, static_cast<int>(content)) == 1) &&
      EVP_CipherUpdate(context_, &inner, &done, body + content, 1) == 1 &&
      EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, kTag,
                          const_cast<uint8_t*>(body + body_bytes - kTag)) == 1 &&
      EVP_CipherFinal_ex(context_, &inner + 1, &done) == 1;
  if (!good) return false;
  // The type is the last byte that is not zero: a peer may have padded.
  while (inner == 0 && content > 0) inner = into[--content];
  *type = static_cast<TlsContent>(inner);
  *bytes = content;
  return content <= kTlsMostContent;
}

}  // namespace sluice::wire
