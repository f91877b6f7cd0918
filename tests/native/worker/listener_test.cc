#include "worker/listener.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fstream>

#include "wire/hello_connect.h"
#include "wire/hello_message.h"
#include "wire/stripes.h"
#include "wire/tls.h"
#include "worker/listener_socket.h"
#include "worker/testing_worker.h"

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kMib = 1u << 20;

// A worker whose agent has granted kAllocation.
struct Granted {
  explicit Granted(const TestWorker::Options& options = {}) : worker(options), agent(worker.control_path()) {
    ready = agent.expect("ready");
    agent.send(worker.grant_line());
    EXPECT_EQ(agent.expect("granted")["allocation"].string_or(""), kAllocation);
  }
  void end(const std::string& reason, int grace_ms = 0) {
    agent.send(json::Value::object(
                   {{"type", "end"}, {"allocation", kAllocation}, {"reason", reason}, {"graceMs", grace_ms}})
                   .dump());
  }

  TestWorker worker;
  Agent agent;
  json::Value ready;
};

class ListenerOver : public ::testing::TestWithParam<bool> {};

TEST_P(ListenerOver, ServesASessionFromGrantToEnd) {
  Granted granted({.tls = GetParam()});
  EXPECT_EQ(granted.ready["driverVersion"].as_int(), 13000);
  EXPECT_EQ(granted.ready["address"].string_or(""), granted.worker.address());

  Client client(granted.worker.grant());
  ASSERT_TRUE(client.welcomed()) << client.message();
  EXPECT_EQ(client.welcome().driver_version, 13000);
  const json::Value& device = client.welcome().body["devices"].items().at(0);
  EXPECT_EQ(device["uuid"].string_or(""), kGpu1);
  EXPECT_EQ(device["name"].string_or(""), "Fake 0");
  EXPECT_EQ(device["totalBytes"].as_uint(), 1024 * kMib);

  const json::Value started = granted.agent.expect("session_started")["session"];
  EXPECT_EQ(started["id"].string_or(""), client.welcome().session);
  EXPECT_EQ(started["allocation"].string_or(""), kAllocation);
  EXPECT_EQ(started["client"]["pid"].as_int(), ::getpid());
  EXPECT_NE(started["client"]["command"].string_or("").find("worker_test"), std::string::npos);
  EXPECT_NE(started["client"]["address"].string_or("").find("127.0.0.1:"), std::string::npos);

  EXPECT_EQ(client.call('r', 600 * kMib), 1u);
  EXPECT_EQ(client.call('r', 425 * kMib), 0u);
  const json::Value stats = granted.agent.expect("stats")["sessions"].items().at(0);
  EXPECT_EQ(stats["gpus"].items().at(0)["usedBytes"].as_uint(), 600 * kMib);
  EXPECT_EQ(stats["calls"].as_uint(), 2u);

  client.close();
  const json::Value ended = granted.agent.expect("session_ended");
  EXPECT_EQ(ended["id"].string_or(""), started["id"].string_or("-"));
  EXPECT_EQ(ended["how"].string_or(""), "closed");
  EXPECT_TRUE(ended["detail"].is_null());
  EXPECT_EQ(ended["peakBytes"].as_uint(), 600 * kMib);
}

INSTANTIATE_TEST_SUITE_P(Plain, ListenerOver, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Tls, ListenerOver, ::testing::Values(true));

// A further connection of the session with that proof.
std::unique_ptr<wire::Connection> open_stripe(const TestWorker& worker, const std::string& session,
                                              uint8_t index, const crypto::Bytes32& proof,
                                              const crypto::Bytes32& key, bool tls) {
  auto socket = wire::connect_tcp(worker.address(), deadline_in(5s));
  EXPECT_TRUE(socket) << socket.error();
  {
    wire::Connection plain(ScopedFd(::dup(socket->get())), nullptr);
    EXPECT_TRUE(wire::send_prelude(plain, {session, index, proof}));
  }
  auto connection = wire::stripe_connection(std::move(*socket), key, index, tls, false);
  connection->set_deadline(deadline_in(5s));
  return connection;
}

