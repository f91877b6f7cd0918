// The granted GPUs as this process's NVML sees them: facts from the welcome, use asked for when needed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/json.h"
#include "wire/connection.h"
#include "wire/hello_grant.h"

namespace sluice::nvml {

struct GpuProcess {
  int pid;
  uint64_t used_bytes;
};

struct GpuMemory {
  uint64_t total_bytes = 0;
  uint64_t used_bytes = 0;            // by the allocation, all its programs together
  std::vector<GpuProcess> processes;  // the allocation's programs on this machine
};

struct Gpu {
  size_t server = 0;  // index into the grant's servers
  size_t place = 0;   // index into that server's GPUs
  std::string uuid;
  std::string name;
  uint64_t total_bytes = 0;
  std::optional<int> cc_major, cc_minor;
  std::optional<unsigned> pci_domain, pci_bus, pci_device;
};

// Thread-safe. A child made by fork connects anew, so that it never reads its parent's answers.
class Inventory {
 public:
  // Connects to every server of the grant in the environment. A sentence when that fails. Counts how
  // often it was called; GPUs keep their place in the list from the first to the last shutdown.
  std::string initialize();
  // False when it was not initialized.
  bool shutdown();
  bool initialized() const;

  // Valid until the last shutdown.
  const std::vector<Gpu>& gpus() const { return gpus_; }
  // Of the worker's driver, as cuDriverGetVersion gives it, and as NVIDIA names its releases ("580.65.06").
  std::optional<int64_t> driver_version() const { return driver_version_; }
  const std::string& driver_release() const { return driver_release_; }

  // Asks the server. Nothing when the connection is lost or the allocation has ended.
  std::optional<GpuMemory> memory(const Gpu& gpu);
  // What the server's own library says of the GPU, keyed as in worker/server_nvml.h; at most 100 ms old.
  std::optional<json::Value> figures(const Gpu& gpu);

 private:
  std::string connect(size_t server, json::Value* devices);
  std::optional<json::Value> ask(size_t server, std::string_view query);
  // Under the mutex: asks, once more over a new connection when the old one is gone. The answer for the GPU.
  std::optional<json::Value> ask_about(const Gpu& gpu, std::string_view query);

  mutable std::mutex mutex_;
  int users_ = 0;
  int pid_ = 0;
  wire::Grant grant_;
  std::vector<std::unique_ptr<wire::Connection>> connections_;
  std::vector<Gpu> gpus_;
  std::optional<int64_t> driver_version_;
  std::string driver_release_;
  struct Figures {
    SteadyClock::time_point asked;
    json::Value answer;
  };
  std::map<std::string, Figures> figures_;  // by UUID
};

// The one of this process.
Inventory& inventory();

}  // namespace sluice::nvml
