#include "client/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "client/coherence.h"
#include "client/contract_host.h"
#include "client/device_snapshot.h"
#include "client/stats.h"
#include "client/visible_devices.h"
#include "common/env.h"
#include "common/log.h"
#include "wire/hello.h"
#include "wire/hello_connect.h"
#include "wire/stripes.h"
#include "wire/tls.h"

namespace sluice::client {
namespace {

// Published once, never destroyed: the program's own exit handlers may still call us.
std::atomic<Session*> published{nullptr};
std::atomic<bool> usable{false};  // cuInit has succeeded here
std::atomic<bool> forked_after_init{false};
// Set when connecting failed: every further try would fail in the same way and say so again.
std::atomic<bool> failed{false};

std::mutex& start_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

void at_exit() {
  Session* session = published.load();
  if (session == nullptr) return;
  uint64_t sent = 0;
  uint64_t received = 0;
  for (auto& channel : session->channels) {
    channel->close();
    sent += channel->bytes_sent();
    received += channel->bytes_received();
  }
  write_stats(sent, received);
}

// The connection stays the parent's. A child of a program that has not called cuInit starts afresh.
void after_fork_in_child() {
  Coherence::forget_in_child();
  Session* session = published.exchange(nullptr);
  if (usable.exchange(false)) forked_after_init.store(true);
  if (session == nullptr) return;
  for (auto& channel : session->channels) channel->close_in_child();
  // The parent's threads are not here and may have held any lock: what they shared is left as it is.
}

constexpr std::chrono::milliseconds kStripeTime{3'000};

void allow_stripes(const std::string& address, const wire::Welcome& welcome, Channel* channel) {
  const auto key = crypto::hex32(welcome.body["stripeKey"].string_or(""));
  if (!key) return;
  channel->set_identity({address, welcome.session, *key});
  const bool encrypted = channel->connection().encrypted();
  const auto open = [address, key = *key, encrypted,
                     session = welcome.session](uint8_t index) -> std::unique_ptr<wire::Connection> {
    auto socket = wire::connect_tcp(address, deadline_in(kStripeTime));
    if (!socket) return nullptr;
    {
      wire::Connection plain(ScopedFd(::fcntl(socket->get(), F_DUPFD_CLOEXEC, 3)), nullptr);
      if (!wire::send_prelude(plain, {session, index, wire::stripe_proof(key, index)})) return nullptr;
    }
    return wire::stripe_connection(std::move(*socket), key, index, encrypted, false);
  };
  channel->allow_stripes(open, welcome.first_answer);
}

// Connects to a server of the grant and adds its devices.
bool connect_server(const wire::Grant& grant, size_t place, const wire::ProgramInfo& program,
                    Session* session, std::vector<std::unique_ptr<Device>>* devices) {
  const wire::GrantServer& server = grant.servers[place];
  wire::HelloOptions options;
  options.features.emplace_back(wire::kStripesFeature);
  options.address_place = place;
  wire::Connect connect = wire::connect_and_hello(server, grant, program, options);
  if (!connect.connection) {
    SLUICE_ERROR("%s", connect.message.c_str());
    return false;
  }
  const int version = static_cast<int>(connect.welcome.driver_version.value_or(0));
  session->driver_version =
      session->driver_version == 0 ? version : std::min(session->driver_version, version);
  auto channel =
      std::make_unique<Channel>(std::move(connect.connection), server.address, connect.welcome.protocol);
  allow_stripes(server.address, connect.welcome, channel.get());
  int ordinal = 0;
  for (const json::Value& value : connect.welcome.body["devices"].items()) {
    auto device = read_device(value);
    if (!device) {
      SLUICE_ERROR("The Sluice server at %s describes its devices in a way that this version cannot read.",
                   server.address.c_str());
      return false;
    }
    device->channel = channel.get();
    device->ordinal_there = ordinal++;
    devices->push_back(std::move(device));
  }
  session->channels.push_back(std::move(channel));
  return true;
}

// Connects to the servers whose GPUs the program sees; to the first when it sees none, because it may still
// ask for the driver's version. The devices are in the order in which the program sees them.
bool connect_servers(const wire::Grant& grant, Session* session) {
  std::vector<std::string> uuids;
  for (const wire::GrantServer& server : grant.servers) {
    for (const wire::GrantGpu& gpu : server.gpus) uuids.push_back(gpu.uuid);
  }
  const std::vector<size_t> visible = visible_devices(env::raw("CUDA_VISIBLE_DEVICES"), uuids);
  const wire::ProgramInfo program = wire::this_program();
  std::vector<std::unique_ptr<Device>> granted(uuids.size());
  size_t first = 0;
  for (size_t place = 0; place < grant.servers.size(); place++) {
    const size_t past = first + grant.servers[place].gpus.size();
    const bool wanted = std::any_of(visible.begin(), visible.end(),
                                    [&](size_t device) { return device >= first && device < past; });
    if (wanted || (visible.empty() && place == 0)) {
      std::vector<std::unique_ptr<Device>> devices;
      if (!connect_server(grant, place, program, session, &devices)) return false;
      std::move(devices.begin(), devices.end(), granted.begin() + static_cast<ptrdiff_t>(first));
    }
    first = past;
  }
  for (const size_t device : visible) session->devices.push_back(std::move(granted[device]));
  return true;
}

bool open_session(Session* session) {
  const auto grant = wire::grant_from_environment();
  if (!grant) {
    SLUICE_ERROR("%s", grant.error().c_str());
    return false;
  }
  if (!grant->has_value()) {
    SLUICE_ERROR(
        "There is no GPU for this program: neither SLUICE_GRANT nor SLUICE_GRANT_FILE is set. "
        "Start it with: sluice run -n 1 -- PROGRAM");
    return false;
  }
  if (!connect_servers(**grant, session)) return false;
  for (size_t i = 0; i < session->devices.size(); i++) {
    Device& device = *session->devices[i];
    session->contexts.mint(&device.primary);
    device.primary->device = static_cast<int>(i);
    device.primary->channel = device.channel;
    device.primary->primary = true;
    device.primary->id = session->next_id.fetch_add(1);
  }
  for (auto& channel : session->channels) channel->start(&session->tasks);
  session->tasks.start(session);
  return true;
}

}  // namespace

CUresult connect_session(Session** session) {
  *session = published.load(std::memory_order_acquire);
  if (*session != nullptr) return CUDA_SUCCESS;
  if (forked_after_init.load()) return CUDA_ERROR_NOT_INITIALIZED;
  if (failed.load()) return CUDA_ERROR_NO_DEVICE;
  const std::lock_guard lock(start_mutex());
  *session = published.load(std::memory_order_acquire);
  if (*session != nullptr) return CUDA_SUCCESS;
  if (failed.load()) return CUDA_ERROR_NO_DEVICE;
  auto opened = std::make_unique<Session>();
  if (!open_session(opened.get())) {
    failed.store(true);  // no thread was started: channels start when every server has answered
    return CUDA_ERROR_NO_DEVICE;
  }
  static const bool registered = [] {
    ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
    return std::atexit(at_exit) == 0;
  }();
  if (!registered) SLUICE_WARN("Calls that are under way when the program ends may be lost.");
  *session = opened.release();
  published.store(*session, std::memory_order_release);
  install_contract();
  return CUDA_SUCCESS;
}

CUresult initialize() {
  Session* session = nullptr;
  if (CUresult error = connect_session(&session)) return error;
  if (session->devices.empty()) return CUDA_ERROR_NO_DEVICE;
  usable.store(true, std::memory_order_release);
  return CUDA_SUCCESS;
}

CUresult current_session(Session** session) {
  if (!usable.load(std::memory_order_acquire)) [[unlikely]]
    return CUDA_ERROR_NOT_INITIALIZED;
  *session = published.load(std::memory_order_acquire);
  return *session ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

}  // namespace sluice::client
