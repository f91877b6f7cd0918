// The client library as a program meets it when there is no pool.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "common/cuda_types.h"

namespace {

class Library : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::unsetenv("SLUICE_GRANT");
    ::unsetenv("SLUICE_GRANT_FILE");
    library = ::dlopen(std::getenv("SLUICE_TEST_LIBRARY"), RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
  }
  template <typename Function>
  static Function* find(const char* symbol) {
    return reinterpret_cast<Function*>(::dlsym(library, symbol));
  }
  static void* library;
};

void* Library::library = nullptr;

using GetProcAddress = CUresult(const char*, void**, int, unsigned long long,
                                CUdriverProcAddressQueryResult*);

TEST_F(Library, HasNoDeviceWithoutAGrant) {
  testing::internal::CaptureStderr();
  auto* init = find<CUresult(unsigned)>("cuInit");
  ASSERT_NE(init, nullptr);
  EXPECT_EQ(init(0), CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(init(0), CUDA_ERROR_NO_DEVICE);
  int count = -1;
  EXPECT_EQ(find<CUresult(int*)>("cuDeviceGetCount")(&count), CUDA_ERROR_NOT_INITIALIZED);
}

TEST_F(Library, ReportsAVersionWithoutADevice) {
  int version = 0;
  EXPECT_EQ(find<CUresult(int*)>("cuDriverGetVersion")(&version), CUDA_SUCCESS);
  EXPECT_GE(version, 12000);
}

TEST_F(Library, RefusesWhatIsNotCarried) {
  auto* unregister = find<CUresult(void*)>("cuGraphicsUnregisterResource");
  ASSERT_NE(unregister, nullptr);
  EXPECT_EQ(unregister(nullptr), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Library, ChoosesTheSymbolByVersion) {
  auto* get = find<GetProcAddress>("cuGetProcAddress_v2");
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  EXPECT_EQ(get("cuMemAlloc", &function, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, ::dlsym(library, "cuMemAlloc_v2"));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(get("cuMemAlloc", &function, 3000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, ::dlsym(library, "cuMemAlloc"));
  EXPECT_EQ(
      get("cuStreamSynchronize", &function, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status),
      CUDA_SUCCESS);
  EXPECT_EQ(function, ::dlsym(library, "cuStreamSynchronize_ptsz"));
  EXPECT_EQ(get("cuMemcpyHtoD", &function, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status),
            CUDA_SUCCESS);
  EXPECT_EQ(function, ::dlsym(library, "cuMemcpyHtoD_v2_ptds"));
}

TEST_F(Library, TellsAnUnknownNameFromAnOldVersion) {
  auto* get = find<GetProcAddress>("cuGetProcAddress_v2");
  void* function = &function;
  CUdriverProcAddressQueryResult status{};
  EXPECT_EQ(get("cuNothing", &function, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(get("cuLibraryLoadData", &function, 11080, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(get(nullptr, &function, 12000, 0, &status), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get("cuInit", &function, 12000, 3, &status), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Library, NamesErrors) {
  const char* text = nullptr;
  EXPECT_EQ(find<CUresult(int, const char**)>("cuGetErrorName")(700, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(find<CUresult(int, const char**)>("cuGetErrorName")(12345, &text), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
