#include "wire/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace sluice::wire {

// A BIO that reads the socket without waiting and collects what is to be sent. (OpenSSL's own
// socket BIO would raise SIGPIPE in the program.) OpenSSL asks for no byte beyond the handshake: those
// after it are for TlsReader.
struct TlsBio {
  static TlsStream& stream(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* into, int size) {
    BIO_clear_retry_flags(bio);
    ssize_t got = 0;
    do {
      got = ::recv(stream(bio).socket_, into, static_cast<size_t>(size), MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_retry_read(bio);
    return static_cast<int>(got);
  }

  static int write(BIO* bio, const char* data, int size) {
    BIO_clear_retry_flags(bio);
    auto& out = stream(bio).out_;
    out.insert(out.end(), data, data + size);
    return size;
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static const BIO_METHOD* method() {
    static const BIO_METHOD* method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sluice");
      BIO_meth_set_read(made, &TlsBio::read);
      BIO_meth_set_write(made, &TlsBio::write);
      BIO_meth_set_ctrl(made, &TlsBio::control);
      return made;
    }();
    return method;
  }
};

namespace {

std::string openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "the peer closed the connection";
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : "TLS error " + std::to_string(code);
}

SSL_CTX* new_context(const SSL_METHOD* method) {
  crypto::init_openssl();
  SSL_CTX* context = SSL_CTX_new(method);
  if (!context) return nullptr;
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context,
                           "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  SSL_CTX_set_options(context,
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Every process connects anew, so that a ticket would only be one more record to read.
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context, 0);
  return context;
}

std::optional<crypto::Bytes32> fingerprint_of(const X509* certificate) {
  unsigned char* der = nullptr;
  const int size = certificate ? i2d_X509(certificate, &der) : -1;
  if (size < 0) return std::nullopt;
  const crypto::Bytes32 hash = crypto::sha256({der, static_cast<size_t>(size)});
  OPENSSL_free(der);
  return hash;
}

// Sends what the handshake produced; false on failure or past the deadline.
bool flush(int socket, std::vector<unsigned char>& out, const Deadline& deadline) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t sent = ::send(socket, out.data() + done, out.size() - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      done += static_cast<size_t>(sent);
    } else if (errno == EAGAIN || errno == EINTR) {
      pollfd wait{socket, POLLOUT, 0};
      if (::poll(&wait, 1, poll_timeout_ms(deadline)) == 0) return false;
    } else {
      return false;
    }
  }
  out.clear();
  return true;
}

}  // namespace

TlsStream::TlsStream(SSL_CTX* context, int socket) : ssl_(SSL_new(context)), socket_(socket) {
  if (!ssl_) return;
  BIO* bio = BIO_new(TlsBio::method());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_app_data(ssl_, this);
  SSL_CTX_set_keylog_callback(context, &TlsStream::note_secret);
}

TlsStream::~TlsStream() {
  SSL_free(ssl_);
  crypto::wipe(client_secret_);
  crypto::wipe(server_secret_);
}

// Lines in the format of NSS key logs: a label, the client's random value, the secret in hexadecimal.
void TlsStream::note_secret(const SSL* ssl, const char* line) {
  auto* stream = static_cast<TlsStream*>(SSL_get_app_data(ssl));
  const std::string_view text(line);
  const auto digit = [](char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10); };
  for (auto [label, secret] : {std::pair{"CLIENT_TRAFFIC_SECRET_0 ", &stream->client_secret_},
                               std::pair{"SERVER_TRAFFIC_SECRET_0 ", &stream->server_secret_}}) {
    if (!text.starts_with(label)) continue;
    const std::string_view hex = text.substr(text.rfind(' ') + 1);
    secret->resize(hex.size() / 2);
    for (size_t i = 0; i < secret->size(); i++) {
      (*secret)[i] = static_cast<uint8_t>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    }
  }
}

bool TlsStream::make_records(bool server) {
  const SSL_CIPHER* suite = SSL_get_current_cipher(ssl_);
  const EVP_CIPHER* cipher = EVP_get_cipherbynid(SSL_CIPHER_get_cipher_nid(suite));
  const EVP_MD* hash = SSL_CIPHER_get_handshake_digest(suite);
  if (cipher == nullptr || hash == nullptr || client_secret_.empty() || server_secret_.empty()) return false;
  sender_ = TlsRecords::make({cipher, hash, server ? server_secret_ : client_secret_}, true);
  receiver_ = TlsRecords::make({cipher, hash, server ? client_secret_ : server_secret_}, false);
  return sender_ && receiver_;
}

std::optional<crypto::Bytes32> TlsStream::peer_fingerprint() const {
  return fingerprint_of(SSL_get0_peer_certificate(ssl_));
}

std::string TlsStream::handshake(bool server, const Deadline& deadline) {
  if (!ssl_) return "out of memory";
  server ? SSL_set_accept_state(ssl_) : SSL_set_connect_state(ssl_);
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_);
    const int error = done == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_, done);
    std::string what = error == SSL_ERROR_NONE || error == SSL_ERROR_WANT_READ ? "" : openssl_error();
    // Also on failure: the alert tells the peer why.
    const bool sent = flush(socket_, out_, deadline);
    if (!what.empty()) return what;
    if (!sent) return "the peer closed the connection";
    if (error == SSL_ERROR_NONE) return make_records(server) ? "" : "the cipher cannot be set up";
    pollfd wait{socket_, POLLIN, 0};
    if (::poll(&wait, 1, poll_timeout_ms(deadline)) == 0) return "the peer does not answer";
  }
}

Result<std::shared_ptr<TlsServer>> TlsServer::load(const std::string& certificate_file,
                                                   const std::string& key_file) {
  SSL_CTX* context = new_context(TLS_server_method());
  if (!context) return Failure{"TLS cannot be set up: " + openssl_error() + "."};
  std::shared_ptr<TlsServer> server(new TlsServer(context));
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return Failure{"The certificate " + certificate_file + " cannot be used: " + openssl_error() + "."};
  }
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Failure{"The key " + key_file + " cannot be used: " + openssl_error() + "."};
  }
  const auto fingerprint = fingerprint_of(SSL_CTX_get0_certificate(context));
  if (!fingerprint) return Failure{"The certificate " + certificate_file + " cannot be encoded."};
  server->fingerprint_ = *fingerprint;
  return server;
}

TlsServer::~TlsServer() { SSL_CTX_free(context_); }

Result<std::unique_ptr<TlsStream>> TlsServer::accept(int socket, const Deadline& deadline) const {
  auto stream = std::make_unique<TlsStream>(context_, socket);
  const std::string error = stream->handshake(true, deadline);
  if (!error.empty()) return Failure{error};
  return stream;
}

Result<std::unique_ptr<TlsStream>> tls_connect(int socket, const Deadline& deadline) {
  SSL_CTX* context = new_context(TLS_client_method());
  if (!context) return Failure{"TLS cannot be set up: " + openssl_error()};
  // Trust is the fingerprint's, which the caller compares; TLS proves possession of the key.
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  auto stream = std::make_unique<TlsStream>(context, socket);
  SSL_CTX_free(context);  // the stream holds its own reference
  const std::string error = stream->handshake(false, deadline);
  if (!error.empty()) return Failure{error};
  return stream;
}

std::optional<crypto::Bytes32> parse_fingerprint(const std::string& text) {
  constexpr std::string_view kPrefix = "sha256:";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  return crypto::hex32(std::string_view(text).substr(kPrefix.size()));
}

std::string format_fingerprint(const crypto::Bytes32& fingerprint) {
  return "sha256:" + crypto::to_hex(fingerprint);
}

}  // namespace sluice::wire
