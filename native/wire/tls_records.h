// The records of TLS 1.3 after the handshake (RFC 8446, section 5): sealed from and opened into the memory
// of whoever sends and receives. OpenSSL makes the handshake and the ciphers; its own record layer copies
// each byte twice more in each direction, and shares a lock between them.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/crypto.h"

struct evp_cipher_st;
struct evp_cipher_ctx_st;
struct evp_md_st;

namespace sluice::wire {

// What the handshake agreed on for one direction.
struct TlsSecret {
  const evp_cipher_st* cipher = nullptr;
  const evp_md_st* hash = nullptr;
  std::vector<uint8_t> traffic;
  ~TlsSecret() { crypto::wipe(traffic); }
};

enum class TlsContent : uint8_t { change_cipher_spec = 20, alert = 21, handshake = 22, application = 23 };

inline constexpr size_t kTlsHeader = 5;
inline constexpr size_t kTlsMostContent = 16u << 10;
// What a record needs beside its content: header, type and tag.
inline constexpr size_t kTlsOverhead = kTlsHeader + 1 + 16;
// Bytes after the header, at most; padding that a foreign peer may add included.
inline constexpr size_t kTlsMostBody = kTlsMostContent + 256;

// The keys of one direction; used by one thread at a time.
class TlsRecords {
 public:
  // Null when the cipher cannot be set up.
  static std::unique_ptr<TlsRecords> make(TlsSecret secret, bool sends);
  ~TlsRecords();
  TlsRecords(const TlsRecords&) = delete;
  TlsRecords& operator=(const TlsRecords&) = delete;

  // Writes one record with the parts' bytes, kTlsMostContent at most, to `out`. Its size, or 0 on failure.
  size_t seal(TlsContent type, std::span<const iovec> parts, uint8_t* out);

  // Opens the record whose header and body lie at `record`. `into` has room for the body less 17 bytes.
  // False when it was not sealed by the peer, or was tampered with; `into` holds nonsense then.
  bool open(const uint8_t* record, size_t body_bytes, uint8_t* into, TlsContent* type, size_t* bytes);

  // Goes on with the next generation of keys.
  bool update_key();
  // Records under the present key so far.
  uint64_t records() const { return sequence_; }

 private:
  TlsRecords(TlsSecret secret, bool sends);
  bool set_key();
  bool begin(const uint8_t* header);
  bool expand(const char* label, std::span<uint8_t> out) const;

  TlsSecret secret_;
  const bool sends_;
  evp_cipher_ctx_st* context_;
  uint8_t nonce_base_[12] = {};
  uint64_t sequence_ = 0;
};

}  // namespace sluice::wire
