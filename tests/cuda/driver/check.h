// What the programs of this folder share. Each is written against the driver API, is linked to no driver and
// loads whichever libcuda.so.1 the loader finds: the software GPU, NVIDIA's, or the proxy's client. It ends
// with 0 when everything it checks holds, and prints only what must be the same on all of them.
#pragma once

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "generated/cuda_functions.h"
#include "generated/driver_table.h"

namespace sluice::programs {

// The driver under test; filled by `open_driver`.
inline generated::DriverTable cu;

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::_Exit(1);
}

// Prints a line that must be the same wherever the program runs: no addresses, no times.
[[gnu::format(printf, 1, 2)]] inline void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::putchar('\n');
}

inline std::string error_name(CUresult error) {
  const char* name = nullptr;
  if (cu.cuGetErrorName != nullptr && cu.cuGetErrorName(error, &name) == CUDA_SUCCESS) return name;
  return "error " + std::to_string(static_cast<int>(error));
}

// A call that must return `expected`.
#define EXPECT_RESULT(expected, call)                                                             \
  do {                                                                                            \
    const CUresult result_of_call = (call);                                                       \
    if (result_of_call != (expected))                                                             \
      ::sluice::programs::fail(__FILE__, __LINE__,                                                \
                               std::string(#call) + " returned " +                                \
                                   ::sluice::programs::error_name(result_of_call) + " and not " + \
                                   ::sluice::programs::error_name(expected));                     \
  } while (false)

// A call that must succeed.
#define CHECK(call) EXPECT_RESULT(CUDA_SUCCESS, call)

// Something that must hold.
#define EXPECT(condition)                                                                         \
  do {                                                                                            \
    if (!(condition)) ::sluice::programs::fail(__FILE__, __LINE__, "does not hold: " #condition); \
  } while (false)

// A function of the driver under test by its symbol, for those that no worker calls and that are therefore
// not in the table: CU(cuMemcpyPeer)(…).
template <typename Function>
Function symbol(const char* name) {
  void* found = dlsym(cu.library, name);
  if (found == nullptr) fail(__FILE__, __LINE__, std::string("the driver does not export ") + name);
  return reinterpret_cast<Function>(found);
}
#define CU(name) (::sluice::programs::symbol<decltype(&::name)>(#name))

// Loads libcuda.so.1 and initializes it.
inline void open_driver() {
  std::string error;
  if (!generated::load_driver("libcuda.so.1", &cu, &error)) fail(__FILE__, __LINE__, error);
  CHECK(cu.cuInit(0));
}

// The driver, with the primary context of device `ordinal` current in the calling thread.
inline CUcontext open_device(int ordinal = 0) {
  open_driver();
  CUdevice device{};
  CUcontext context{};
  CHECK(cu.cuDeviceGet(&device, ordinal));
  CHECK(cu.cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cu.cuCtxSetCurrent(context));
  return context;
}

// A module made from PTX text, and one of its kernels.
inline CUmodule load_module(const char* ptx) {
  CUmodule module{};
  CHECK(cu.cuModuleLoadData(&module, ptx));
  return module;
}
inline CUfunction find_kernel(CUmodule module, const char* name) {
  CUfunction kernel{};
  CHECK(cu.cuModuleGetFunction(&kernel, module, name));
  return kernel;
}

// Launches `kernel` on a one-dimensional grid; `arguments` are passed by address in order.
template <typename... Arguments>
CUresult launch(CUfunction kernel, unsigned blocks, unsigned threads, CUstream stream,
                Arguments... arguments) {
  void* addresses[sizeof...(Arguments) + 1] = {static_cast<void*>(&arguments)..., nullptr};
  return cu.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, addresses, nullptr);
}

// void add(unsigned* values, unsigned count, unsigned amount): values[i] += amount.
inline constexpr const char* kAddPtx = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry add(.param .u64 values, .param .u32 count, .param .u32 amount)
{
  .reg .pred %past;
  .reg .b32 %r<7>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [values];
  ld.param.u32 %r1, [count];
  ld.param.u32 %r2, [amount];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r3, %r3, %r4, %r5;
  setp.ge.u32 %past, %r3, %r1;
  @%past ret;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.u32 %rd2, %r3, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3];
  add.u32 %r6, %r6, %r2;
  st.global.u32 [%rd3], %r6;
  ret;
}
)";

}  // namespace sluice::programs
