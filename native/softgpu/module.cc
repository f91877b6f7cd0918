#include "softgpu/module.h"

#include <algorithm>
#include <cstring>

#include "common/log.h"
#include "softgpu/api.h"
#include "softgpu/context.h"

namespace sluice::softgpu {
namespace {

constexpr int kDefaultShared = 48 * 1024;

// Tries the entries from the newest on: one may need an architecture-specific feature that this device lacks.
CUresult compile(const Images& images, int cc, std::unique_ptr<ptx::Program>* out, int* sm,
                 std::string* why) {
  std::vector<const PtxImage*> candidates;
  if (select_images(images, cc, &candidates) != CUDA_SUCCESS) {
    *why = images.has_elf && images.ptx.empty()
               ? "the image holds machine code only and no PTX"
               : "the image holds no PTX for this compute capability or below";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  CUresult last = CUDA_ERROR_NO_BINARY_FOR_GPU;
  for (const PtxImage* candidate : candidates) {
    ptx::CompileOptions options;
    options.compute_capability = cc;
    ptx::CompileResult result = ptx::compile(candidate->text, options);
    if (result.status.ok()) {
      *out = std::move(result.program);
      *sm = candidate->sm != 0 ? candidate->sm : ptx_target(candidate->text);
      return CUDA_SUCCESS;
    }
    last = result.status.code;
    if (!why->empty()) *why += "; ";
    *why += result.status.message;
  }
  return last;
}

void report_failure(CUresult code, const std::string& why, JitReport* report) {
  SLUICE_WARN("softgpu: a module was not loaded (error %d): %s", code, why.c_str());
  if (report == nullptr || report->error_log == nullptr || report->error_log_bytes == 0) return;
  const size_t length = std::min(why.size(), report->error_log_bytes - 1);
  std::memcpy(report->error_log, why.data(), length);
  report->error_log[length] = '\0';
  report->error_log_bytes = length + 1;
}

}  // namespace

Module::Module(Context& owner, std::unique_ptr<ptx::Program> compiled, int ptx_sm, Library* from)
    : context(owner), library(from), program(std::move(compiled)), handle_(create_handle(kKind, this)) {
  const auto kernels = program->kernels();
  for (size_t i = 0; i < kernels.size(); ++i) {
    functions_.push_back(std::make_unique<Function>(*this, i, kernels[i], ptx_sm));
    by_name_.emplace(kernels[i].name, i);
  }
}

Module::~Module() {
  for (const uint64_t address : addresses_) {
    if (address == 0) continue;
    if (const auto removed = memory_registry().remove(address)) dispose(*removed);
  }
  destroy_handle(handle_);
}

CUresult Module::place_variables(std::string* why) {
  for (const ptx::Variable& variable : program->variables()) {
    if (variable.is_extern && !variable.is_weak) {
      *why = "the variable " + variable.name + " is declared but defined nowhere";
      return CUDA_ERROR_INVALID_PTX;
    }
    // An empty array still has an address of its own.
    uint64_t address = 0;
    SLUICE_TRY(allocate_device(context, std::max<uint64_t>(variable.bytes, 1), MemoryKind::kDevice, 0,
                               nullptr, true, &address));
    addresses_.push_back(address);
  }
  const ptx::Status bound = program->bind(addresses_);
  *why = bound.message;
  return bound.code;
}

Function* Module::function(const std::string& name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : functions_[found->second].get();
}

std::vector<Function*> Module::functions() {
  std::vector<Function*> out;
  for (const auto& function : functions_) out.push_back(function.get());
  return out;
}

bool Module::variable(const std::string& name, uint64_t* address, uint64_t* bytes) const {
  const auto variables = program->variables();
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name != name) continue;
    *address = addresses_[i];
    *bytes = variables[i].bytes;
    return true;
  }
  return false;
}

CUresult instantiate(Context& context, const Images& images, Library* library, JitReport* report,
                     Module** out) {
  std::unique_ptr<ptx::Program> program;
  int sm = 0;
  std::string why;
  CUresult result = compile(images, context.device.cc(), &program, &sm, &why);
  std::unique_ptr<Module> created;
  if (result == CUDA_SUCCESS) {
    created = std::make_unique<Module>(context, std::move(program), sm, library);
    result = created->place_variables(&why);
  }
  if (result != CUDA_SUCCESS) {
    report_failure(result, why, report);
    return result;
  }
  *out = created.get();
  const std::lock_guard lock(context.objects_mutex);
  context.modules[created.get()] = std::move(created);
  return CUDA_SUCCESS;
}

CUresult load_module(Context& context, const void* image, JitReport* report, CUmodule* out) {
  Images images;
  std::string why;
  if (const CUresult result = read_image(image, &images, &why); result != CUDA_SUCCESS) {
    report_failure(result, why, report);
    return result;
  }
  Module* module = nullptr;
  SLUICE_TRY(instantiate(context, images, nullptr, report, &module));
  *out = module->handle();
  return CUDA_SUCCESS;
}

void unload(Module& module) {
  Context& context = module.context;
  context.synchronize();
  std::unique_ptr<Module> removed;
  const std::lock_guard lock(context.objects_mutex);
  const auto at = context.modules.find(&module);
  if (at == context.modules.end()) return;
  removed = std::move(at->second);
  context.modules.erase(at);
}

Function::Function(Module& owner, size_t kernel_index, const ptx::KernelInfo& kernel_info, int ptx_version)
    : module(owner),
      index(kernel_index),
      info(kernel_info),
      ptx_sm(ptx_version),
      handle_(create_handle(kKind, this)) {}

Function::~Function() { destroy_handle(handle_); }

int Function::max_dynamic_shared() const {
  if (settings.max_dynamic_shared >= 0) return settings.max_dynamic_shared;
  return std::max(0, kDefaultShared - static_cast<int>(info.static_shared_bytes));
}

CUresult Function::attribute(CUfunction_attribute attribute, int* out) const {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *out = static_cast<int>(info.max_threads);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *out = static_cast<int>(info.static_shared_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: {
      uint64_t bytes = 0;
      for (const ptx::Variable& variable : module.program->variables()) {
        if (variable.space == ptx::Space::kConst) bytes += variable.bytes;
      }
      *out = static_cast<int>(bytes);
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *out = static_cast<int>(info.local_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *out = static_cast<int>(info.registers);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *out = ptx_sm;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *out = module.context.device.cc();
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      *out = 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *out = max_dynamic_shared();
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *out = settings.carveout;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *out = settings.cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      *out = settings.non_portable_cluster;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *out = settings.cluster_policy;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult FunctionSettings::set(const ptx::KernelInfo& info, const Device& device,
                               CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > device.sm.shared_optin_bytes - static_cast<int>(info.static_shared_bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      max_dynamic_shared = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      carveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      if (value < 0) return CUDA_ERROR_INVALID_VALUE;
      cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      if (value != 0 && value != 1) return CUDA_ERROR_INVALID_VALUE;
      non_portable_cluster = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT ||
          value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      cluster_policy = value;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace sluice::softgpu
