// What the driver's tests share: a state folder of their own, a context on device 0, a module of the fake
// engine.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "generated/cuda_functions.h"

// Functions of the driver that the proxy does not carry.
extern "C" {
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* what);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer, unsigned flags);
CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags);
CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values, CUlinkState* out);
CUresult cuLinkAddData_v2(CUlinkState link, CUjitInputType type, void* data, size_t bytes, const char* name,
                          unsigned count, CUjit_option* options, void** values);
CUresult cuLinkComplete(CUlinkState link, void** image, size_t* bytes);
CUresult cuLinkDestroy(CUlinkState link);
}

#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

constexpr const char* kFakeModule =
    ".version 8.0\n.target sm_90\n"
    ".kernel store store params=8,4,4\n"
    ".kernel add add params=8,4\n"
    ".kernel multiply multiply params=8,4\n"
    ".kernel sleep sleep params=4\n"
    ".kernel none none params=\n"
    ".kernel bounded none params= max=128 shared=4096\n"
    ".variable table 24\n";

class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(cuInit(0));
    ASSERT_OK(cuCtxCreate_v2(&context_, 0, 0));
    ASSERT_OK(cuModuleLoadData(&module_, kFakeModule));
  }
  void TearDown() override { EXPECT_OK(cuCtxDestroy_v2(context_)); }

  CUfunction function(const char* name) {
    CUfunction out = nullptr;
    EXPECT_OK(cuModuleGetFunction(&out, module_, name));
    return out;
  }
  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr out = 0;
    EXPECT_OK(cuMemAlloc_v2(&out, bytes));
    return out;
  }
  CUresult launch(CUfunction f, CUstream stream, void** parameters) {
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  CUresult sleep(CUstream stream, unsigned milliseconds) {
    void* parameters[] = {&milliseconds};
    return launch(function("sleep"), stream, parameters);
  }
  CUresult add(CUstream stream, CUdeviceptr address, unsigned value, const char* name = "add") {
    void* parameters[] = {&address, &value};
    return launch(function(name), stream, parameters);
  }
  unsigned read(CUdeviceptr address) {
    unsigned value = 0;
    EXPECT_OK(cuMemcpyDtoH_v2(&value, address, 4));
    return value;
  }
  static size_t free_bytes() {
    size_t free = 0;
    EXPECT_OK(cuMemGetInfo_v2(&free, nullptr));
    return free;
  }

  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};

// Each test program has a folder and devices of its own, whatever the environment says.
inline int run_with_devices(int argc, char** argv, const char* devices) {
  char folder[] = "/tmp/sluice-softgpu-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  setenv("SLUICE_SOFTGPU", devices, 1);
  setenv("SLUICE_SOFTGPU_DIR", folder, 1);
  ::testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  std::filesystem::remove_all(folder);
  return result;
}
