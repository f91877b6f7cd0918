// The run-time linker: one module, several that use each other's symbols, weak and local ones, errors and
// logs.
//
// Round trips: 18.
#include <cstring>
#include <string>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr const char* kHead = ".version 7.0\n.target sm_50\n.address_size 64\n";

// Uses a function and a variable of another module, and has a function that only it sees.
constexpr const char* kMain = R"(
.extern .func (.param .b32 result) twice(.param .b32 value);
.extern .global .align 4 .u32 base;
.func (.param .b32 result) helper(.param .b32 value)
{
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [value];
  add.u32 %r2, %r1, 1;
  st.param.b32 [result], %r2;
  ret;
}
.weak .global .align 4 .u32 scale = 100;
.visible .entry compute(.param .u64 out, .param .u32 value)
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [value];
  {
    .param .b32 p0;
    .param .b32 r0;
    st.param.b32 [p0], %r1;
    call.uni (r0), twice, (p0);
    ld.param.b32 %r2, [r0];
  }
  {
    .param .b32 p1;
    .param .b32 r1;
    st.param.b32 [p1], %r2;
    call.uni (r1), helper, (p1);
    ld.param.b32 %r3, [r1];
  }
  ld.global.u32 %r4, [base];
  add.u32 %r5, %r3, %r4;
  ld.global.u32 %r6, [scale];
  add.u32 %r7, %r5, %r6;
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], %r7;
  ret;
}
)";

// Has a local function of the same name, a strong definition of what the other has weakly, and the rest.
constexpr const char* kOther = R"(
.visible .global .align 4 .u32 base = 1000;
.visible .global .align 4 .u32 scale = 50000;
.func (.param .b32 result) helper(.param .b32 value)
{
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [value];
  shl.b32 %r2, %r1, 1;
  st.param.b32 [result], %r2;
  ret;
}
.visible .func (.param .b32 result) twice(.param .b32 value)
{
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [value];
  {
    .param .b32 p0;
    .param .b32 r0;
    st.param.b32 [p0], %r1;
    call.uni (r0), helper, (p0);
    ld.param.b32 %r2, [r0];
  }
  st.param.b32 [result], %r2;
  ret;
}
)";

struct Logs {
  char info[2048] = {};
  char error[2048] = {};
  CUjit_option names[4] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
                           CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[4] = {info, reinterpret_cast<void*>(sizeof info), error,
                     reinterpret_cast<void*>(sizeof error)};
};

CUresult add(CUlinkState link, const char* name, const std::string& text) {
  return cu.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, const_cast<char*>(text.c_str()), text.size() + 1, name,
                             0, nullptr, nullptr);
}

unsigned compute(const void* image, unsigned value) {
  CUmodule module{};
  CHECK(cu.cuModuleLoadData(&module, image));
  const CUfunction kernel = find_kernel(module, "compute");
  CUdeviceptr out{};
  CHECK(cu.cuMemAlloc_v2(&out, 4));
  CHECK(launch(kernel, 1, 1, nullptr, out, value));
  unsigned result = 0;
  CHECK(cu.cuMemcpyDtoH_v2(&result, out, sizeof result));
  CHECK(cu.cuMemFree_v2(out));
  CHECK(cu.cuModuleUnload(module));
  return result;
}

}  // namespace

int main() {
  open_device();
  const std::string main_text = std::string(kHead) + kMain;
  const std::string other_text = std::string(kHead) + kOther;
  {
    Logs logs;
    CUlinkState link{};
    CHECK(cu.cuLinkCreate_v2(4, logs.names, logs.values, &link));
    CHECK(add(link, "main.ptx", main_text));
    CHECK(add(link, "other.ptx", other_text));
    void* image = nullptr;
    size_t bytes = 0;
    CHECK(cu.cuLinkComplete(link, &image, &bytes));
    EXPECT(image != nullptr && bytes > 0);
    // 2 * 21, one more from the module's own helper, and both variables of the other one.
    say("linked: %u", compute(image, 21));
    say("information: %s, errors: %s", logs.info[0] != 0 ? "some" : "none",
        logs.error[0] != 0 ? "some" : "none");
    CUlibrary library{};
    CHECK(cu.cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CUkernel kernel{};
    CHECK(cu.cuLibraryGetKernel(&kernel, library, "compute"));
    CHECK(cu.cuLibraryUnload(library));
    CHECK(cu.cuLinkDestroy(link));
    EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, cu.cuLinkDestroy(link));
  }
  {
    // The other order gives the same.
    CUlinkState link{};
    CHECK(CU(cuLinkCreate)(0, nullptr, nullptr, &link));
    CHECK(add(link, "other.ptx", other_text));
    CHECK(add(link, "main.ptx", main_text));
    void* image = nullptr;
    size_t bytes = 0;
    CHECK(cu.cuLinkComplete(link, &image, &bytes));
    say("the other order: %u", compute(image, 21));
    CHECK(cu.cuLinkDestroy(link));
  }
  {
    // A symbol that nobody has.
    Logs logs;
    CUlinkState link{};
    CHECK(cu.cuLinkCreate_v2(4, logs.names, logs.values, &link));
    CHECK(add(link, "main.ptx", main_text));
    void* image = nullptr;
    size_t bytes = 0;
    EXPECT(cu.cuLinkComplete(link, &image, &bytes) != CUDA_SUCCESS);
    say("missing: %s", std::strstr(logs.error, "twice") != nullptr ? "named in the log" : "not named");
    CHECK(cu.cuLinkDestroy(link));
  }
  {
    // A symbol that two have.
    Logs logs;
    CUlinkState link{};
    CHECK(cu.cuLinkCreate_v2(4, logs.names, logs.values, &link));
    CHECK(add(link, "other.ptx", other_text));
    CHECK(add(link, "again.ptx", other_text));
    void* image = nullptr;
    size_t bytes = 0;
    EXPECT(cu.cuLinkComplete(link, &image, &bytes) != CUDA_SUCCESS);
    say("twice: %s", logs.error[0] != 0 ? "told in the log" : "not told");
    CHECK(cu.cuLinkDestroy(link));
  }
  CUlinkState link{};
  CHECK(cu.cuLinkCreate_v2(0, nullptr, nullptr, &link));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE,
                cu.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, nullptr, 5, "x", 0, nullptr, nullptr));
  EXPECT_RESULT(CUDA_ERROR_FILE_NOT_FOUND,
                cu.cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, "/nowhere/at-all.ptx", 0, nullptr, nullptr));
  CHECK(cu.cuLinkDestroy(link));
}