TEST_P(ListenerOver, AFurtherConnectionReachesItsSession) {
  Granted granted({.tls = GetParam()});
  EXPECT_TRUE(Client(granted.worker.grant()).welcome().body["stripeKey"].is_null()) << "nobody asked for it";
  Client client(granted.worker.grant(), {std::string(wire::kStripesFeature)});
  ASSERT_TRUE(client.welcomed()) << client.message();
  const auto key = crypto::hex32(client.welcome().body["stripeKey"].string_or(""));
  ASSERT_TRUE(key);
  const std::string& session = client.welcome().session;
  for (const uint8_t index : {uint8_t{0}, uint8_t{7}}) {
    const auto stripe =
        open_stripe(granted.worker, session, index, wire::stripe_proof(*key, index), *key, GetParam());
    char letter = 'a';
    ASSERT_TRUE(stripe->write_all(&letter, 1));
    ASSERT_TRUE(stripe->read_exact(&letter, 1)) << stripe->failure();
    EXPECT_EQ(letter, 'a');
  }
  // A proof for another index, another key's, an index beyond the last, a session that is not there.
  const auto refused = [&](const std::string& id, uint8_t index, const crypto::Bytes32& proof) {
    const auto stripe = open_stripe(granted.worker, id, index, proof, *key, GetParam());
    char letter = 'a';
    stripe->write_all(&letter, 1);
    return !stripe->read_exact(&letter, 1);
  };
  EXPECT_TRUE(refused(session, 1, wire::stripe_proof(*key, 2)));
  EXPECT_TRUE(refused(session, 1, wire::stripe_proof(crypto::random32(), 1)));
  EXPECT_TRUE(refused(session, wire::kStripes, wire::stripe_proof(*key, wire::kStripes)));
  EXPECT_TRUE(refused("s-0000000000000000", 1, wire::stripe_proof(*key, 1)));
  EXPECT_EQ(client.call('u'), 0u) << "the session goes on";
}

TEST(Listener, RevocationTellsTheClientAndProvesTheEnd) {
  Granted granted;
  Client client(granted.worker.grant());
  ASSERT_TRUE(client.welcomed());
  const auto before = SteadyClock::now();
  granted.end("An administrator took the GPU back.");
  EXPECT_EQ(client.goodbye(), "An administrator took the GPU back.");
  client.close();
  EXPECT_EQ(granted.agent.expect("session_ended")["how"].string_or(""), "revoked");
  EXPECT_EQ(granted.agent.expect("ended")["allocation"].string_or(""), kAllocation);
  EXPECT_LT(SteadyClock::now() - before, 2s);

  Client late(granted.worker.grant());
  EXPECT_FALSE(late.welcomed());
  EXPECT_NE(late.message().find("is not valid on this server"), std::string::npos) << late.message();
}

TEST(Listener, AClientThatReadsNothingIsEndedInTime) {
  Granted granted;
  Client client(granted.worker.grant());
  ASSERT_TRUE(client.welcomed());
  const std::string session_pid = granted.agent.expect("session_started")["session"]["pid"].dump();
  // The session cannot even run its own end.
  ASSERT_EQ(::kill(std::stoi(session_pid), SIGSTOP), 0);
  const auto before = SteadyClock::now();
  granted.end("Time is up.");
  granted.agent.expect("ended");
  EXPECT_LT(SteadyClock::now() - before, 2s);
  EXPECT_NE(::kill(std::stoi(session_pid), 0), 0);
}

TEST(Listener, DuringAGraceOldSessionsGoOnAndNewOnesAreRefused) {
  Granted granted;
  Client client(granted.worker.grant());
  ASSERT_TRUE(client.welcomed());
  granted.end("Maintenance begins.", 1500);
  Client late(granted.worker.grant());
  EXPECT_FALSE(late.welcomed());
  EXPECT_EQ(late.message(), "Maintenance begins.");
  EXPECT_EQ(client.call('r', kMib), 1u);
  EXPECT_EQ(client.goodbye(), "Maintenance begins.");
  client.close();
  granted.agent.expect("ended");
}

