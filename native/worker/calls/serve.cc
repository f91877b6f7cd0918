#include "worker/calls/serve.h"

#include <atomic>

#include "common/crypto.h"
#include "common/json.h"
#include "worker/calls/arriving_stripes.h"
#include "worker/calls/session.h"

namespace sluice::worker {
namespace {

// Never destroyed: threads that wait for the GPU may use it until the process ends.
std::atomic<Session*> serving{nullptr};

// Range of stream priorities; the driver tells it for a current context only.
int greatest_priority(generated::DriverTable& driver, CUdevice device) {
  CUcontext context = nullptr;
  int least = 0;
  int greatest = 0;
  if (driver.cuCtxGetStreamPriorityRange == nullptr || driver.cuDevicePrimaryCtxRetain == nullptr ||
      driver.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
    return 0;
  }
  driver.cuCtxSetCurrent(context);
  if (driver.cuCtxGetStreamPriorityRange(&least, &greatest) != CUDA_SUCCESS) greatest = 0;
  driver.cuCtxSetCurrent(nullptr);
  driver.cuDevicePrimaryCtxRelease_v2(device);
  return greatest;
}

}  // namespace

int serve_calls(SessionContext& context) {
  auto* session = new Session(context);
  serving.store(session);
  return session->run() ? 0 : 1;
}

void send_goodbye(std::string_view reason) {
  if (Session* session = serving.load()) session->send_goodbye(reason);
}

void add_stripe(size_t index, std::unique_ptr<wire::Connection> connection) {
  arriving_stripes().add(index, std::move(connection));
}

std::string device_snapshot_json(generated::DriverTable& driver, CUdevice device) {
  char name[256] = {};
  CUuuid uuid{};
  size_t total = 0;
  driver.cuDeviceGetName(name, sizeof name - 1, device);
  (driver.cuDeviceGetUuid_v2 ? driver.cuDeviceGetUuid_v2 : driver.cuDeviceGetUuid)(&uuid, device);
  driver.cuDeviceTotalMem_v2(&total, device);
  json::Value attributes = json::Value::object();
  for (int id = 1; id < CU_DEVICE_ATTRIBUTE_MAX; id++) {
    int value = 0;
    if (driver.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(id), device) == CUDA_SUCCESS) {
      attributes.set(std::to_string(id), value);
    }
  }
  json::Value snapshot = json::Value::object();
  snapshot.set("uuid", crypto::to_hex({reinterpret_cast<const uint8_t*>(uuid.bytes), sizeof uuid.bytes}));
  snapshot.set("name", static_cast<const char*>(name));
  snapshot.set("totalBytes", total);
  snapshot.set("greatestStreamPriority", greatest_priority(driver, device));
  snapshot.set("attributes", std::move(attributes));
  return snapshot.dump();
}

}  // namespace sluice::worker
