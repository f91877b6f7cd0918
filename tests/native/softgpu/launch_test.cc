#include <cstring>
#include <vector>

#include "driver_fixture.h"

namespace {

class LaunchTest : public DriverTest {
 protected:
  CUresult shape(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                 unsigned shared = 0, const char* name = "none") {
    return cuLaunchKernel(function(name), gx, gy, gz, bx, by, bz, shared, nullptr, nullptr, nullptr);
  }
};

TEST_F(LaunchTest, ShapesAreCheckedAsTheDriverDoes) {
  EXPECT_OK(shape(1, 1, 1, 1024, 1, 1));
  EXPECT_OK(shape(0x7fffffff, 65535, 1, 1, 1, 64));
  EXPECT_EQ(shape(0, 1, 1, 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shape(1, 65536, 1, 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shape(1, 1, 1, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shape(1, 1, 1, 1025, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shape(1, 1, 1, 64, 64, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shape(1, 1, 1, 1, 1, 65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shape(1, 1, 1, 129, 1, 1, 0, "bounded"), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_OK(cuCtxSynchronize());  // none of these is sticky
}

TEST_F(LaunchTest, SharedMemoryLimit) {
  EXPECT_OK(shape(1, 1, 1, 1, 1, 1, 44 * 1024, "bounded"));
  EXPECT_EQ(shape(1, 1, 1, 1, 1, 1, 44 * 1024 + 1, "bounded"), CUDA_ERROR_INVALID_VALUE);
  const CUfunction f = function("bounded");
  EXPECT_OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200 * 1024));
  EXPECT_OK(shape(1, 1, 1, 1, 1, 1, 200 * 1024, "bounded"));
  EXPECT_EQ(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024),
            CUDA_ERROR_INVALID_VALUE);
  int value = 0;
  EXPECT_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
  EXPECT_EQ(value, 4096);
}

TEST_F(LaunchTest, ParametersByArrayAndByBuffer) {
  const CUdeviceptr address = allocate(4096);
  unsigned value = 11, count = 1024;
  CUdeviceptr target = address;
  void* parameters[] = {&target, &value, &count};
  EXPECT_OK(launch(function("store"), nullptr, parameters));
  value = 99;  // copied by then
  EXPECT_EQ(read(address + 4092), 11u);
  struct {
    CUdeviceptr address;
    unsigned value;
    unsigned count;
  } packed{address, 12, 2};
  size_t bytes = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  EXPECT_OK(cuLaunchKernel(function("store"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(read(address + 4), 12u);
  EXPECT_EQ(read(address + 8), 11u);
  bytes = 8;
  EXPECT_EQ(cuLaunchKernel(function("store"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(function("store"), nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaunchTest, ExtendedLaunchWithAttributes) {
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[0].value.cooperative = 1;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[1].value.clusterDim = {2, 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = 4;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.attrs = attributes;
  config.numAttrs = 2;
  EXPECT_OK(cuLaunchKernelEx(&config, function("none"), nullptr, nullptr));
  config.gridDimX = 5;
  EXPECT_EQ(cuLaunchKernelEx(&config, function("none"), nullptr, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  config.numAttrs = 1;
  config.gridDimX = 1000;
  EXPECT_EQ(cuLaunchKernelEx(&config, function("none"), nullptr, nullptr),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(LaunchTest, AFaultIsStickyUntilTheContextGoes) {
  const CUdeviceptr good = allocate(4);
  EXPECT_OK(add(nullptr, good + 2, 1));  // reaches over the end
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr address = 0;
  CUstream stream = nullptr;
  unsigned value = 0;
  EXPECT_EQ(cuMemAlloc_v2(&address, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemcpyDtoH_v2(&value, good, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(add(nullptr, good, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUcontext fresh = nullptr;
  EXPECT_OK(cuCtxCreate_v2(&fresh, 0, 0));
  EXPECT_OK(cuMemAlloc_v2(&address, 4));
  EXPECT_OK(cuCtxDestroy_v2(fresh));
}

TEST_F(LaunchTest, UseAfterFreeIsAnIllegalAddress) {
  const CUdeviceptr address = allocate(4);
  EXPECT_OK(cuMemFree_v2(address));
  EXPECT_OK(add(nullptr, address, 1));
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(LaunchTest, AFailedContextSkipsHostFunctionsAndTellsCallbacks) {
  static int host_calls, callback_status;
  host_calls = 0;
  callback_status = -1;
  EXPECT_OK(sleep(nullptr, 50));
  EXPECT_OK(add(nullptr, 0x10, 1));
  EXPECT_OK(cuLaunchHostFunc(
      nullptr, [](void*) { ++host_calls; }, nullptr));
  EXPECT_OK(cuStreamAddCallback(
      nullptr, [](CUstream, int status, void*) { callback_status = status; }, nullptr, 0));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(host_calls, 0);
  EXPECT_EQ(callback_status, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(LaunchTest, Occupancy) {
  int blocks = 0, grid = 0, block = 0;
  EXPECT_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("none"), 256, 0));
  EXPECT_EQ(blocks, 8);  // 2048 threads
  EXPECT_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("none"), 32, 0));
  EXPECT_EQ(blocks, 32);  // the block limit
  EXPECT_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("none"), 32, 100 * 1024));
  EXPECT_EQ(blocks, 2);  // 228 KiB of shared memory
  EXPECT_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("bounded"), nullptr, 0, 0));
  EXPECT_EQ(block, 128);
  EXPECT_EQ(grid, 16 * 4);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("none"), 0, 0),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SLUICE_LOG", "error", 1);
  return run_with_devices(argc, argv, "1x(memory=1GiB,cc=9.0,sms=4)");
}
