#include "client/doctor/start_sequence.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "contract/integrity.h"

namespace sluice::doctor {
namespace {

constexpr const char* kRuntime = "6bd5fb6c-5bf4-e74a-8987-d93912fd9df9";
constexpr const char* kHooks = "a094798c-2e74-2e74-93f2-0800200c0a66";
constexpr const char* kTls = "42d85a81-23f6-cb47-8298-f6e78a3aecdc";
constexpr const char* kStorage = "c693336e-1121-df11-a8c3-68f355d89593";
constexpr const char* kChecks = "263e8860-7cd2-6143-92f6-bbd5006dfa7e";
constexpr const char* kIntegrity = "d4082055-bde6-704b-8d34-ba123c66e1f2";
constexpr const char* kIdentity = "21318c60-9714-3248-8ca6-41ff7324c8f2";
constexpr const char* kProbe = "f8cff951-2146-8b4e-b9e2-fb469e7c0dd9";

// Without these a runtime library gives up; see facts on its start.
constexpr std::array kNeeded = {
    "cuInit",           "cuDriverGetVersion", "cuGetExportTable",     "cuGetProcAddress", "cuDeviceGet",
    "cuDeviceGetCount", "cuDeviceGetName",    "cuDeviceGetAttribute", "cuDeviceGetUuid",  "cuDeviceTotalMem"};

// The smallest buffer with which every version starts.
constexpr size_t kHookBytes = 1024;

template <typename Function>
Function slot(Driver& driver, const char* uuid, size_t place) {
  const void* const* table = driver.table(uuid);
  if (table == nullptr) fail(std::string("The driver has no private table ") + uuid + ".");
  return reinterpret_cast<Function>(const_cast<void*>(table[place]));
}

std::string names(Driver& driver) {
  if (driver.symbol("cuGetProcAddress") == nullptr) fail("cuGetProcAddress is not exported (CUDA 11).");
  for (const char* name : kNeeded) driver.find<void (*)()>(name);
  return std::to_string(kNeeded.size()) + " functions that every runtime library needs are found.";
}

std::string tables(Driver& driver) {
  for (const char* uuid : {kRuntime, kHooks, kTls, kStorage, kChecks, kIntegrity, kIdentity}) {
    if (driver.table(uuid) == nullptr) fail(std::string("The driver has no private table ") + uuid + ".");
  }
  if (driver.table(kProbe) != nullptr) fail(std::string("The table ") + kProbe + " must be refused.");
  return "7 private tables are there, and the one that must be refused is.";
}

std::string hooks(Driver& driver) {
  unsigned char* buffer = nullptr;
  size_t bytes = 0;
  slot<void (*)(void**, size_t*)>(driver, kHooks, 2)(reinterpret_cast<void**>(&buffer), &bytes);
  if (buffer == nullptr || bytes < kHookBytes) fail("The tools' buffer has less than 1024 bytes.");
  for (size_t i = 0; i < bytes; i++) {
    if (buffer[i] != 0) fail("The tools' buffer is not zero: a profiler seems to be attached.");
  }
  return "Slots 2 and 6 of the tools' table answer.";
}

std::vector<contract::DeviceIdentity> identities(Driver& driver) {
  int count = 0;
  check(driver.find<decltype(&cuDeviceGetCount)>("cuDeviceGetCount")(&count), "cuDeviceGetCount");
  std::vector<contract::DeviceIdentity> all(static_cast<size_t>(count));
  const auto attribute = driver.find<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  for (int i = 0; i < count; i++) {
    contract::DeviceIdentity& device = all[static_cast<size_t>(i)];
    check(driver.find<decltype(&cuDeviceGetUuid)>("cuDeviceGetUuid")(&device.uuid, i), "cuDeviceGetUuid");
    check(attribute(&device.pci_domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, i), "cuDeviceGetAttribute");
    check(attribute(&device.pci_bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i), "cuDeviceGetAttribute");
    check(attribute(&device.pci_device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, i), "cuDeviceGetAttribute");
  }
  return all;
}

// The answers of a runtime library 11.8, 12.0 to 12.9 and 13.0 are compared with what they must be.
std::string integrity(Driver& driver) {
  using Check = CUresult (*)(uint32_t, uint64_t, uint64_t*);
  const auto ask = slot<Check>(driver, kIntegrity, 1);
  const auto devices = identities(driver);
  int driver_version = 0;
  check(driver.find<decltype(&cuDriverGetVersion)>("cuDriverGetVersion")(&driver_version),
        "cuDriverGetVersion");
  constexpr uint64_t kSeconds = 1'700'000'000;
  int asked = 0;
  for (const uint32_t runtime : {11080u, 12000u, 12040u, 12080u, 12090u, 13000u}) {
    for (uint32_t version = runtime; version < runtime + 3; version++) {
      uint64_t answer[2] = {0, 0};
      uint64_t expected[2] = {0, 0};
      check(ask(version, kSeconds, answer), "The integrity check");
      contract::integrity_answer({.driver_version = static_cast<uint32_t>(driver_version),
                                  .version = version,
                                  .process_id = static_cast<uint32_t>(::getpid()),
                                  .thread_low = static_cast<uint32_t>(::pthread_self()),
                                  .runtime_table = driver.table(kRuntime),
                                  .integrity_table = driver.table(kIntegrity),
                                  .integrity_function = driver.table(kIntegrity)[1],
                                  .unix_seconds = kSeconds},
                                 devices, expected);
      if (std::memcmp(answer, expected, sizeof answer) != 0) {
        fail("The integrity check of runtime " + std::to_string(runtime) +
             " is answered wrongly at version " + std::to_string(version) +
             ": programs would end with error 103.");
      }
      asked++;
    }
  }
  return std::to_string(asked) + " answers of the integrity check are right.";
}

std::string context(Driver& driver) {
  using Put = CUresult (*)(CUcontext, void*, void*, void (*)(CUcontext, void*, void*));
  using Get = CUresult (*)(void**, CUcontext, void*);
  using Delete = CUresult (*)(CUcontext, void*);
  static int key = 0;
  static int stored = 0;
  void* value = nullptr;
  const auto get = slot<Get>(driver, kStorage, 2);
  CUcontext primary{};
  CUcontext inactive{};
  check(slot<CUresult (*)(CUcontext*, CUdevice)>(driver, kRuntime, 2)(&inactive, 0), "CUDART_INTERFACE[2]");
  check(driver.find<decltype(&cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&primary, 0),
        "cuDevicePrimaryCtxRetain");
  if (primary != inactive) fail("CUDART_INTERFACE[2] and cuDevicePrimaryCtxRetain give different contexts.");
  check(driver.find<decltype(&cuCtxSetCurrent)>("cuCtxSetCurrent")(primary), "cuCtxSetCurrent");
  if (get(&value, nullptr, &key) == CUDA_SUCCESS)
    fail("Context-local storage has what nobody has put there.");
  check(slot<Put>(driver, kStorage, 0)(nullptr, &key, &stored, nullptr), "CONTEXT_LOCAL_STORAGE[0]");
  check(get(&value, nullptr, &key), "CONTEXT_LOCAL_STORAGE[2]");
  if (value != &stored) fail("Context-local storage gives another value than was put there.");
  check(slot<Delete>(driver, kStorage, 1)(nullptr, &key), "CONTEXT_LOCAL_STORAGE[1]");
  CUcontext current{};
  check(slot<CUresult (*)(CUcontext*)>(driver, kTls, 2)(&current), "TOOLS_TLS[2]");
  if (current != primary) fail("TOOLS_TLS[2] does not give the current context.");
  uint32_t checked = 1;
  check(
      slot<CUresult (*)(CUcontext, uint32_t*, const void**)>(driver, kChecks, 2)(primary, &checked, nullptr),
      "CONTEXT_CHECKS[2]");
  unsigned long long id = 0;
  check(slot<CUresult (*)(CUcontext, unsigned long long*)>(driver, kIdentity, 4)(primary, &id),
        "context identity [4], which cuBLASLt needs");
  return "Context, context-local storage and context identity work.";
}

}  // namespace

bool run_start_sequence(Steps& steps, Driver& driver) {
  const bool loaded = steps.step("library", [&] {
    driver.load();
    return driver.path();
  });
  if (!loaded) return false;
  steps.step("names", [&] { return names(driver); });
  const bool initialized = steps.step("initialize", [&] {
    check(driver.find<decltype(&cuInit)>("cuInit")(0), "cuInit");
    int version = 0;
    check(driver.find<decltype(&cuDriverGetVersion)>("cuDriverGetVersion")(&version), "cuDriverGetVersion");
    steps.value("driverVersion", json::Value(int64_t{version}));
    return "The driver is of CUDA " + std::to_string(version / 1000) + "." +
           std::to_string(version % 1000 / 10) + ".";
  });
  if (!initialized) return false;
  steps.step("tables", [&] { return tables(driver); });
  steps.step("hooks", [&] { return hooks(driver); });
  steps.step("integrity", [&] { return integrity(driver); });
  return steps.step("context", [&] { return context(driver); });
}

}  // namespace sluice::doctor
