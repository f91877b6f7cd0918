// TLS 1.3 with a pinned certificate. The agent makes a self-signed certificate; its SHA-256 travels
// in the grant, so there is no authority to trust and none to be fooled.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/crypto.h"
#include "common/result.h"
#include "wire/tls_records.h"

struct ssl_st;
struct ssl_ctx_st;

namespace sluice::wire {

// A TLS handshake on a socket, and the keys that come of it. The socket stays its owner's.
class TlsStream {
 public:
  TlsStream(ssl_ctx_st* context, int socket);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // SHA-256 of the peer's certificate in DER form; nothing when it sent none.
  std::optional<crypto::Bytes32> peer_fingerprint() const;
  // Finishes the handshake; an empty string is success, else what went wrong. The deadline holds for all of
  // it.
  std::string handshake(bool server, const Deadline& deadline);
  // After the handshake, once: the keys of what we send and of what the peer sends.
  std::unique_ptr<TlsRecords> take_sender() { return std::move(sender_); }
  std::unique_ptr<TlsRecords> take_receiver() { return std::move(receiver_); }

 private:
  friend struct TlsBio;
  bool make_records(bool server);
  static void note_secret(const ssl_st* ssl, const char* line);

  ssl_st* ssl_ = nullptr;
  int socket_;
  std::vector<unsigned char> out_;  // what the handshake wants sent
  std::vector<uint8_t> client_secret_;
  std::vector<uint8_t> server_secret_;
  std::unique_ptr<TlsRecords> sender_;
  std::unique_ptr<TlsRecords> receiver_;
};

// The certificate and key of a worker; loaded once, used by every session process.
class TlsServer {
 public:
  // PEM files. The sentence in a failure names the file.
  static Result<std::shared_ptr<TlsServer>> load(const std::string& certificate_file,
                                                 const std::string& key_file);
  ~TlsServer();

  // SHA-256 of the certificate in DER form: what a grant pins.
  const crypto::Bytes32& fingerprint() const { return fingerprint_; }
  // The server's side of the handshake.
  Result<std::unique_ptr<TlsStream>> accept(int socket, const Deadline& deadline) const;

 private:
  explicit TlsServer(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
  crypto::Bytes32 fingerprint_{};
};

// The client's side of the handshake, without judging the certificate: compare peer_fingerprint()
// with the pinned one before sending anything.
Result<std::unique_ptr<TlsStream>> tls_connect(int socket, const Deadline& deadline);

// "sha256:<64 hex>" to bytes; nothing when it has another form.
std::optional<crypto::Bytes32> parse_fingerprint(const std::string& text);
std::string format_fingerprint(const crypto::Bytes32& fingerprint);

}  // namespace sluice::wire
