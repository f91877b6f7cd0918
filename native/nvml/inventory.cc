#include "nvml/inventory.h"

#include <unistd.h>

#include <algorithm>

#include "common/log.h"
#include "wire/hello.h"
#include "wire/hello_message.h"

namespace sluice::nvml {

namespace {

// Ids of CUDA's device attributes, the keys in the welcome.
constexpr const char* kPciBus = "33";
constexpr const char* kPciDevice = "34";
constexpr const char* kPciDomain = "50";
constexpr const char* kCcMajor = "75";
constexpr const char* kCcMinor = "76";

constexpr std::chrono::milliseconds kAnswerTime{5'000};
// A monitor asks for one figure after the other; the library that measures has new ones less often.
constexpr std::chrono::milliseconds kFigureAge{100};

std::optional<unsigned> number(const json::Value& value) {
  const auto integer = value.as_uint();
  return integer ? std::optional(static_cast<unsigned>(*integer)) : std::nullopt;
}

Gpu read_gpu(const json::Value& device, size_t server, size_t place) {
  const json::Value& attributes = device["attributes"];
  Gpu gpu;
  gpu.server = server;
  gpu.place = place;
  gpu.uuid = device["uuid"].string_or("");
  gpu.name = device["name"].string_or("");
  gpu.total_bytes = device["totalBytes"].uint_or(0);
  gpu.cc_major = number(attributes[kCcMajor]);
  gpu.cc_minor = number(attributes[kCcMinor]);
  gpu.pci_domain = number(attributes[kPciDomain]);
  gpu.pci_bus = number(attributes[kPciBus]);
  gpu.pci_device = number(attributes[kPciDevice]);
  return gpu;
}

}  // namespace

std::string Inventory::initialize() {
  const std::lock_guard lock(mutex_);
  if (users_ > 0) {
    users_++;
    return "";
  }
  auto grant = wire::grant_from_environment();
  if (!grant) return grant.error();
  if (!*grant)
    return "There is no grant: neither SLUICE_GRANT nor SLUICE_GRANT_FILE is set. Run the program through "
           "\"sluice run\".";
  grant_ = std::move(**grant);
  pid_ = ::getpid();
  gpus_.clear();
  driver_version_.reset();
  driver_release_.clear();
  connections_.clear();
  connections_.resize(grant_.servers.size());
  for (size_t server = 0; server < grant_.servers.size(); server++) {
    json::Value devices;
    std::string error = connect(server, &devices);
    if (!error.empty()) {
      connections_.clear();
      return error;
    }
    for (size_t place = 0; place < devices.size(); place++) {
      gpus_.push_back(read_gpu(devices.items()[place], server, place));
    }
  }
  users_ = 1;
  return "";
}

bool Inventory::shutdown() {
  const std::lock_guard lock(mutex_);
  if (users_ == 0) return false;
  if (--users_ == 0) connections_.clear();
  return true;
}

bool Inventory::initialized() const {
  const std::lock_guard lock(mutex_);
  return users_ > 0;
}

std::string Inventory::connect(size_t server, json::Value* devices) {
  auto connect = wire::connect_and_hello(grant_.servers[server], grant_, wire::this_program(),
                                         {.features = {std::string(wire::kNvmlFeature)}});
  if (!connect.connection) return connect.message;
  connect.connection->set_deadline(std::nullopt);
  connections_[server] = std::move(connect.connection);
  if (!devices) return "";
  // Programs see one driver: the oldest of the servers', which all of them can do.
  const auto version = connect.welcome.driver_version;
  if (version && (!driver_version_ || *version < *driver_version_)) {
    driver_version_ = version;
    driver_release_ = connect.welcome.body["driverRelease"].string_or("");
  }
  *devices = connect.welcome.body["devices"];
  return "";
}

std::optional<json::Value> Inventory::ask(size_t server, std::string_view query) {
  wire::Connection& connection = *connections_[server];
  connection.set_deadline(deadline_in(kAnswerTime));
  if (!wire::send_message(connection, wire::HelloMessage::query, json::Value::object({{"query", query}}))) {
    return std::nullopt;
  }
  auto answer = wire::read_message(connection, wire::kMaxWelcomeBytes);
  if (answer.status != wire::ReadStatus::ok || answer.message != wire::HelloMessage::answer)
    return std::nullopt;
  return std::move(answer.body);
}

std::optional<json::Value> Inventory::ask_about(const Gpu& gpu, std::string_view query) {
  if (pid_ != ::getpid()) {
    for (auto& connection : connections_) connection.reset();
    pid_ = ::getpid();
  }
  auto& connection = connections_[gpu.server];
  auto answer = connection ? ask(gpu.server, query) : std::nullopt;
  if (!answer) {
    // A worker that was started anew serves the same allocation.
    connection.reset();
    const std::string error = connect(gpu.server, nullptr);
    if (!error.empty()) {
      SLUICE_INFO("%s", error.c_str());
      return std::nullopt;
    }
    answer = ask(gpu.server, query);
    if (!answer) return std::nullopt;
  }
  const auto& gpus = (*answer)["gpus"].items();
  return gpu.place < gpus.size() ? std::optional(gpus[gpu.place]) : std::nullopt;
}

std::optional<GpuMemory> Inventory::memory(const Gpu& gpu) {
  const std::lock_guard lock(mutex_);
  const auto answer = ask_about(gpu, "memory");
  if (!answer) return std::nullopt;
  GpuMemory memory;
  memory.total_bytes = (*answer)["totalBytes"].uint_or(0);
  memory.used_bytes = std::min((*answer)["usedBytes"].uint_or(0), memory.total_bytes);
  for (const json::Value& process : (*answer)["processes"].items()) {
    memory.processes.push_back({static_cast<int>(process["pid"].int_or(0)), process["usedBytes"].uint_or(0)});
  }
  return memory;
}

std::optional<json::Value> Inventory::figures(const Gpu& gpu) {
  const std::lock_guard lock(mutex_);
  const auto now = SteadyClock::now();
  const auto known = figures_.find(gpu.uuid);
  if (known != figures_.end() && now - known->second.asked < kFigureAge) return known->second.answer;
  auto answer = ask_about(gpu, "figures");
  if (answer) figures_[gpu.uuid] = {now, *answer};
  return answer;
}

Inventory& inventory() {
  // Never destroyed: programs call NVML from their exit handlers.
  static Inventory* const inventory = new Inventory;
  return *inventory;
}

}  // namespace sluice::nvml
