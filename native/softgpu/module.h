// Modules (loaded into one context), libraries (loaded once, a module per context on demand), and the
// functions and kernels that callers get from them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/cuda_types.h"
#include "softgpu/handle.h"
#include "softgpu/image.h"
#include "softgpu/ptx/engine.h"

namespace sluice::softgpu {

class Context;
class Kernel;
class Library;
class Module;
struct Device;

// What cuFuncSetAttribute and cuKernelSetAttribute change.
struct FunctionSettings {
  int max_dynamic_shared = -1;  // bytes; -1: what is left of 48 KiB
  int carveout = -1;
  int cluster[3] = {0, 0, 0};
  int non_portable_cluster = 0;
  int cluster_policy = 0;
  CUresult set(const ptx::KernelInfo& info, const Device& device, CUfunction_attribute attribute, int value);
};

// What the launch interface before CUDA 4 keeps with a function.
struct OldLaunch {
  std::mutex mutex;
  ptx::Dim3 block;
  unsigned shared_bytes = 0;
  size_t parameter_bytes = 0;
  std::vector<char> parameters;
};

class Function {
 public:
  static constexpr HandleKind kKind = HandleKind::kFunction;

  Function(Module& owner, size_t kernel_index, const ptx::KernelInfo& kernel_info, int ptx_version);
  ~Function();
  CUfunction handle() const { return static_cast<CUfunction>(handle_); }
  CUresult attribute(CUfunction_attribute attribute, int* out) const;
  int max_dynamic_shared() const;

  Module& module;
  const size_t index;
  const ptx::KernelInfo& info;
  const int ptx_sm;
  FunctionSettings settings;
  OldLaunch old_launch;

 private:
  void* handle_;
};

class Module {
 public:
  static constexpr HandleKind kKind = HandleKind::kModule;

  Module(Context& owner, std::unique_ptr<ptx::Program> compiled, int ptx_sm, Library* from);
  ~Module();
  CUmodule handle() const { return static_cast<CUmodule>(handle_); }

  // Allocates the variables and writes their initial values.
  CUresult place_variables(std::string* why);
  Function* function(const std::string& name);
  std::vector<Function*> functions();
  // False when there is no such variable.
  bool variable(const std::string& name, uint64_t* address, uint64_t* bytes) const;

  Context& context;
  Library* const library;  // null unless it is a library's module
  const std::unique_ptr<ptx::Program> program;

 private:
  void* handle_;
  std::vector<std::unique_ptr<Function>> functions_;  // in the order of the program's kernels
  std::unordered_map<std::string, size_t> by_name_;
  std::vector<uint64_t> addresses_;  // in the order of the program's variables; 0 for what is not placed
};

class Kernel {
 public:
  static constexpr HandleKind kKind = HandleKind::kKernel;

  Kernel(Library& owner, std::string kernel_name);
  ~Kernel();
  CUkernel handle() const { return static_cast<CUkernel>(handle_); }
  // The function in the context's module of the library.
  CUresult function(Context& context, Function** out);
  // Settings for the functions on that device, loaded or not.
  CUresult set_attribute(CUfunction_attribute attribute, int value, const Device& device);

  Library& library;
  const std::string name;

 private:
  void* handle_;
  std::mutex mutex_;
  std::map<int, std::vector<std::pair<CUfunction_attribute, int>>> pending_;  // by device
  std::unordered_map<const Context*, CUfunction> functions_;
};

class Library {
 public:
  static constexpr HandleKind kKind = HandleKind::kLibrary;

  explicit Library(Images loaded);
  ~Library();
  CUlibrary handle() const { return static_cast<CUlibrary>(handle_); }
  CUresult module(Context& context, Module** out);
  // Compiles where there is no module yet, for the current context's device or else the first one.
  CUresult kernels(std::vector<Kernel*>* out);
  CUresult kernel(const std::string& name, Kernel** out);

  const Images images;

 private:
  CUresult describe();

  void* handle_;
  std::recursive_mutex mutex_;
  bool described_ = false;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::unordered_map<const Context*, CUmodule> modules_;
};

// What cuModuleLoadDataEx's options ask to be told.
struct JitReport {
  char* error_log = nullptr;
  size_t error_log_bytes = 0;
};

CUresult load_module(Context& context, const void* image, JitReport* report, CUmodule* out);
// Compiles the newest entry that the device accepts, and places it in the context.
CUresult instantiate(Context& context, const Images& images, Library* library, JitReport* report,
                     Module** out);
void unload(Module& module);

// The file's bytes and a few zeros after them.
CUresult read_file(const char* path, std::vector<char>* out);

}  // namespace sluice::softgpu
