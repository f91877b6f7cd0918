// The client's libnvidia-ml.so.1, loaded as programs load it, against a worker.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "nvml/nvml_types.h"
#include "worker/testing_worker.h"

namespace sluice::testing {
namespace {

constexpr uint64_t kMib = 1u << 20;

class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() : agent_(worker_.control_path()) {
    agent_.expect("ready");
    agent_.send(worker_.grant_line());
    agent_.expect("granted");
    ::setenv("SLUICE_GRANT", grant_text(worker_.grant()).c_str(), 1);
    library_ = ::dlopen(NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << ::dlerror();
  }
  ~NvmlTest() override {
    while (call("nvmlShutdown") == NVML_SUCCESS) {
    }
    ::unsetenv("SLUICE_GRANT");
  }

  template <typename... Arguments>
  nvmlReturn_t call(const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<nvmlReturn_t (*)(Arguments...)>(::dlsym(library_, name));
    EXPECT_NE(function, nullptr) << name;
    return function ? function(arguments...) : NVML_ERROR_FUNCTION_NOT_FOUND;
  }

  nvmlDevice_t device() {
    nvmlDevice_t handle = nullptr;
    EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", 0u, &handle), NVML_SUCCESS);
    return handle;
  }

  TestWorker worker_;
  Agent agent_;
  void* library_ = nullptr;
};

TEST_F(NvmlTest, ShowsTheGrantedGpus) {
  ASSERT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
  unsigned count = 0;
  ASSERT_EQ(call("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
  EXPECT_EQ(count, 1u);
  char text[96];
  EXPECT_EQ(call("nvmlDeviceGetName", device(), text, 96u), NVML_SUCCESS);
  EXPECT_STREQ(text, "Fake 0");
  EXPECT_EQ(call("nvmlDeviceGetUUID", device(), text, 96u), NVML_SUCCESS);
  EXPECT_STREQ(text, kGpu1);
  EXPECT_EQ(call("nvmlDeviceGetUUID", device(), text, 5u), NVML_ERROR_INSUFFICIENT_SIZE);
  int version = 0;
  EXPECT_EQ(call("nvmlSystemGetCudaDriverVersion_v2", &version), NVML_SUCCESS);
  EXPECT_EQ(version, 13000);
  int major = 0;
  int minor = -1;
  EXPECT_EQ(call("nvmlDeviceGetCudaComputeCapability", device(), &major, &minor), NVML_SUCCESS);
  EXPECT_EQ(major, 10);
  EXPECT_EQ(minor, 0);
  nvmlPciInfo_t pci{};
  EXPECT_EQ(call("nvmlDeviceGetPciInfo_v3", device(), &pci), NVML_SUCCESS);
  EXPECT_STREQ(pci.busId, "00000000:01:00.0");
  EXPECT_STREQ(pci.busIdLegacy, "0000:01:00.0");
}

TEST_F(NvmlTest, FindsDevicesByUuidAndBus) {
  ASSERT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
  nvmlDevice_t handle = nullptr;
  EXPECT_EQ(call("nvmlDeviceGetHandleByUUID", kGpu1, &handle), NVML_SUCCESS);
  EXPECT_EQ(handle, device());
  EXPECT_EQ(call("nvmlDeviceGetHandleByUUID", kGpu2, &handle), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "0000:01:00.0", &handle), NVML_SUCCESS);
  EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "0000:02:00.0", &handle), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", 1u, &handle), NVML_ERROR_INVALID_ARGUMENT);
  unsigned index = 9;
  EXPECT_EQ(call("nvmlDeviceGetIndex", device(), &index), NVML_SUCCESS);
  EXPECT_EQ(index, 0u);
}

TEST_F(NvmlTest, MemoryIsTheAllocations) {
  ASSERT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
  Client program(worker_.grant());
  ASSERT_EQ(program.call('r', 100 * kMib), 1u);
  nvmlMemory_t memory{};
  ASSERT_EQ(call("nvmlDeviceGetMemoryInfo", device(), &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, 1024 * kMib);
  EXPECT_EQ(memory.used, 100 * kMib);
  EXPECT_EQ(memory.free, 924 * kMib);
  nvmlMemory_v2_t second{};
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo_v2", device(), &second), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  second.version = sizeof second | 2u << 24;
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo_v2", device(), &second), NVML_SUCCESS);
  EXPECT_EQ(second.used, 100 * kMib);
  unsigned number = 0;
  EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", device(), &number, static_cast<void*>(nullptr)),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(number, 1u);
  nvmlProcessInfo_v2_t process{};
  EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", device(), &number, &process), NVML_SUCCESS);
  EXPECT_EQ(process.pid, static_cast<unsigned>(::getpid()));
  EXPECT_EQ(process.usedGpuMemory, 100 * kMib);
}

TEST_F(NvmlTest, AForkedChildAsksForItself) {
  ASSERT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
  const nvmlDevice_t handle = device();
  const pid_t pid = ::fork();
  nvmlMemory_t memory{};
  const nvmlReturn_t result = call("nvmlDeviceGetMemoryInfo", handle, &memory);
  if (pid == 0) ::_exit(result == NVML_SUCCESS && memory.total == 1024 * kMib ? 0 : 1);
  EXPECT_EQ(result, NVML_SUCCESS);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(NvmlTest, ARevokedAllocationIsALostGpu) {
  ASSERT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
  agent_.send(R"({"type":"end","allocation":"alloc-1","reason":"Over.","graceMs":0})");
  agent_.expect("ended");
  nvmlMemory_t memory{};
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo", device(), &memory), NVML_ERROR_GPU_IS_LOST);
}

TEST_F(NvmlTest, BadArgumentsAndOrderAreErrors) {
  unsigned count = 0;
  EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(call("nvmlShutdown"), NVML_ERROR_UNINITIALIZED);
  ASSERT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
  EXPECT_EQ(call("nvmlInitWithFlags", 0u), NVML_SUCCESS);
  EXPECT_EQ(call("nvmlShutdown"), NVML_SUCCESS);
  EXPECT_EQ(call("nvmlDeviceGetCount_v2", static_cast<unsigned*>(nullptr)), NVML_ERROR_INVALID_ARGUMENT);
  const auto nonsense = reinterpret_cast<nvmlDevice_t>(uintptr_t{0xDEADBEEF});
  nvmlMemory_t memory{};
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo", nonsense, &memory), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo", nvmlDevice_t{nullptr}, &memory), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, WithoutAGrantItSaysSo) {
  ::unsetenv("SLUICE_GRANT");
  EXPECT_EQ(call("nvmlInit_v2"), NVML_ERROR_DRIVER_NOT_LOADED);
}

TEST_F(NvmlTest, EveryOtherFunctionIsThereAndNotSupported) {
  std::ifstream names(NVML_NAMES);
  std::string line;
  int seen = 0;
  while (std::getline(names, line)) {
    const size_t open = line.find("(nvml");
    if (!line.starts_with("SLUICE_UNSUPPORTED") || open == std::string::npos) continue;
    const std::string name = line.substr(open + 1, line.size() - open - 2);
    EXPECT_EQ(call(name.c_str(), nullptr, nullptr), NVML_ERROR_NOT_SUPPORTED) << name;
    seen++;
  }
  EXPECT_GT(seen, 300);
}

TEST_F(NvmlTest, FiguresThatNobodyMeasuresAreNotSupported) {
  ASSERT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
  nvmlUtilization_t utilization{};
  unsigned value = 0;
  EXPECT_EQ(call("nvmlDeviceGetUtilizationRates", device(), &utilization), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(call("nvmlDeviceGetTemperature", device(), 0u, &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(call("nvmlDeviceGetTemperature", device(), 7u, &value), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(call("nvmlDeviceGetClockInfo", device(), 1u, &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(call("nvmlDeviceGetClockInfo", device(), 9u, &value), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device(), static_cast<unsigned*>(nullptr)),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(call("nvmlDeviceGetComputeMode", device(), &value), NVML_SUCCESS);
  EXPECT_EQ(value, 0u);
}

// Every exported function with nothing in its arguments, before and after the start: an error, no crash.
TEST_F(NvmlTest, NoFunctionFollowsNothing) {
  const std::unique_ptr<FILE, int (*)(FILE*)> names(
      ::popen("nm -D --defined-only " NVML_LIBRARY " | sed -n 's/.* T //p'", "r"), ::pclose);
  ASSERT_NE(names, nullptr);
  std::vector<std::string> all;
  char line[256];
  while (std::fgets(line, sizeof line, names.get())) all.emplace_back(line, std::strcspn(line, "\n"));
  EXPECT_GT(all.size(), 400u);
  for (const bool started : {false, true}) {
    if (started) {
      ASSERT_EQ(call("nvmlInit_v2"), NVML_SUCCESS);
    }
    for (const std::string& name : all) {
      if (name.starts_with("nvmlInit") || name == "nvmlShutdown" || name == "nvmlErrorString") continue;
      void* const nothing = nullptr;
      EXPECT_NE(call(name.c_str(), nothing, nothing, nothing, nothing, nothing), NVML_SUCCESS) << name;
    }
  }
}

}  // namespace
}  // namespace sluice::testing
