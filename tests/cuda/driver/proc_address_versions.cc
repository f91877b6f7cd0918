// cuGetProcAddress: which symbol a name means for a version of CUDA, the variants for per-thread default
// streams, and what is said about names that are not there.
//
// Round trips: 0.
#include "check.h"

using namespace sluice::programs;

namespace {

struct Expected {
  const char* name;
  int version;
  const char* symbol;
};

constexpr Expected kLegacy[] = {
    {"cuInit", 2000, "cuInit"},
    {"cuInit", 13000, "cuInit"},
    {"cuMemAlloc", 3020, "cuMemAlloc_v2"},
    {"cuMemAlloc", 12000, "cuMemAlloc_v2"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuCtxCreate", 11030, "cuCtxCreate_v2"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuLinkCreate", 5050, "cuLinkCreate"},
    {"cuLinkCreate", 6050, "cuLinkCreate_v2"},
    {"cuStreamGetCaptureInfo", 10010, "cuStreamGetCaptureInfo"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamWaitValue32", 11060, "cuStreamWaitValue32"},
    {"cuStreamWaitValue32", 11070, "cuStreamWaitValue32_v2"},
    {"cuGetProcAddress", 11030, "cuGetProcAddress"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuMemcpyHtoD", 7000, "cuMemcpyHtoD_v2"},
    {"cuMemCreate", 10020, "cuMemCreate"},
    {"cuDeviceTotalMem", 2000, "cuDeviceTotalMem"},
    {"cuDeviceTotalMem", 3020, "cuDeviceTotalMem_v2"},
};

constexpr Expected kPerThread[] = {
    {"cuMemcpyHtoD", 7000, "cuMemcpyHtoD_v2_ptds"},
    {"cuLaunchKernel", 7000, "cuLaunchKernel_ptsz"},
    {"cuStreamSynchronize", 12000, "cuStreamSynchronize_ptsz"},
    {"cuMemAlloc", 12000, "cuMemAlloc_v2"},
    {"cuStreamWriteValue64", 11070, "cuStreamWriteValue64_v2_ptsz"},
};

void check(const Expected& wanted, unsigned long long flags) {
  void* found = nullptr;
  auto status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  CHECK(cu.cuGetProcAddress_v2(wanted.name, &found, wanted.version, flags, &status));
  if (status != CU_GET_PROC_ADDRESS_SUCCESS || found != dlsym(cu.library, wanted.symbol))
    fail(__FILE__, __LINE__, std::string(wanted.name) + " is not " + wanted.symbol);
}

void check_missing(const char* name, int version, CUdriverProcAddressQueryResult expected) {
  void* found = &found;
  auto status = CU_GET_PROC_ADDRESS_SUCCESS;
  CHECK(cu.cuGetProcAddress_v2(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  EXPECT(found == nullptr && status == expected);
  EXPECT_RESULT(CUDA_ERROR_NOT_FOUND, cu.cuGetProcAddress(name, &found, version, 0));
}

}  // namespace

int main() {
  open_driver();
  for (const Expected& wanted : kLegacy) {
    check(wanted, CU_GET_PROC_ADDRESS_DEFAULT);
    check(wanted, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
  }
  for (const Expected& wanted : kPerThread) check(wanted, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  // In a program that is compiled for per-thread default streams the default is the other one.
  void* found = nullptr;
  auto status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  CHECK(CU(cuGetProcAddress_v2_ptsz)("cuLaunchKernel", &found, 12000, 0, &status));
  EXPECT(found == dlsym(cu.library, "cuLaunchKernel_ptsz"));
  check_missing("cuNoSuchFunction", 13000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  check_missing("cuMemCreate", 10010, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuGetProcAddress_v2("cuInit", &found, 12000, 4, &status));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuGetProcAddress_v2("cuInit", &found, 12000, 3, &status));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuGetProcAddress_v2(nullptr, &found, 12000, 0, &status));
  int version = 0;
  CHECK(cu.cuDriverGetVersion(&version));
  EXPECT(version >= 11000);
  say("names, versions and variants");
}
