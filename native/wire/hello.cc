#include "wire/hello.h"

#include "common/version.h"
#include "wire/hello_connect.h"
#include "wire/hello_message.h"
#include "wire/tls.h"

namespace sluice::wire {

namespace {

// One run through the client's side; every step returns false after it has set the error.
class ClientHello {
 public:
  ClientHello(const GrantServer& server, const Grant& grant, const HelloOptions& options)
      : server_(server), grant_(grant), options_(options), deadline_(deadline_in(options.timeout)) {}

  Connect run(const ProgramInfo& program) {
    if (open() && send_hello(program) && answer_challenge() && read_welcome()) {
      result_.connection->set_deadline(std::nullopt);
    } else {
      result_.connection.reset();
    }
    return std::move(result_);
  }

 private:
  bool fail(HelloError error, std::string message) {
    result_.error = error;
    result_.message = std::move(message);
    return false;
  }

  bool open() {
    auto socket = connect_tcp(server_.address, deadline_);
    if (!socket) return fail(HelloError::unreachable, socket.error());
    std::unique_ptr<TlsStream> tls;
    if (grant_.tls) {
      auto stream = tls_connect(socket->get(), deadline_);
      if (!stream) {
        return fail(HelloError::not_sluice, "The server at " + server_.address +
                                                " did not complete the TLS handshake (" + stream.error() +
                                                "). It is no Sluice server, or it runs with SLUICE_TLS=off "
                                                "and the grant was made before that.");
      }
      tls = std::move(*stream);
      if (!certificate_is_pinned(*tls)) return false;
    }
    result_.connection = std::make_unique<Connection>(std::move(*socket), std::move(tls));
    result_.connection->set_deadline(deadline_);
    return true;
  }

  bool certificate_is_pinned(const TlsStream& tls) {
    const auto shown = tls.peer_fingerprint();
    const auto wanted = parse_fingerprint(server_.fingerprint);
    if (shown && wanted && crypto::equal_in_constant_time(*shown, *wanted)) {
      transcript_.certificate_hash = *shown;
      return true;
    }
    return fail(
        HelloError::wrong_certificate,
        "The server at " + server_.address + " shows the certificate " +
            (shown ? format_fingerprint(*shown) : "(none)") + ", the grant names " + server_.fingerprint +
            ". Either its agent was set up anew (then request the GPUs again) or somebody is between.");
  }

  bool send_hello(const ProgramInfo& program) {
    transcript_.client_nonce = crypto::random32();
    transcript_.allocation = grant_.allocation;
    json::Value features = json::Value::array();
    for (const std::string& feature : options_.features) features.push(feature);
    const json::Value body = json::Value::object({
        {"protocol", json::Value::object({{"min", kProtocolMin}, {"max", kProtocolMax}})},
        {"version", version()},
        {"features", features},
        {"allocation", grant_.allocation},
        {"clientNonce", crypto::to_hex(transcript_.client_nonce)},
        {"addressPlace", options_.address_place},
        {"program", json::Value::object({{"command", program.command},
                                         {"user", program.user},
                                         {"host", program.host},
                                         {"pid", program.pid},
                                         {"cwd", program.cwd}})},
    });
    hello_sent_ = SteadyClock::now();
    return send_message(*result_.connection, HelloMessage::hello, body) || closed();
  }

  bool answer_challenge() {
    ReceivedMessage received;
    if (!read(HelloMessage::challenge, received)) return false;
    result_.welcome.first_answer =
        std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - hello_sent_);
    const auto protocol = received.body["protocol"].as_uint();
    const auto nonce = crypto::hex32(received.body["serverNonce"].string_or(""));
    if (!protocol || !nonce) return broken();
    if (*protocol < kProtocolMin || *protocol > kProtocolMax) {
      const bool worker_is_newer = *protocol > kProtocolMax;
      return fail(HelloError::version, "The server at " + server_.address + " speaks protocol " +
                                           std::to_string(*protocol) + ", this client " +
                                           std::to_string(kProtocolMin) + " to " +
                                           std::to_string(kProtocolMax) + ". Update Sluice on " +
                                           (worker_is_newer ? "this machine." : "the server."));
    }
    result_.welcome.protocol = static_cast<unsigned>(*protocol);
    transcript_.server_nonce = *nonce;
    const std::string proof = crypto::to_hex(make_proof(grant_.secret, transcript_));
    return send_message(*result_.connection, HelloMessage::proof, json::Value::object({{"proof", proof}})) ||
           closed();
  }

  bool read_welcome() {
    ReceivedMessage received;
    if (!read(HelloMessage::welcome, received)) return false;
    Welcome& welcome = result_.welcome;
    welcome.body = std::move(received.body);
    welcome.session = welcome.body["session"].string_or("");
    welcome.driver_version = welcome.body["driverVersion"].as_int();
    welcome.worker_version = welcome.body["version"].string_or("");
    for (const json::Value& feature : welcome.body["features"].items()) {
      welcome.features.push_back(feature.string_or(""));
    }
    if (welcome.session.empty() || welcome.body["devices"].size() != server_.gpus.size()) return broken();
    return true;
  }

  bool read(HelloMessage wanted, ReceivedMessage& received) {
    received = read_message(*result_.connection, kMaxWelcomeBytes);
    if (received.status == ReadStatus::closed) return closed();
    if (received.status == ReadStatus::not_sluice) {
      return fail(HelloError::not_sluice,
                  "What answers at " + server_.address +
                      " is not a Sluice server. Check the address and the port in the grant.");
    }
    if (received.status != ReadStatus::ok) return broken();
    if (received.message == HelloMessage::refused) {
      result_.code = received.body["code"].string_or("refused");
      return fail(
          result_.code == "version" ? HelloError::version : HelloError::refused,
          received.body["message"].string_or("The server at " + server_.address + " refused the session."));
    }
    return received.message == wanted || broken();
  }

  bool closed() {
    return fail(HelloError::broken, "The server at " + server_.address +
                                        " ended the connection during the hello (" +
                                        result_.connection->failure() + ").");
  }

  bool broken() {
    return fail(HelloError::broken,
                "The server at " + server_.address +
                    " sent a hello that this client does not understand. Update the older side.");
  }

  const GrantServer& server_;
  const Grant& grant_;
  const HelloOptions& options_;
  const Deadline deadline_;
  Transcript transcript_;
  SteadyClock::time_point hello_sent_;
  Connect result_;
};

}  // namespace

Connect connect_and_hello(const GrantServer& server, const Grant& grant, const ProgramInfo& program,
                          const HelloOptions& options) {
  return ClientHello(server, grant, options).run(program);
}

}  // namespace sluice::wire
