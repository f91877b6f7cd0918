#include <cstring>

#include "driver_fixture.h"
#include "fatbin_builder.h"

namespace {

constexpr uint16_t kPtx = 1;
constexpr uint16_t kElf = 2;

std::string ptx(int sm, const char* kernel) {
  return ".version 8.0\n.target sm_" + std::to_string(sm) + "\n.kernel " + kernel + " none params=8\n";
}

class ModuleTest : public DriverTest {
 protected:
  // The one kernel's name, or the error.
  std::string load(const void* image, CUresult expected = CUDA_SUCCESS) {
    CUmodule module = nullptr;
    const CUresult result = cuModuleLoadData(&module, image);
    EXPECT_EQ(result, expected);
    if (result != CUDA_SUCCESS) return "error";
    CUfunction function = nullptr;
    const char* name = nullptr;
    EXPECT_OK(cuModuleEnumerateFunctions(&function, 1, module));
    EXPECT_OK(cuFuncGetName(&name, function));
    const std::string out = name;
    EXPECT_OK(cuModuleUnload(module));
    return out;
  }
};

TEST_F(ModuleTest, FunctionsAndVariables) {
  unsigned count = 0;
  EXPECT_OK(cuModuleGetFunctionCount(&count, module_));
  EXPECT_EQ(count, 6u);
  CUfunction function = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "absent"), CUDA_ERROR_NOT_FOUND);
  size_t offset = 0, bytes = 0;
  EXPECT_OK(cuFuncGetParamInfo(this->function("store"), 1, &offset, &bytes));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(cuFuncGetParamInfo(this->function("store"), 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr table = 0;
  EXPECT_OK(cuModuleGetGlobal_v2(&table, &bytes, module_, "table"));
  EXPECT_EQ(bytes, 24u);
  EXPECT_EQ(read(table), 0x5a5a5a5au);
  EXPECT_EQ(cuMemFree_v2(table), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleGetGlobal_v2(&table, &bytes, module_, "absent"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(ModuleTest, UnloadingGivesTheVariablesBack) {
  const size_t before = free_bytes();
  CUmodule module = nullptr;
  ASSERT_OK(cuModuleLoadData(&module, kFakeModule));
  EXPECT_EQ(free_bytes(), before - 512);
  CUfunction function = nullptr;
  EXPECT_OK(cuModuleGetFunction(&function, module, "none"));
  EXPECT_OK(cuModuleUnload(module));
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(launch(function, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ModuleTest, TheNewestEntryThatTheDeviceAllows) {
  for (const Packing packing : {Packing::kPlain, Packing::kLz4, Packing::kZstd}) {
    const std::string container = fatbin({fatbin_entry(kElf, 90, "machine code", Packing::kPlain),
                                          fatbin_entry(kPtx, 70, ptx(70, "old"), packing),
                                          fatbin_entry(kPtx, 90, ptx(90, "right"), packing),
                                          fatbin_entry(kPtx, 100, ptx(100, "future"), packing)});
    EXPECT_EQ(load(container.data()), "right");
    FatbinWrapper wrapper;
    wrapper.data = container.data();
    EXPECT_EQ(load(&wrapper), "right");
  }
}

TEST_F(ModuleTest, VersionTwoWrappersListFurtherContainers) {
  const std::string first = fatbin({fatbin_entry(kElf, 90, "machine code", Packing::kPlain)});
  const std::string second = fatbin({fatbin_entry(kPtx, 80, ptx(80, "listed"), Packing::kZstd)});
  const void* list[] = {first.data(), second.data(), nullptr};
  FatbinWrapper wrapper;
  wrapper.version = 2;
  wrapper.data = first.data();
  wrapper.list = list;
  EXPECT_EQ(load(&wrapper), "listed");
  wrapper.version = 3;
  EXPECT_EQ(load(&wrapper, CUDA_ERROR_INVALID_IMAGE), "error");
}

TEST_F(ModuleTest, ImagesThatCannotRun) {
  const std::string machine_code = fatbin({fatbin_entry(kElf, 90, "machine code", Packing::kPlain)});
  load(machine_code.data(), CUDA_ERROR_NO_BINARY_FOR_GPU);
  const std::string future = fatbin({fatbin_entry(kPtx, 120, ptx(120, "future"), Packing::kPlain)});
  load(future.data(), CUDA_ERROR_NO_BINARY_FOR_GPU);
  load(
      "\x7f"
      "ELF and so on",
      CUDA_ERROR_NO_BINARY_FOR_GPU);
  load("neither", CUDA_ERROR_INVALID_IMAGE);
  load("", CUDA_ERROR_INVALID_IMAGE);
  load(".version 8.0\n.target sm_90\n\n.invalid\n", CUDA_ERROR_INVALID_PTX);
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoad(&module, "/nowhere/at.all"), CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(ModuleTest, TheErrorLogSaysWhatIsWrong) {
  char log[256] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  CUmodule module = nullptr;
  const char* text = ".version 8.0\n.target sm_90\n\n.invalid\n";
  EXPECT_EQ(cuModuleLoadDataEx(&module, text, 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_STREQ(log, "line 4: .invalid is not an instruction");
}

TEST_F(ModuleTest, LibrariesHaveAModulePerContext) {
  const std::string container = fatbin({fatbin_entry(kPtx, 80, ptx(80, "kernel"), Packing::kLz4)});
  CUlibrary library = nullptr;
  ASSERT_OK(cuLibraryLoadData(&library, container.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  EXPECT_OK(cuLibraryGetKernel(&kernel, library, "kernel"));
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "absent"), CUDA_ERROR_NOT_FOUND);
  unsigned count = 0;
  EXPECT_OK(cuLibraryGetKernelCount(&count, library));
  EXPECT_EQ(count, 1u);
  CUfunction here = nullptr, there = nullptr;
  EXPECT_OK(cuKernelGetFunction(&here, kernel));
  uint64_t parameter = 0;
  void* parameters[] = {&parameter};
  EXPECT_OK(launch(here, nullptr, parameters));
  EXPECT_OK(launch(reinterpret_cast<CUfunction>(kernel), nullptr, parameters));
  CUcontext other = nullptr;
  ASSERT_OK(cuCtxCreate_v2(&other, 0, 1));
  EXPECT_OK(cuKernelGetFunction(&there, kernel));
  EXPECT_NE(here, there);
  CUmodule module = nullptr;
  EXPECT_OK(cuLibraryGetModule(&module, library));
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuCtxDestroy_v2(other));
  EXPECT_EQ(launch(there, nullptr, parameters), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuLibraryUnload(library));
  EXPECT_EQ(launch(here, nullptr, parameters), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(reinterpret_cast<CUfunction>(kernel), nullptr, parameters), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ModuleTest, LinkedPtxIsLoadable) {
  CUlinkState link = nullptr;
  ASSERT_OK(cuLinkCreate_v2(0, nullptr, nullptr, &link));
  std::string first = ptx(80, "one"), second = ptx(90, "two");
  EXPECT_OK(
      cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, first.data(), first.size() + 1, "first", 0, nullptr, nullptr));
  EXPECT_OK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, second.data(), second.size() + 1, "second", 0, nullptr,
                             nullptr));
  EXPECT_EQ(cuLinkAddData_v2(link, CU_JIT_INPUT_CUBIN, first.data(), 4, "cubin", 0, nullptr, nullptr),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  void* image = nullptr;
  size_t bytes = 0;
  ASSERT_OK(cuLinkComplete(link, &image, &bytes));
  // The names in it are those of a language that only the real engine understands; see tests/cuda/driver.
  EXPECT_NE(std::string(static_cast<const char*>(image), bytes).find(".version"), std::string::npos);
  CUmodule module = nullptr;
  EXPECT_OK(cuModuleLoadData(&module, image));
  EXPECT_OK(cuLinkDestroy(link));
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SLUICE_LOG", "error", 1);
  return run_with_devices(argc, argv, "2x(memory=1GiB,cc=9.0,sms=4)");
}
