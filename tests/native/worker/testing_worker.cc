#include "worker/testing_worker.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "wire/hello_message.h"
#include "worker/listener.h"
#include "worker/listener_probe.h"
#include "worker/listener_socket.h"

namespace sluice::testing {

namespace {

std::atomic<wire::Connection*> g_serving{nullptr};

int serve(worker::SessionContext& context) {
  g_serving = &context.connection;
  char letter = 0;
  uint64_t argument = 0;
  while (context.connection.read_exact(&letter, 1) &&
         context.connection.read_exact(&argument, sizeof argument)) {
    context.counters.calls++;
    uint64_t answer = 1;
    if (letter == 'r') answer = context.memory.reserve(0, argument);
    if (letter == 'f') context.memory.release(0, argument);
    if (letter == 'u') answer = context.memory.used(0);
    if (letter == 'x') std::raise(SIGSEGV);
    context.connection.write_all(&answer, sizeof answer);
  }
  return 0;
}

void send_goodbye(std::string_view reason) {
  wire::Connection* connection = g_serving;
  if (!connection) return;
  const char letter = 'g';
  const uint64_t length = reason.size();
  const iovec parts[] = {{const_cast<char*>(&letter), 1},
                         {const_cast<uint64_t*>(&length), sizeof length},
                         {const_cast<char*>(reason.data()), reason.size()}};
  connection->write_all(parts);
}

void echo(size_t, std::unique_ptr<wire::Connection> connection) {
  std::thread([connection = std::move(connection)] {
    char letter = 0;
    while (connection->read_exact(&letter, 1) && connection->write_all(&letter, 1)) {
    }
  }).detach();
}

std::string snapshot(generated::DriverTable&, CUdevice device) {
  const json::Value attributes =
      json::Value::object({{"33", 1 + device}, {"34", 0}, {"50", 0}, {"75", 10}, {"76", 0}});
  return json::Value::object({{"name", "Fake " + std::to_string(device)}, {"attributes", attributes}}).dump();
}

[[noreturn]] void run_worker(ScopedFd socket, const std::string& control,
                             std::shared_ptr<wire::TlsServer> tls, const TestWorker::Options& options) {
  // A crash that a test asks for must not fill the report with a sanitizer's.
  std::signal(SIGSEGV, SIG_DFL);
  worker::ListenerSettings settings{
      options.driver, "", std::move(tls), {&snapshot, &serve, &send_goodbye, &echo}, options.hello_time};
  json::Value probe = worker::probe_driver(options.driver, settings.calls);
  auto bound = worker::ControlSocket::bind(control);
  if (!bound) ::_exit(3);
  ::_exit(
      worker::Listener(std::move(settings), std::move(socket), std::move(*bound), std::move(probe)).run());
}

}  // namespace

Agent::Agent(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const Deadline deadline = deadline_in(std::chrono::seconds(20));
  // The worker makes the socket when it is ready; connecting is how its agent learns of it, too.
  while (!socket_.valid() && poll_timeout_ms(deadline) > 0) {
    ScopedFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      socket_ = std::move(socket);
    } else {
      ::poll(nullptr, 0, 5);
    }
  }
}

void Agent::send(const std::string& line) {
  const std::string text = line + "\n";
  ASSERT_EQ(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::optional<json::Value> Agent::next(const Deadline& deadline) {
  for (;;) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      auto message = json::parse(buffer_.substr(0, end));
      EXPECT_TRUE(message) << buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return message;
    }
    pollfd wait{socket_.get(), POLLIN, 0};
    if (::poll(&wait, 1, poll_timeout_ms(deadline)) <= 0) return std::nullopt;
    char bytes[4096];
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (got <= 0) {
      socket_.reset();
      return std::nullopt;
    }
    buffer_.append(bytes, static_cast<size_t>(got));
  }
}

json::Value Agent::expect(const std::string& type, std::chrono::milliseconds within) {
  const Deadline deadline = deadline_in(within);
  while (auto message = next(deadline)) {
    if ((*message)["type"].string_or("") == type) return *message;
  }
  ADD_FAILURE() << "no \"" << type << "\" came";
  return nullptr;
}

bool Agent::expect_end(std::chrono::milliseconds within) {
  const Deadline deadline = deadline_in(within);
  while (next(deadline)) {
  }
  return !socket_.valid();
}

TestWorker::TestWorker(const Options& options) {
  std::shared_ptr<wire::TlsServer> tls;
  if (options.tls) {
    write_certificate(folder_);
    tls = load_tls(folder_);
    fingerprint_ = wire::format_fingerprint(tls->fingerprint());
  }
  auto socket = worker::listen_on("127.0.0.1:0");
  address_ = worker::local_address(socket->get());
  pid_ = ::fork();
  if (pid_ == 0) run_worker(std::move(*socket), control_path(), tls, options);
}

TestWorker::~TestWorker() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

int TestWorker::wait() {
  int status = 0;
  if (pid_ > 0) ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return status;
}

wire::Grant TestWorker::grant(const std::string& allocation) const {
  wire::Grant grant = make_grant(address_, fingerprint_);
  grant.allocation = allocation;
  return grant;
}

std::string TestWorker::grant_line(const std::string& allocation) const {
  const json::Value gpu = json::Value::object({{"uuid", kGpu1}, {"memoryBytes", 1ll << 30}});
  const json::Value grant =
      json::Value::object({{"allocation", allocation},
                           {"storedKey", crypto::to_hex(wire::stored_key(this->grant().secret))},
                           {"gpus", json::Value::array().push(gpu)}});
  return json::Value::object({{"type", "grant"}, {"grant", grant}}).dump();
}

size_t TestWorker::open_descriptors() const {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd")) {
    count++;
  }
  return count;
}

std::string grant_text(const wire::Grant& grant) {
  json::Value servers = json::Value::array();
  for (const wire::GrantServer& server : grant.servers) {
    json::Value gpus = json::Value::array();
    for (const wire::GrantGpu& gpu : server.gpus) {
      gpus.push(json::Value::object({{"uuid", gpu.uuid}, {"memoryMib", gpu.memory_mib}}));
    }
    servers.push(json::Value::object(
        {{"address", server.address}, {"fingerprint", server.fingerprint}, {"gpus", gpus}}));
  }
  return json::Value::object({{"version", 1},
                              {"allocation", grant.allocation},
                              {"secret", crypto::to_hex(grant.secret)},
                              {"tls", grant.tls},
                              {"servers", servers}})
      .dump();
}

Client::Client(const wire::Grant& grant, std::vector<std::string> features)
    : connect_(wire::connect_and_hello(grant.servers[0], grant, wire::this_program(),
                                       {.features = std::move(features)})) {}

std::optional<uint64_t> Client::call(char letter, uint64_t argument) {
  const iovec parts[] = {{&letter, 1}, {&argument, sizeof argument}};
  uint64_t answer = 0;
  if (!connection().write_all(parts) || !connection().read_exact(&answer, sizeof answer)) return std::nullopt;
  return answer;
}

std::optional<std::string> Client::goodbye() {
  char letter = 0;
  uint64_t length = 0;
  if (!connection().read_exact(&letter, 1) || letter != 'g' ||
      !connection().read_exact(&length, sizeof length)) {
    return std::nullopt;
  }
  std::string reason(length, '\0');
  if (!connection().read_exact(reason.data(), length)) return std::nullopt;
  return reason;
}

}  // namespace sluice::testing
