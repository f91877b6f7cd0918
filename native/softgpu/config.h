// What the software GPU is told by its environment: which devices there are and where their shared state
// lives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/cuda_types.h"

namespace sluice::softgpu {

constexpr int kMaxDevices = 16;
constexpr int kDriverVersion = 13000;  // as cuDriverGetVersion reports it
constexpr const char* kDeviceName = "Sluice Software GPU";

struct DeviceConfig {
  uint64_t memory_bytes = uint64_t{8} << 30;
  int cc_major = 10;
  int cc_minor = 0;
  int sms = 16;
};

struct Config {
  std::vector<DeviceConfig> devices;
  std::string error;  // a sentence naming the bad part; empty when the text was understood
};

// Parses "2x(memory=8GiB,cc=10.0,sms=16)". The count, the parentheses and each key may be left out; several
// groups are joined with "+". Memory takes MiB, GiB or TiB. An empty text is the default: one device.
Config parse_config(std::string_view text);

// SLUICE_SOFTGPU, parsed once.
const Config& config();

// SLUICE_SOFTGPU_DIR, or /dev/shm/sluice-softgpu-<uid>.
std::string state_directory();

// A UUID made from this machine's id, the folder and the index: the same after every restart, another one for
// another folder.
CUuuid device_uuid(std::string_view directory, int index);

// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as NVML and nvidia-smi write it.
std::string uuid_text(const CUuuid& uuid);

// Position on a PCI bus that no real device uses in practice: domain 0, bus 0xe0 + index, device 0.
constexpr int pci_bus(int index) { return 0xe0 + index; }
std::string pci_bus_id(int index);

}  // namespace sluice::softgpu