TEST(Listener, AKilledSessionGivesItsMemoryBack) {
  Granted granted;
  Client victim(granted.worker.grant());
  ASSERT_TRUE(victim.welcomed());
  const json::Value first = granted.agent.expect("session_started")["session"];
  Client other(granted.worker.grant());
  ASSERT_TRUE(other.welcomed());
  EXPECT_EQ(victim.call('r', 1024 * kMib), 1u);
  EXPECT_EQ(other.call('r', 1), 0u);
  EXPECT_EQ(first["id"].string_or(""), victim.welcome().session);
  ::kill(static_cast<pid_t>(first["pid"].int_or(0)), SIGKILL);
  const json::Value ended = granted.agent.expect("session_ended");
  EXPECT_EQ(ended["how"].string_or(""), "killed");
  EXPECT_EQ(ended["peakBytes"].as_uint(), 1024 * kMib);
  EXPECT_EQ(other.call('u'), 0u);
  EXPECT_EQ(other.call('r', 1024 * kMib), 1u);
  EXPECT_FALSE(victim.call('u'));
}

TEST(Listener, ACrashTouchesNobodyElse) {
  Granted granted;
  Client victim(granted.worker.grant());
  Client other(granted.worker.grant());
  ASSERT_TRUE(victim.welcomed() && other.welcomed());
  EXPECT_FALSE(victim.call('x'));
  const json::Value ended = granted.agent.expect("session_ended");
  EXPECT_EQ(ended["how"].string_or(""), "crashed");
  EXPECT_FALSE(ended["detail"].is_null());
  EXPECT_EQ(other.call('r', 1), 1u);
}

TEST(Listener, OutlivesItsAgentAndTellsTheNextOneWhatIsThere) {
  TestWorker worker;
  Client client([&] {
    Agent agent(worker.control_path());
    agent.expect("ready");
    agent.send(worker.grant_line());
    agent.expect("granted");
    return worker.grant();
  }());
  ASSERT_TRUE(client.welcomed()) << client.message();
  EXPECT_EQ(client.call('r', kMib), 1u);
  Client second(worker.grant());
  ASSERT_TRUE(second.welcomed());
  second.close();

  Agent next(worker.control_path());
  const json::Value ready = next.expect("ready");
  EXPECT_EQ(ready["grants"].dump(), "[\"alloc-1\"]");
  // The second session may be gone by now; what it did is told in any case.
  EXPECT_EQ(next.expect("session_ended")["id"].string_or(""), second.welcome().session);
  EXPECT_EQ(ready["sessions"].items().at(0)["allocation"].string_or(""), kAllocation);
  next.send(R"({"type":"grants","grants":[]})");
  EXPECT_NE(client.goodbye(), std::nullopt);
  client.close();
  EXPECT_EQ(next.expect("ended")["allocation"].string_or(""), kAllocation);
}

TEST(Listener, RefusesGrantsThatCannotBeServed) {
  Granted granted;
  const std::string key(64, 'a');
  const struct {
    std::string grant;
    const char* problem;
  } cases[] = {
      {R"({"allocation":"a"})", "lacks"},
      {R"({"allocation":"a","storedKey":"zz","gpus":[]})", "lacks"},
      {R"({"allocation":"a","storedKey":")" + key + R"(","gpus":[]})", "names no GPU"},
      {R"({"allocation":"a","storedKey":")" + key + R"(","gpus":[{"uuid":"GPU-9","memoryBytes":null}]})",
       "is not on this server"},
      {R"({"allocation":"a","storedKey":")" + key + R"(","gpus":[{"uuid":")" + kGpu1 +
           R"(","memoryBytes":-1}]})",
       "wrong memory limit"},
      {R"({"allocation":")" + std::string(kAllocation) + R"(","storedKey":")" + key +
           R"(","gpus":[{"uuid":")" + kGpu2 + R"(","memoryBytes":null}]})",
       "already granted"},
  };
  for (const auto& [grant, problem] : cases) {
    granted.agent.send(R"({"type":"grant","grant":)" + grant + "}");
    const std::string message = granted.agent.expect("grant_failed")["message"].string_or("");
    EXPECT_NE(message.find(problem), std::string::npos) << message;
  }
  granted.agent.send("this is no JSON");
  granted.agent.send(R"({"type":"dance"})");
  EXPECT_NE(granted.agent.expect("log")["message"].string_or("").find("dance"), std::string::npos);
  granted.agent.send(R"({"type":"end","allocation":"never-heard-of","reason":"","graceMs":0})");
  EXPECT_EQ(granted.agent.expect("ended")["allocation"].string_or(""), "never-heard-of");
}

