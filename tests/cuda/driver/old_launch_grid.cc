// The launch interface before CUDA 4: shape and parameters kept with the function.
//
// Round trips: 4.
#include <vector>

#include "check.h"

using namespace sluice::programs;

int main() {
  open_device();
  constexpr unsigned kCount = 1024;
  CUdeviceptr values{};
  CHECK(cu.cuMemAlloc_v2(&values, kCount * sizeof(unsigned)));
  CHECK(cu.cuMemsetD32Async(values, 1, kCount, nullptr));
  const CUmodule module = load_module(kAddPtx);
  const CUfunction add = find_kernel(module, "add");
  unsigned count = kCount;
  CHECK(cu.cuFuncSetBlockShape(add, 256, 1, 1));
  CHECK(cu.cuFuncSetSharedSize(add, 0));
  CHECK(cu.cuParamSetv(add, 0, &values, sizeof values));
  CHECK(cu.cuParamSetv(add, 8, &count, sizeof count));
  CHECK(cu.cuParamSeti(add, 12, 10));
  CHECK(cu.cuParamSetSize(add, 16));
  CHECK(cu.cuLaunchGrid(add, kCount / 256, 1));
  CHECK(cu.cuParamSeti(add, 12, 5));
  CUstream stream{};
  CHECK(cu.cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  CHECK(cu.cuLaunchGridAsync(add, kCount / 256, 1, stream));
  // One block of the first 256 values.
  CHECK(cu.cuLaunch(add));
  std::vector<unsigned> back(kCount);
  CHECK(cu.cuMemcpyDtoH_v2(back.data(), values, kCount * sizeof(unsigned)));
  say("%u %u %u", back[0], back[255], back[256]);
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuFuncSetBlockShape(add, 0, 1, 1));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuParamSeti(add, -4, 1));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuParamSeti(add, 5000, 1));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchGrid(add, 0, 1));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunch(nullptr));

  // A cooperative launch on one device of the form for several.
  void* parameters[] = {&values, &count, &count};
  CUDA_LAUNCH_PARAMS launches[2]{};
  launches[0] = {add, 4, 1, 1, 256, 1, 1, 0, stream, parameters};
  CHECK(cu.cuLaunchCooperativeKernelMultiDevice(launches, 1, 0));
  EXPECT_RESULT(CUDA_ERROR_NOT_SUPPORTED, cu.cuLaunchCooperativeKernelMultiDevice(launches, 2, 0));
  CHECK(cu.cuMemcpyDtoH_v2(back.data(), values, kCount * sizeof(unsigned)));
  say("%u %u", back[0], back[256]);
}
