#include "worker/session_driver.h"

#include "common/crypto.h"

namespace sluice::worker {

namespace {

Failure call_failed(const std::string& path, const char* call, CUresult error) {
  return {"The CUDA driver " + path + " does not work on this server: " + call + " returned error " +
          std::to_string(error) + "."};
}

}  // namespace

std::string format_uuid(const CUuuid& uuid) {
  const std::string hex = crypto::to_hex({reinterpret_cast<const uint8_t*>(uuid.bytes), sizeof uuid.bytes});
  std::string text = "GPU-";
  for (size_t i = 0; i < hex.size(); i++) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    text += hex[i];
  }
  return text;
}

Result<SessionDriver> SessionDriver::open(const std::string& path) {
  SessionDriver driver;
  generated::DriverTable& table = *driver.table_;
  std::string error;
  // Never closed: the driver lives as long as the process.
  if (!generated::load_driver(path.c_str(), &table, &error)) return Failure{error};
  if (const CUresult result = table.cuInit(0)) return call_failed(path, "cuInit", result);
  const auto uuid_of = table.cuDeviceGetUuid_v2 ? table.cuDeviceGetUuid_v2 : table.cuDeviceGetUuid;
  if (!table.cuDriverGetVersion || !table.cuDeviceGetCount || !uuid_of || !table.cuDeviceTotalMem_v2) {
    return Failure{"The CUDA driver " + path +
                   " is older than Sluice can use. Update the driver on this server."};
  }
  if (const CUresult result = table.cuDriverGetVersion(&driver.version_)) {
    return call_failed(path, "cuDriverGetVersion", result);
  }
  int count = 0;
  if (const CUresult result = table.cuDeviceGetCount(&count))
    return call_failed(path, "cuDeviceGetCount", result);
  for (int ordinal = 0; ordinal < count; ordinal++) {
    DriverDevice device;
    CUuuid uuid{};
    size_t total = 0;
    if (const CUresult result = table.cuDeviceGet(&device.device, ordinal))
      return call_failed(path, "cuDeviceGet", result);
    if (const CUresult result = uuid_of(&uuid, device.device))
      return call_failed(path, "cuDeviceGetUuid", result);
    if (const CUresult result = table.cuDeviceTotalMem_v2(&total, device.device)) {
      return call_failed(path, "cuDeviceTotalMem", result);
    }
    device.uuid = format_uuid(uuid);
    device.total_bytes = total;
    driver.devices_.push_back(std::move(device));
  }
  return driver;
}

json::Value SessionDriver::snapshot(const DriverDevice& device, const CallServer& calls) {
  auto snapshot = json::parse(calls.device_snapshot(*table_, device.device)).value_or(json::Value::object());
  snapshot.set("uuid", device.uuid);
  snapshot.set("totalBytes", device.total_bytes);
  return snapshot;
}

}  // namespace sluice::worker