TEST(Listener, SaysWhenOnlyOneSideUsesTls) {
  TestWorker tls_worker({.tls = true});
  wire::Grant grant = tls_worker.grant();
  grant.tls = false;
  Client plain(grant);
  EXPECT_NE(plain.message().find("requires TLS"), std::string::npos) << plain.message();

  TestWorker plain_worker;
  grant = plain_worker.grant();
  grant.tls = true;
  grant.servers[0].fingerprint = wire::format_fingerprint(crypto::random32());
  Client encrypted(grant);
  EXPECT_NE(encrypted.message().find("SLUICE_TLS=off"), std::string::npos) << encrypted.message();
}

TEST(Listener, LookingWhetherThePortIsOpenIsNoEvent) {
  Granted granted;
  { const auto probe = wire::connect_tcp(granted.worker.address(), deadline_in(5s)); }
  wire::Grant wrong = granted.worker.grant();
  wrong.secret[0] ^= 1;
  EXPECT_FALSE(Client(wrong).welcomed());
  EXPECT_NE(granted.agent.expect("refused")["reason"].string_or("").find("is not valid"), std::string::npos);
}

TEST(Listener, AWholeGpuIsLimitedByWhatItHas) {
  TestWorker worker;
  Agent agent(worker.control_path());
  agent.expect("ready");
  const std::string key = crypto::to_hex(wire::stored_key(worker.grant().secret));
  agent.send(R"({"type":"grant","grant":{"allocation":"alloc-1","storedKey":")" + key +
             R"(","gpus":[{"uuid":")" + kGpu2 + R"(","memoryBytes":null}]}})");
  agent.expect("granted");
  Client client(worker.grant());
  ASSERT_TRUE(client.welcomed()) << client.message();
  const json::Value& device = client.welcome().body["devices"].items().at(0);
  EXPECT_EQ(device["uuid"].string_or(""), kGpu2);
  EXPECT_EQ(device["name"].string_or(""), "Fake 1");
  EXPECT_EQ(device["totalBytes"].as_uint(), 4096 * kMib);
}

TEST(Listener, SigtermSaysGoodbyeAndExits) {
  Granted granted;
  Client client(granted.worker.grant());
  ASSERT_TRUE(client.welcomed());
  ::kill(granted.worker.pid(), SIGTERM);
  EXPECT_EQ(client.goodbye(), "The Sluice worker on this server was stopped.");
  client.close();
  EXPECT_EQ(granted.agent.expect("session_ended")["how"].string_or(""), "revoked");
  EXPECT_TRUE(granted.agent.expect_end());
  EXPECT_EQ(granted.worker.wait(), 0);
}

TEST(Listener, ShutdownByTheAgentExits) {
  Granted granted;
  granted.agent.send(R"({"type":"shutdown"})");
  EXPECT_TRUE(granted.agent.expect_end());
  EXPECT_EQ(granted.worker.wait(), 0);
}

TEST(Listener, AKilledListenerTakesItsSessionsWithIt) {
  Granted granted;
  Client client(granted.worker.grant());
  ASSERT_TRUE(client.welcomed());
  ::kill(granted.worker.pid(), SIGKILL);
  // The kernel may be faster than the goodbye; the connection ends in any case.
  char bytes[256];
  while (client.connection().read_some(bytes, sizeof bytes) > 0) {
  }
  EXPECT_NE(client.connection().failure(), "");
}

