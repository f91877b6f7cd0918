// Driver API helpers of the samples.
#pragma once

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "common/sample.h"
#include "driver/cuda_min.h"

namespace samples {

/// Ends the program with CUDA's name and text of the error when `result` is one.
inline void check_result(const Options& options, CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  fail(options, "%s failed: %s (%d): %s", call, name != nullptr ? name : "unknown error",
       static_cast<int>(result), text != nullptr ? text : "no text");
}

#define CHECK(call) ::samples::check_result(options, call, #call)

/// The device's primary context, current on the calling thread.
inline CUdevice use_device(const Options& options) {
  CHECK(cuInit(0));
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK(cuDeviceGet(&device, options.device));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  return device;
}

/// Loads `<name>.ptx` from the folder the executable is in.
inline CUmodule load_module(const Options& options, const char* name) {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) fail(options, "cannot find my own executable through /proc/self/exe");
  const std::string self(path, static_cast<size_t>(length));
  const std::string file = self.substr(0, self.rfind('/') + 1) + name + ".ptx";
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(options, "cannot open %s, which must lie beside the program", file.c_str());
  std::stringstream text;
  text << stream.rdbuf();
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, text.str().c_str()));
  return module;
}

inline CUfunction get_function(const Options& options, CUmodule module, const char* name) {
  CUfunction function = nullptr;
  CHECK(cuModuleGetFunction(&function, module, name));
  return function;
}

/// Prints "running on <name> (GPU n)".
inline void print_device(const Options& options, CUdevice device) {
  char name[256] = "";
  CHECK(cuDeviceGetName(name, sizeof name, device));
  std::printf("%s: GPU %d, %s\n", options.program, options.device, name);
}

}  // namespace samples
