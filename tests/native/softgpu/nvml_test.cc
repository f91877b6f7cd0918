// NVML beside a driver in the same process: what one does, the other shows.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "driver_fixture.h"
#include "softgpu/nvml/nvml_types.h"

namespace {

class NvmlTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    library_ = dlopen(NVML_PATH, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    ASSERT_EQ(call<nvmlReturn_t()>("nvmlInit_v2")(), NVML_SUCCESS);
    ASSERT_EQ((call<nvmlReturn_t(unsigned, nvmlDevice_t*)>("nvmlDeviceGetHandleByIndex_v2")(0, &device_)),
              NVML_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(call<nvmlReturn_t()>("nvmlShutdown")(), NVML_SUCCESS);
    DriverTest::TearDown();
  }
  template <typename Signature>
  Signature* call(const char* name) {
    void* symbol = dlsym(library_, name);
    EXPECT_NE(symbol, nullptr) << name;
    return reinterpret_cast<Signature*>(symbol);
  }
  nvmlMemory_t memory() {
    nvmlMemory_t out{};
    EXPECT_EQ((call<nvmlReturn_t(nvmlDevice_t, nvmlMemory_t*)>("nvmlDeviceGetMemoryInfo")(device_, &out)),
              NVML_SUCCESS);
    return out;
  }

  void* library_ = nullptr;
  nvmlDevice_t device_ = nullptr;
};

TEST_F(NvmlTest, IdentityMatchesTheDriver) {
  char text[96];
  using Text = nvmlReturn_t(nvmlDevice_t, char*, unsigned);
  EXPECT_EQ(call<Text>("nvmlDeviceGetName")(device_, text, sizeof(text)), NVML_SUCCESS);
  EXPECT_STREQ(text, "Sluice Software GPU");
  EXPECT_EQ(call<Text>("nvmlDeviceGetName")(device_, text, 5), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(call<Text>("nvmlDeviceGetUUID")(device_, text, sizeof(text)), NVML_SUCCESS);
  CUuuid uuid;
  EXPECT_OK(cuDeviceGetUuid_v2(&uuid, 0));
  char first[3];
  std::snprintf(first, sizeof(first), "%02x",
                static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[0])));
  EXPECT_EQ(std::string(text).substr(0, 6), "GPU-" + std::string(first));
  nvmlDevice_t again = nullptr;
  EXPECT_EQ((call<nvmlReturn_t(const char*, nvmlDevice_t*)>("nvmlDeviceGetHandleByUUID")(text, &again)),
            NVML_SUCCESS);
  EXPECT_EQ(again, device_);
  nvmlPciInfo_t pci{};
  EXPECT_EQ((call<nvmlReturn_t(nvmlDevice_t, nvmlPciInfo_t*)>("nvmlDeviceGetPciInfo_v3")(device_, &pci)),
            NVML_SUCCESS);
  EXPECT_OK(cuDeviceGetPCIBusId(text, sizeof(text), 0));
  EXPECT_STREQ(pci.busIdLegacy, text);
  int version = 0;
  EXPECT_EQ(call<nvmlReturn_t(int*)>("nvmlSystemGetCudaDriverVersion")(&version), NVML_SUCCESS);
  EXPECT_EQ(version, 13000);
}

TEST_F(NvmlTest, MemoryFollowsAllocations) {
  const nvmlMemory_t before = memory();
  EXPECT_EQ(before.total, 1u << 30);
  const CUdeviceptr address = allocate(100 << 20);
  const nvmlMemory_t during = memory();
  EXPECT_EQ(during.used, before.used + (100 << 20));
  EXPECT_EQ(during.free, during.total - during.used);
  nvmlMemory_v2_t second{};
  auto* info = call<nvmlReturn_t(nvmlDevice_t, nvmlMemory_v2_t*)>("nvmlDeviceGetMemoryInfo_v2");
  EXPECT_EQ(info(device_, &second), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  second.version = NVML_MEMORY_V2;
  EXPECT_EQ(info(device_, &second), NVML_SUCCESS);
  EXPECT_EQ(second.used, during.used);
  EXPECT_OK(cuMemFree_v2(address));
  EXPECT_EQ(memory().used, before.used);
}

TEST_F(NvmlTest, ProcessesAreThoseWithAContext) {
  const CUdeviceptr address = allocate(10 << 20);
  unsigned count = 8;
  nvmlProcessInfo_v2_t infos[8];
  auto* running = call<nvmlReturn_t(nvmlDevice_t, unsigned*, nvmlProcessInfo_v2_t*)>(
      "nvmlDeviceGetComputeRunningProcesses_v3");
  EXPECT_EQ(running(device_, &count, infos), NVML_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(infos[0].pid, static_cast<unsigned>(getpid()));
  EXPECT_EQ(infos[0].usedGpuMemory, memory().used);
  count = 0;
  EXPECT_EQ(running(device_, &count, nullptr), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 1u);
  char name[4096];
  EXPECT_EQ((call<nvmlReturn_t(unsigned, char*, unsigned)>("nvmlSystemGetProcessName")(infos[0].pid, name,
                                                                                       sizeof(name))),
            NVML_SUCCESS);
  EXPECT_NE(std::strstr(name, "softgpu_nvml_test"), nullptr);
  EXPECT_OK(cuMemFree_v2(address));
}

TEST_F(NvmlTest, UtilizationIsTimeAtWork) {
  auto* rates = call<nvmlReturn_t(nvmlDevice_t, nvmlUtilization_t*)>("nvmlDeviceGetUtilizationRates");
  nvmlUtilization_t utilization{};
  CUstream streams[2];
  for (CUstream& stream : streams) {
    EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_OK(sleep(stream, 500));  // at the same time: half of a second, not all of it
  }
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(rates(device_, &utilization), NVML_SUCCESS);
  EXPECT_GE(utilization.gpu, 42u);
  EXPECT_LE(utilization.gpu, 62u);
}

TEST_F(NvmlTest, WhatThereIsNotIsNotSupported) {
  for (const char* name : {"nvmlDeviceGetTemperature", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetFanSpeed",
                           "nvmlDeviceGetEccMode", "nvmlDeviceGetClockInfo"}) {
    unsigned long long out[4];
    using Reader = nvmlReturn_t(nvmlDevice_t, void*, void*, void*);
    EXPECT_EQ(call<Reader>(name)(device_, out, out, out), NVML_ERROR_NOT_SUPPORTED) << name;
    EXPECT_EQ(call<Reader>(name)(nullptr, out, out, out), NVML_ERROR_INVALID_ARGUMENT) << name;
  }
}

}  // namespace

int main(int argc, char** argv) { return run_with_devices(argc, argv, "1x(memory=1GiB,cc=10.0,sms=4)"); }
