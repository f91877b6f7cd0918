#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "driver_fixture.h"

namespace {

class ContextTest : public DriverTest {};

TEST_F(ContextTest, Devices) {
  int count = 0, version = 0;
  EXPECT_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 2);
  EXPECT_OK(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
  char name[64];
  EXPECT_OK(cuDeviceGetName(name, sizeof(name), 0));
  EXPECT_STREQ(name, "Sluice Software GPU");
  EXPECT_OK(cuDeviceGetName(name, 7, 0));
  EXPECT_STREQ(name, "Sluice");
  size_t bytes = 0;
  EXPECT_OK(cuDeviceTotalMem_v2(&bytes, 1));
  EXPECT_EQ(bytes, size_t{1} << 30);
  CUuuid first, second;
  EXPECT_OK(cuDeviceGetUuid_v2(&first, 0));
  EXPECT_OK(cuDeviceGetUuid_v2(&second, 1));
  EXPECT_NE(std::memcmp(&first, &second, 16), 0);
  CUdevice device = 7;
  EXPECT_EQ(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_OK(cuDeviceGetPCIBusId(name, sizeof(name), 1));
  EXPECT_OK(cuDeviceGetByPCIBusId(&device, name));
  EXPECT_EQ(device, 1);
}

TEST_F(ContextTest, EveryAttributeHasAValue) {
  int value = 0;
  for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; ++i) {
    EXPECT_OK(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(i), 0)) << i;
  }
  EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(0), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(100000), 0),
            CUDA_ERROR_INVALID_VALUE);
  const std::pair<int, int> rows[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 * 1024},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
  };
  for (const auto& [attribute, expected] : rows) {
    EXPECT_OK(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), 0));
    EXPECT_EQ(value, expected) << attribute;
  }
}

TEST_F(ContextTest, StackPerThread) {
  CUcontext current = nullptr, second = nullptr;
  EXPECT_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  EXPECT_OK(cuCtxCreate_v2(&second, CU_CTX_SCHED_BLOCKING_SYNC, 1));
  CUdevice device = -1;
  EXPECT_OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  unsigned flags = 0;
  EXPECT_OK(cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, static_cast<unsigned>(CU_CTX_SCHED_BLOCKING_SYNC));
  std::thread([] {
    CUcontext none = reinterpret_cast<CUcontext>(1);
    EXPECT_OK(cuCtxGetCurrent(&none));
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(cuCtxPopCurrent_v2(&none), CUDA_ERROR_INVALID_CONTEXT);
    CUdeviceptr address;
    EXPECT_EQ(cuMemAlloc_v2(&address, 4), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
  unsigned long long first_id = 0, second_id = 0;
  EXPECT_OK(cuCtxGetId(context_, &first_id));
  EXPECT_OK(cuCtxGetId(second, &second_id));
  EXPECT_NE(first_id, second_id);
  EXPECT_OK(cuCtxPopCurrent_v2(&current));
  EXPECT_EQ(current, second);
  EXPECT_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  EXPECT_OK(cuCtxDestroy_v2(second));
  EXPECT_EQ(cuCtxPushCurrent_v2(second), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy_v2(second), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ContextTest, PrimaryContextIsCountedAndReset) {
  CUcontext primary = nullptr, again = nullptr;
  unsigned flags = 9;
  int active = 9;
  EXPECT_OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_EQ(active, 0);
  EXPECT_OK(cuDevicePrimaryCtxRetain(&primary, 1));
  EXPECT_OK(cuDevicePrimaryCtxRetain(&again, 1));
  EXPECT_EQ(primary, again);
  EXPECT_OK(cuCtxPushCurrent_v2(primary));
  const size_t before = free_bytes();
  allocate(1 << 20);
  EXPECT_EQ(free_bytes(), before - (1 << 20));
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(1));
  EXPECT_EQ(free_bytes(), before - (1 << 20));
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(1));
  CUdeviceptr address;
  EXPECT_EQ(cuMemAlloc_v2(&address, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_OK(cuDevicePrimaryCtxRetain(&again, 1));
  EXPECT_EQ(primary, again);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(1));
  EXPECT_OK(cuCtxPopCurrent_v2(nullptr));
}

TEST_F(ContextTest, Limits) {
  size_t value = 0;
  EXPECT_OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  EXPECT_OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(value, 4096u);
  EXPECT_EQ(cuCtxSetLimit(static_cast<CUlimit>(77), 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, size_t{1} << 40), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ContextTest, BadHandlesAreRefused) {
  int local = 0;
  for (void* bad :
       {static_cast<void*>(&local), reinterpret_cast<void*>(0x10), reinterpret_cast<void*>(context_)}) {
    EXPECT_EQ(cuEventQuery(static_cast<CUevent>(bad)), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuEventDestroy_v2(static_cast<CUevent>(bad)), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuStreamSynchronize(static_cast<CUstream>(bad)), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuStreamDestroy_v2(static_cast<CUstream>(bad)), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuModuleUnload(static_cast<CUmodule>(bad)), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuLibraryUnload(static_cast<CUlibrary>(bad)), CUDA_ERROR_INVALID_HANDLE);
    CUfunction f = static_cast<CUfunction>(bad);
    EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
  }
  EXPECT_EQ(cuCtxSetCurrent(reinterpret_cast<CUcontext>(&local)), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ContextTest, ErrorNames) {
  const char* text = nullptr;
  EXPECT_OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_OK(cuGetErrorString(CUDA_SUCCESS, &text));
  EXPECT_STREQ(text, "no error");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

TEST_F(ContextTest, ProcAddress) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status;
  EXPECT_OK(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_OK(cuGetProcAddress_v2("cuCtxCreate", &function, 11000, 0, &status));
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuCtxCreate_v2));
  EXPECT_OK(cuGetProcAddress_v2("cuStreamSynchronize", &function, 12000, 2, &status));
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuStreamSynchronize_ptsz));
  EXPECT_OK(cuGetProcAddress_v2("cuLibraryLoadData", &function, 11080, 0, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(function, nullptr);
  EXPECT_OK(cuGetProcAddress_v2("cuNoSuchThing", &function, 13000, 0, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(cuGetProcAddress("cuNoSuchThing", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuGetProcAddress_v2("cuInit", &function, 13000, 99, &status), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ContextTest, ChildOfAForkIsNotInitialized) {
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr address;
    _exit(cuMemAlloc_v2(&address, 4) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace

int main(int argc, char** argv) { return run_with_devices(argc, argv, "2x(memory=1GiB,cc=9.0,sms=4)"); }