TEST(Listener, ABrokenDriverIsASentenceForAgentAndClient) {
  TestWorker worker({.driver = "/nowhere/libcuda.so.1"});
  Agent agent(worker.control_path());
  const json::Value ready = agent.expect("ready");
  EXPECT_TRUE(ready["driverVersion"].is_null());
  EXPECT_NE(ready["driverError"].string_or("").find("/nowhere/libcuda.so.1"), std::string::npos);
  agent.send(worker.grant_line());
  agent.expect("granted");
  Client client(worker.grant());
  EXPECT_FALSE(client.welcomed());
  EXPECT_NE(client.message().find("/nowhere/libcuda.so.1"), std::string::npos) << client.message();
  EXPECT_NE(agent.expect("refused")["reason"].string_or(""), "");
}

TEST(Listener, ACrashingDriverLeavesTheListenerAlone) {
  ::setenv("FAKE_DRIVER_BROKEN", "crash", 1);
  TestWorker worker;
  ::unsetenv("FAKE_DRIVER_BROKEN");
  Agent agent(worker.control_path());
  EXPECT_NE(agent.expect("ready")["driverError"].string_or("").find("crashed (signal 6)"), std::string::npos);
  agent.send(worker.grant_line());
  agent.expect("granted");
  Client client(worker.grant());
  EXPECT_FALSE(client.welcomed());
  EXPECT_NE(agent.expect("refused")["reason"].string_or("").find("ended during the hello"),
            std::string::npos);
}

TEST(Listener, AnswersNvmlWithoutCountingAsASession) {
  Granted granted;
  Client program(granted.worker.grant());
  ASSERT_TRUE(program.welcomed());
  granted.agent.expect("session_started");
  ASSERT_EQ(program.call('r', 7 * kMib), 1u);
  Client nvml(granted.worker.grant(), {"nvml"});
  ASSERT_TRUE(nvml.welcomed()) << nvml.message();
  EXPECT_EQ(nvml.welcome().features, std::vector<std::string>{"nvml"});
  wire::send_message(nvml.connection(), wire::HelloMessage::query,
                     json::Value::object({{"query", "memory"}}));
  const auto answer = wire::read_message(nvml.connection(), wire::kMaxWelcomeBytes);
  const json::Value& gpu = answer.body["gpus"].items().at(0);
  EXPECT_EQ(gpu["usedBytes"].as_uint(), 7 * kMib);
  EXPECT_EQ(gpu["totalBytes"].as_uint(), 1024 * kMib);
  EXPECT_EQ(gpu["processes"].items().at(0)["pid"].as_int(), ::getpid());
  EXPECT_EQ(granted.agent.expect("stats")["sessions"].size(), 1u);
  granted.end("Over.");
  EXPECT_EQ(program.goodbye(), "Over.");
  program.close();
  granted.agent.expect("ended");
  char byte = 0;
  EXPECT_EQ(nvml.connection().read_some(&byte, 1), 0);
}

TEST(ListenerSocket, ATakenPortIsNamedWithItsHolder) {
  const auto [held, address] = listening_socket();
  const auto second = worker::listen_on(address);
  ASSERT_FALSE(second);
  const std::string port = address.substr(address.rfind(':') + 1);
  EXPECT_NE(second.error().find("port " + port), std::string::npos) << second.error();
  EXPECT_NE(second.error().find("the process " + std::to_string(::getpid()) + " (worker_test)"),
            std::string::npos)
      << second.error();
  EXPECT_NE(second.error().find("SLUICE_DATA_PORT"), std::string::npos);
}

TEST(ControlSocket, AStaleSocketIsReplacedAndALiveOneIsNot) {
  TemporaryFolder folder;
  const std::string path = folder.file("control");
  {
    auto first = worker::ControlSocket::bind(path);
    ASSERT_TRUE(first) << first.error();
    const auto second = worker::ControlSocket::bind(path);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().find("Another Sluice worker"), std::string::npos);
  }
  EXPECT_TRUE(worker::ControlSocket::bind(path));
  EXPECT_FALSE(worker::ControlSocket::bind(std::string(200, 'x')));
}

}  // namespace
}  // namespace sluice::testing
