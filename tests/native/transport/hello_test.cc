#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <thread>

#include "transport/testing.h"
#include "wire/hello_message.h"
#include "wire/hello_server.h"

namespace sluice::wire {
namespace {

using testing::kAllocation;
using namespace std::chrono_literals;

const ProgramInfo kProgram{
    .command = "train --fast", .user = "ada", .host = "desk", .cwd = "/home/ada", .pid = 42};

// Serves one connection on a thread.
class Server {
 public:
  explicit Server(std::function<void(Connection&)> serve, const TlsServer* tls = nullptr) {
    auto [listener, address] = testing::listening_socket();
    address_ = address;
    thread_ = std::thread([listener = std::move(listener), serve = std::move(serve), tls] {
      ScopedFd socket(::accept(listener.get(), nullptr, nullptr));
      std::unique_ptr<TlsStream> stream;
      if (tls) {
        auto accepted = tls->accept(socket.get(), deadline_in(5s));
        if (!accepted) return;
        stream = std::move(*accepted);
      }
      Connection connection(std::move(socket), std::move(stream));
      connection.set_deadline(deadline_in(5s));
      serve(connection);
    });
  }
  ~Server() { thread_.join(); }
  const std::string& address() const { return address_; }

 private:
  std::string address_;
  std::thread thread_;
};

KeyLookup key_of(const Grant& grant) {
  return [key = stored_key(grant.secret)](const std::string& allocation) {
    return allocation == kAllocation ? std::optional(key) : std::nullopt;
  };
}

json::Value welcome_body() {
  return *json::parse(R"({"session":"s-1","protocol":1,"version":"0.1.0","features":[],"driverVersion":13000,
                         "devices":[{"uuid":"GPU-00000000-0000-0000-0000-000000000001"}]})");
}

TEST(Hello, WelcomesWhoKnowsTheSecret) {
  testing::TemporaryFolder folder;
  testing::write_certificate(folder);
  const auto tls = testing::load_tls(folder);
  for (const TlsServer* over :
       {static_cast<const TlsServer*>(nullptr), static_cast<const TlsServer*>(tls.get())}) {
    Grant grant = testing::make_grant("", over ? format_fingerprint(tls->fingerprint()) : "");
    Result<HelloRequest> request = Failure{""};
    Connect connect;
    {
      Server server(
          [&](Connection& connection) {
            request = authenticate(connection, over ? over->fingerprint() : crypto::Bytes32{}, key_of(grant));
            send_message(connection, HelloMessage::welcome, welcome_body());
          },
          over);
      grant.servers[0].address = server.address();
      connect = connect_and_hello(grant.servers[0], grant, kProgram, {.features = {"nvml"}});
    }
    ASSERT_TRUE(connect.connection) << connect.message;
    EXPECT_EQ(connect.welcome.session, "s-1");
    EXPECT_EQ(connect.welcome.driver_version, 13000);
    EXPECT_EQ(connect.connection->encrypted(), over != nullptr);
    ASSERT_TRUE(request) << request.error();
    EXPECT_EQ(request->allocation, kAllocation);
    EXPECT_EQ(request->program.command, kProgram.command);
    EXPECT_EQ(request->program.pid, 42);
    EXPECT_TRUE(request->has_feature(kNvmlFeature));
  }
}

TEST(Hello, WrongSecretAndUnknownAllocationReadTheSame) {
  for (const bool known : {true, false}) {
    Grant grant = testing::make_grant("", "");
    Result<HelloRequest> request = Failure{""};
    Connect connect;
    {
      Server server([&](Connection& connection) {
        request = authenticate(
            connection, {}, known ? key_of(grant) : [](const std::string&) { return std::nullopt; });
      });
      Grant wrong = grant;
      wrong.servers[0].address = server.address();
      if (known) wrong.secret[31] ^= 1;
      connect = connect_and_hello(wrong.servers[0], wrong, kProgram);
    }
    EXPECT_FALSE(request);
    EXPECT_FALSE(connect.connection);
    EXPECT_EQ(connect.error, HelloError::refused);
    EXPECT_EQ(connect.code, "invalid_allocation");
    EXPECT_EQ(connect.message, invalid_allocation_message(kAllocation));
  }
}

TEST(Hello, AReplayedProofIsWorthless) {
  const Grant grant = testing::make_grant("", "");
  const crypto::Bytes32 nonce = crypto::random32();
  const json::Value hello = json::Value::object({{"protocol", json::Value::object({{"min", 1}, {"max", 1}})},
                                                 {"allocation", kAllocation},
                                                 {"clientNonce", crypto::to_hex(nonce)}});
  json::Value proof;
  for (const bool replay : {false, true}) {
    auto [client, server] = testing::connection_pair(nullptr);
    std::thread other([&, &connection = *server] {
      EXPECT_EQ(static_cast<bool>(authenticate(connection, {}, key_of(grant))), !replay);
    });
    send_message(*client, HelloMessage::hello, hello);
    const auto challenge = read_message(*client, kMaxWelcomeBytes);
    if (!replay) {
      const Transcript transcript{
          nonce, *crypto::hex32(challenge.body["serverNonce"].string_or("")), kAllocation, {}};
      proof = json::Value::object({{"proof", crypto::to_hex(make_proof(grant.secret, transcript))}});
    }
    send_message(*client, HelloMessage::proof, proof);
    other.join();
  }
}

TEST(Hello, AProofIsBoundToEveryPartOfTheTranscript) {
  const crypto::Bytes32 secret = crypto::random32();
  const crypto::Bytes32 key = stored_key(secret);
  const Transcript transcript{crypto::random32(), crypto::random32(), "a1", crypto::random32()};
  const crypto::Bytes32 proof = make_proof(secret, transcript);
  EXPECT_TRUE(proof_is_valid(proof, key, transcript));
  for (int part = 0; part < 4; part++) {
    Transcript other = transcript;
    if (part == 0) other.client_nonce[0] ^= 1;
    if (part == 1) other.server_nonce[0] ^= 1;
    if (part == 2) other.allocation = "a2";
    if (part == 3) other.certificate_hash[0] ^= 1;
    EXPECT_FALSE(proof_is_valid(proof, key, other)) << part;
  }
  EXPECT_NE(proof, secret);
}

TEST(Hello, VersionsThatDoNotMeetNameTheSideToUpdate) {
  const struct {
    unsigned min, max;
    const char* advice;
  } cases[] = {{0, 0, "Update Sluice on the client's machine."}, {7, 9, "Update Sluice on the server."}};
  for (const auto& [min, max, advice] : cases) {
    auto [client, server] = testing::connection_pair(nullptr);
    std::thread other([&connection = *server] {
      EXPECT_FALSE(authenticate(connection, {}, [](const std::string&) { return std::nullopt; }));
    });
    send_message(*client, HelloMessage::hello,
                 json::Value::object({{"protocol", json::Value::object({{"min", min}, {"max", max}})}}));
    const auto refused = read_message(*client, kMaxWelcomeBytes);
    other.join();
    EXPECT_EQ(refused.message, HelloMessage::refused);
    EXPECT_EQ(refused.body["code"].string_or(""), "version");
    EXPECT_NE(refused.body["message"].string_or("").find(advice), std::string::npos);
  }
}

TEST(Hello, AClientRefusesAVersionThatItDoesNotSpeak) {
  Grant grant = testing::make_grant("", "");
  Connect connect;
  {
    Server server([](Connection& connection) {
      read_message(connection, kMaxHelloBytes);
      send_message(
          connection, HelloMessage::challenge,
          json::Value::object({{"protocol", 9}, {"serverNonce", crypto::to_hex(crypto::random32())}}));
    });
    grant.servers[0].address = server.address();
    connect = connect_and_hello(grant.servers[0], grant, kProgram);
  }
  EXPECT_EQ(connect.error, HelloError::version);
  EXPECT_NE(connect.message.find("Update Sluice on this machine."), std::string::npos);
}

TEST(Hello, AnotherCertificateThanTheGrantsIsRefusedBeforeAnythingIsSaid) {
  testing::TemporaryFolder folder;
  testing::write_certificate(folder);
  const auto tls = testing::load_tls(folder);
  Grant grant = testing::make_grant("", format_fingerprint(crypto::random32()));
  Connect connect;
  bool said_something = true;
  {
    Server server(
        [&](Connection& connection) {
          char byte = 0;
          said_something = connection.read_some(&byte, 1) > 0;
        },
        tls.get());
    grant.servers[0].address = server.address();
    connect = connect_and_hello(grant.servers[0], grant, kProgram);
  }
  EXPECT_EQ(connect.error, HelloError::wrong_certificate);
  EXPECT_NE(connect.message.find(format_fingerprint(tls->fingerprint())), std::string::npos)
      << connect.message;
  EXPECT_FALSE(said_something);
}

TEST(Hello, SaysWhyItCannotConnect) {
  auto [closed, closed_address] = testing::listening_socket();
  closed.reset();
  Grant grant = testing::make_grant(closed_address, "");
  auto connect = connect_and_hello(grant.servers[0], grant, kProgram);
  EXPECT_EQ(connect.error, HelloError::unreachable);
  EXPECT_NE(connect.message.find("connection refused"), std::string::npos) << connect.message;
  EXPECT_NE(connect.message.find(closed_address), std::string::npos);

  const auto [silent, silent_address] = testing::listening_socket();
  grant.servers[0].address = silent_address;
  connect = connect_and_hello(grant.servers[0], grant, kProgram, {.features = {}, .timeout = 50ms});
  EXPECT_EQ(connect.error, HelloError::broken);
  EXPECT_NE(connect.message.find("does not answer"), std::string::npos) << connect.message;

  grant.servers[0].address = "nonsense";
  connect = connect_and_hello(grant.servers[0], grant, kProgram);
  EXPECT_NE(connect.message.find("is no address"), std::string::npos);
}

TEST(Hello, AnotherKindOfServerIsNamed) {
  for (const bool with_tls : {false, true}) {
    Grant grant = testing::make_grant("", with_tls ? format_fingerprint(crypto::random32()) : "");
    Connect connect;
    {
      Server server([](Connection& connection) {
        connection.write_all("HTTP/1.1 400 Bad Request\r\n\r\n", 28);
        char buffer[4096];
        connection.read_some(buffer, sizeof buffer);
      });
      grant.servers[0].address = server.address();
      connect = connect_and_hello(grant.servers[0], grant, kProgram);
    }
    EXPECT_EQ(connect.error, HelloError::not_sluice);
    EXPECT_NE(connect.message.find(with_tls ? "TLS handshake" : "not a Sluice server"), std::string::npos)
        << connect.message;
  }
}

// The bytes of a client's hello, as it sends them.
std::string hello_bytes() {
  auto [client, server] = testing::connection_pair(nullptr);
  send_message(*client, HelloMessage::hello,
               json::Value::object({{"protocol", json::Value::object({{"min", 1}, {"max", 1}})},
                                    {"allocation", kAllocation},
                                    {"clientNonce", crypto::to_hex(crypto::random32())}}));
  client->finish_writing();
  std::string bytes(4096, '\0');
  size_t size = 0;
  for (ssize_t got = 0; (got = server->read_some(bytes.data() + size, bytes.size() - size)) > 0;) {
    size += static_cast<size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

Result<HelloRequest> serve_bytes(const std::string& bytes) {
  auto [client, server] = testing::connection_pair(nullptr);
  server->set_deadline(deadline_in(5s));
  client->write_all(bytes.data(), bytes.size());
  client->finish_writing();
  return authenticate(*server, {}, key_of(testing::make_grant("", "")));
}

TEST(Hello, EveryTruncationIsRefused) {
  const std::string bytes = hello_bytes();
  for (size_t length = 0; length <= bytes.size(); length++)
    EXPECT_FALSE(serve_bytes(bytes.substr(0, length)));
}

TEST(Hello, EveryChangedByteIsRefused) {
  const std::string bytes = hello_bytes();
  for (size_t at = 0; at < bytes.size(); at++) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    EXPECT_FALSE(serve_bytes(changed));
  }
}

TEST(Hello, TooLongAHelloIsNotRead) {
  std::string bytes = hello_bytes().substr(0, 12);
  for (const uint32_t length : {uint32_t{kMaxHelloBytes + 1}, uint32_t{0x7FFFFFFF}, uint32_t{0xFFFFFFFF}}) {
    for (unsigned i = 0; i < 4; i++) bytes[8 + i] = static_cast<char>(length >> (8 * i));
    EXPECT_EQ(serve_bytes(bytes).error(), "the hello is longer than 16384 bytes");
  }
}

TEST(Hello, KnowsItsOwnProgram) {
  const ProgramInfo program = this_program();
  EXPECT_NE(program.command.find("transport_test"), std::string::npos);
  EXPECT_NE(program.user, "");
  EXPECT_NE(program.host, "");
  EXPECT_EQ(program.pid, ::getpid());
}

}  // namespace
}  // namespace sluice::wire
