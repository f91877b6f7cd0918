#include "worker/session_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "common/log.h"
#include "common/version.h"
#include "wire/hello_message.h"
#include "wire/hello_server.h"
#include "wire/stripes.h"
#include "worker/address_room.h"
#include "worker/image_cache.h"
#include "worker/server_nvml.h"
#include "worker/session_driver.h"
#include "worker/session_nvml.h"

namespace sluice::worker {

namespace {

// For the client to read the goodbye and close; the listener kills at one second.
constexpr std::chrono::milliseconds kGoodbyeTime{400};
// The listener answers from its loop at once; this only ends a session whose listener hangs.
constexpr std::chrono::milliseconds kListenerTime{5'000};

class SessionProcess {
 public:
  explicit SessionProcess(SessionStart start) : start_(std::move(start)) {}

  [[noreturn]] void run() {
    if (open() && authenticate() && ask_listener()) {
      request_.has_feature(wire::kNvmlFeature) ? serve_nvml() : serve_calls();
    }
    ::_exit(kExitRefused);
  }

 private:
  bool refuse(std::string_view code, const std::string& message) {
    wire::send_refusal(*connection_, code, message);
    return give_up(message);
  }

  bool give_up(const std::string& reason) {
    start_.channel.send(json::Value::object({{"type", "refused"}, {"reason", reason}}));
    return false;
  }

  bool open() {
    const Deadline deadline = deadline_in(start_.hello_time);
    const auto first = first_byte(deadline);
    // Who connects and leaves without a word looks whether the port is open: nothing to report.
    if (!first) return false;
    if (*first == wire::kPreludeFirstByte) return pass_on(deadline);
    std::unique_ptr<wire::TlsStream> tls;
    const bool plain = start_.tls && *first == wire::kHelloFirstByte;
    if (start_.tls && !plain) {
      auto stream = start_.tls->accept(start_.socket.get(), deadline);
      if (!stream) return give_up("the TLS handshake failed: " + stream.error());
      tls = std::move(*stream);
    }
    connection_ = std::make_unique<wire::Connection>(std::move(start_.socket), std::move(tls));
    connection_->set_deadline(deadline);
    // A hello without TLS deserves a sentence instead of an alert.
    if (plain) {
      return refuse("tls_required",
                    "This server requires TLS, and the grant says that it is off. Request the GPUs again.");
    }
    return true;
  }

  // The first byte that the client sends, left where it is; nothing when none comes.
  std::optional<char> first_byte(const Deadline& deadline) const {
    pollfd wait{start_.socket.get(), POLLIN, 0};
    char byte = 0;
    if (::poll(&wait, 1, poll_timeout_ms(deadline)) <= 0) return std::nullopt;
    if (::recv(start_.socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1) return std::nullopt;
    return byte;
  }

  // A further connection of a running session: its process has the key to judge it. Ends this one.
  bool pass_on(const Deadline& deadline) {
    wire::Connection connection(std::move(start_.socket), nullptr);
    connection.set_deadline(deadline);
    const auto prelude = wire::read_prelude(connection);
    if (!prelude) return give_up("the peer does not speak Sluice's protocol");
    start_.channel.send(json::Value::object({{"type", "stripe"},
                                             {"session", prelude->session},
                                             {"index", static_cast<int>(prelude->index)},
                                             {"proof", crypto::to_hex(prelude->proof)}}),
                        connection.fd());
    return false;
  }

  void take_stripe(const json::Value& message, ScopedFd socket) {
    const auto index = static_cast<uint8_t>(message["index"].uint_or(wire::kStripes));
    const auto proof = crypto::hex32(message["proof"].string_or(""));
    const bool from_peer = index >= wire::kFirstPeer && index < wire::kFirstPeer + wire::kPeers;
    if ((index >= wire::kStripes && !from_peer) || !proof || !stripe_key_) return;
    const crypto::Bytes32 key = from_peer ? wire::peer_key(*stripe_key_, index) : *stripe_key_;
    if (!crypto::equal_in_constant_time(*proof, wire::stripe_proof(key, index))) return;
    auto connection = wire::stripe_connection(std::move(socket), key, index, connection_->encrypted(), true);
    if (connection) start_.calls.add_stripe(index, std::move(connection));
  }

  bool authenticate() {
    const crypto::Bytes32 certificate_hash = start_.tls ? start_.tls->fingerprint() : crypto::Bytes32{};
    auto request = wire::authenticate(*connection_, certificate_hash, [this](const std::string& allocation) {
      const WorkerGrant* grant = start_.find_grant(allocation);
      return grant ? std::optional(grant->stored_key) : std::nullopt;
    });
    if (!request) return give_up(request.error());
    request_ = std::move(*request);
    grant_ = *start_.find_grant(request_.allocation);
    return true;
  }

  // The listener admits the session: the allocation may have ended since the fork.
  bool ask_listener() {
    const wire::ProgramInfo& program = request_.program;
    const bool nvml = request_.has_feature(wire::kNvmlFeature);
    start_.channel.send(json::Value::object({{"type", "authenticated"},
                                             {"allocation", request_.allocation},
                                             {"kind", nvml ? "nvml" : "session"},
                                             {"program", json::Value::object({{"command", program.command},
                                                                              {"user", program.user},
                                                                              {"host", program.host},
                                                                              {"pid", program.pid}})}}));
    const auto answer = start_.channel.receive(deadline_in(kListenerTime));
    if (!answer || (*answer)["type"].string_or("") != "go") {
      return refuse(answer ? (*answer)["code"].string_or("ended") : "internal",
                    answer
                        ? (*answer)["message"].string_or((*answer)["reason"].string_or("The session ended."))
                        : "The server did not admit the session in time.");
    }
    slot_ = (*answer)["slot"].uint_or(0);
    session_ = (*answer)["session"].string_or("");
    return true;
  }

  json::Value welcome(json::Value driver_version, json::Value devices,
                      std::vector<std::string> features) const {
    json::Value spoken = json::Value::array();
    for (const std::string& feature : features) spoken.push(feature);
    return json::Value::object({{"session", session_},
                                {"protocol", request_.protocol},
                                {"version", version()},
                                {"features", spoken},
                                {"driverVersion", std::move(driver_version)},
                                {"devices", std::move(devices)}});
  }

  bool send_welcome(const json::Value& body) {
    if (!wire::send_message(*connection_, wire::HelloMessage::welcome, body)) {
      return give_up("the client went away before it was welcomed");
    }
    connection_->set_deadline(std::nullopt);
    start_.channel.send(json::Value::object({{"type", "started"}}));
    return true;
  }

  void serve_nvml() {
    if (start_.probe["error"].as_string()) {
      refuse("driver", start_.probe["error"].string_or(""));
      return;
    }
    json::Value devices = json::Value::array();
    for (const WorkerGpu& gpu : grant_.gpus) {
      const auto& known = start_.probe["devices"].items();
      const auto found = std::find_if(known.begin(), known.end(), [&](const json::Value& device) {
        return device["uuid"].string_or("") == gpu.uuid;
      });
      if (found == known.end()) {
        refuse("gpu_missing", gpu_missing(gpu.uuid));
        return;
      }
      json::Value device = *found;
      const uint64_t total = device["totalBytes"].uint_or(0);
      device.set("totalBytes", std::min(gpu.memory_bytes.value_or(total), total));
      devices.push(std::move(device));
    }
    const ServerNvml nvml(start_.driver_path);
    json::Value body = welcome(start_.probe["driverVersion"], devices, {std::string(wire::kNvmlFeature)});
    if (const std::string release = nvml.driver_release(); !release.empty())
      body.set("driverRelease", release);
    const ImageCacheUse cache = image_cache_use(start_.cache_dir);
    body.set("imageCache", json::Value::object({{"images", cache.images},
                                                {"bytes", cache.bytes},
                                                {"limitBytes", image_cache_limit()},
                                                {"kept", !start_.cache_dir.empty()}}));
    if (!send_welcome(body)) return;
    std::thread(&SessionProcess::watch_channel, this, nullptr).detach();
    begin_serving();
    answer_nvml_queries(*connection_, grant_, devices, request_.program.host, nvml);
    finish(kExitClosed);
  }

  void serve_calls() {
    leave_addresses_to_others(request_.address_place);
    auto driver = SessionDriver::open(start_.driver_path);
    if (!driver) {
      refuse("driver", driver.error());
      return;
    }
    std::vector<GrantedDevice> devices;
    std::vector<uint64_t> limits;
    json::Value described = json::Value::array();
    for (const WorkerGpu& gpu : grant_.gpus) {
      const auto& present = driver->devices();
      const auto found = std::find_if(present.begin(), present.end(),
                                      [&](const DriverDevice& device) { return device.uuid == gpu.uuid; });
      if (found == present.end()) {
        refuse("gpu_missing", gpu_missing(gpu.uuid));
        return;
      }
      const uint64_t granted = std::min(gpu.memory_bytes.value_or(found->total_bytes), found->total_bytes);
      devices.push_back({found->device, gpu.uuid, granted, !gpu.memory_bytes});
      limits.push_back(granted);
      described.push(describe(*driver, *found).set("totalBytes", granted));
    }
    SlotAccounting memory(grant_.memory, slot_, std::move(limits));
    std::vector<std::string> features;
    if (request_.has_feature(wire::kStripesFeature) && start_.calls.add_stripe != nullptr) {
      features.emplace_back(wire::kStripesFeature);
      stripe_key_ = crypto::random32();
    }
    SessionContext context{.connection = *connection_,
                           .protocol = request_.protocol,
                           .features = std::move(features),
                           .session = session_,
                           .allocation = request_.allocation,
                           .devices = std::move(devices),
                           .memory = memory,
                           .counters = grant_.memory->slot(slot_).counters,
                           .driver = driver->table(),
                           .cache_dir = start_.cache_dir};
    json::Value body = welcome(driver->version(), described, context.features);
    if (stripe_key_) body.set("stripeKey", crypto::to_hex(*stripe_key_));
    if (!send_welcome(body)) return;
    std::thread(&SessionProcess::watch_channel, this, start_.calls.send_goodbye).detach();
    begin_serving();
    finish(start_.calls.serve(context));
  }

  // What the probe found, which spares every session from asking the driver for all attributes again.
  json::Value describe(SessionDriver& driver, const DriverDevice& device) {
    for (const json::Value& known : start_.probe["devices"].items()) {
      if (known["uuid"].string_or("") == device.uuid &&
          start_.probe["driverVersion"].as_int() == driver.version()) {
        return known;
      }
    }
    return driver.snapshot(device, start_.calls);
  }

  static std::string gpu_missing(const std::string& uuid) {
    return "The GPU " + uuid + " of this allocation is no longer on the server. Request GPUs again.";
  }

  // Runs beside the serving thread until the listener ends the session.
  void watch_channel(std::function<void(std::string_view)> goodbye) {
    std::string reason = "The Sluice worker on this server has died.";
    for (;;) {
      ScopedFd socket;
      const auto message = start_.channel.receive(std::nullopt, &socket);
      if (!message) break;  // the kernel ends this process with its listener, at the latest
      if ((*message)["type"].string_or("") == "stripe" && socket.valid()) {
        take_stripe(*message, std::move(socket));
        continue;
      }
      if ((*message)["type"].string_or("") != "end") continue;
      reason = (*message)["reason"].string_or("The allocation has ended.");
      break;
    }
    std::unique_lock lock(mutex_);
    ending_ = true;
    // Before the client is served there is nothing that could carry a goodbye to it.
    changed_.wait(lock, [this] { return serving_ || served_; });
    lock.unlock();
    if (goodbye) say_goodbye(goodbye, reason);
    connection_->finish_writing();
    lock.lock();
    changed_.wait_for(lock, kGoodbyeTime, [this] { return served_; });
    ::_exit(kExitEnded);
  }

  // Serving has only just begun, perhaps: until it can carry a goodbye, nothing is written.
  void say_goodbye(const std::function<void(std::string_view)>& goodbye, const std::string& reason) {
    const uint64_t before = connection_->bytes_written();
    const auto end = SteadyClock::now() + kGoodbyeTime;
    do {
      goodbye(reason);
      std::this_thread::yield();
    } while (connection_->bytes_written() == before && connection_->failure().empty() &&
             SteadyClock::now() < end);
  }

  void begin_serving() {
    const std::lock_guard lock(mutex_);
    serving_ = true;
    changed_.notify_all();
  }

  // Ends the process, unless it is being ended: then the goodbye has to get out first.
  [[noreturn]] void finish(int status) {
    std::unique_lock lock(mutex_);
    served_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !ending_; });
    ::_exit(status);
  }

  SessionStart start_;
  std::unique_ptr<wire::Connection> connection_;
  wire::HelloRequest request_;
  WorkerGrant grant_;
  size_t slot_ = 0;
  std::string session_;
  std::optional<crypto::Bytes32> stripe_key_;  // set before watch_channel runs
  std::mutex mutex_;
  std::condition_variable changed_;
  bool serving_ = false;
  bool served_ = false;
  bool ending_ = false;
};

}  // namespace

void run_session(SessionStart start) { SessionProcess(std::move(start)).run(); }

}  // namespace sluice::worker
