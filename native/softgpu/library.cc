// Libraries and kernels: loaded without a context, compiled when a context first needs them.
#include <algorithm>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/module.h"

namespace sluice::softgpu {

Library::Library(Images loaded) : images(std::move(loaded)), handle_(create_handle(kKind, this)) {}

Library::~Library() {
  for (const auto& [context, handle] : modules_) {
    auto* found = lookup<Module>(handle);
    if (found != nullptr && found->library == this) unload(*found);
  }
  destroy_handle(handle_);
}

CUresult Library::module(Context& context, Module** out) {
  const std::lock_guard lock(mutex_);
  if (const auto known = modules_.find(&context); known != modules_.end()) {
    // The context may have been reset, and the module gone with it.
    auto* found = lookup<Module>(known->second);
    if (found != nullptr && found->library == this && &found->context == &context) {
      *out = found;
      return CUDA_SUCCESS;
    }
  }
  SLUICE_TRY(instantiate(context, images, this, nullptr, out));
  modules_[&context] = (*out)->handle();
  return CUDA_SUCCESS;
}

CUresult Library::describe() {
  if (described_) return CUDA_SUCCESS;
  Context* context = nullptr;
  std::unique_ptr<ptx::Program> described_only;
  std::span<const ptx::KernelInfo> found;
  if (current_context(&context) == CUDA_SUCCESS) {
    Module* loaded = nullptr;
    SLUICE_TRY(module(*context, &loaded));
    found = loaded->program->kernels();
  } else {
    const int cc = driver()->devices.front()->cc();
    std::vector<const PtxImage*> candidates;
    SLUICE_TRY(select_images(images, cc, &candidates));
    CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    for (const PtxImage* candidate : candidates) {
      ptx::CompileOptions options;
      options.compute_capability = cc;
      ptx::CompileResult compiled = ptx::compile(candidate->text, options);
      result = compiled.status.code;
      if (!compiled.status.ok()) continue;
      described_only = std::move(compiled.program);
      found = described_only->kernels();
      break;
    }
    SLUICE_TRY(result);
  }
  for (const ptx::KernelInfo& info : found) kernels_.push_back(std::make_unique<Kernel>(*this, info.name));
  described_ = true;
  return CUDA_SUCCESS;
}

CUresult Library::kernels(std::vector<Kernel*>* out) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(describe());
  for (const auto& kernel : kernels_) out->push_back(kernel.get());
  return CUDA_SUCCESS;
}

CUresult Library::kernel(const std::string& name, Kernel** out) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(describe());
  const auto found =
      std::find_if(kernels_.begin(), kernels_.end(), [&](const auto& k) { return k->name == name; });
  if (found == kernels_.end()) return CUDA_ERROR_NOT_FOUND;
  *out = found->get();
  return CUDA_SUCCESS;
}

Kernel::Kernel(Library& owner, std::string kernel_name)
    : library(owner), name(std::move(kernel_name)), handle_(create_handle(kKind, this)) {}

Kernel::~Kernel() { destroy_handle(handle_); }

CUresult Kernel::function(Context& context, Function** out) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = functions_.find(&context); known != functions_.end()) {
      *out = lookup<Function>(known->second);
      if (*out != nullptr && (*out)->module.library == &library && &(*out)->module.context == &context) {
        return CUDA_SUCCESS;
      }
    }
  }
  Module* module = nullptr;
  SLUICE_TRY(library.module(context, &module));
  *out = module->function(name);
  if (*out == nullptr) return CUDA_ERROR_NOT_FOUND;
  const std::lock_guard lock(mutex_);
  for (const auto& [attribute, value] : pending_[context.device.index]) {
    (*out)->settings.set((*out)->info, context.device, attribute, value);
  }
  functions_[&context] = (*out)->handle();
  return CUDA_SUCCESS;
}

CUresult Kernel::set_attribute(CUfunction_attribute attribute, int value, const Device& device) {
  const std::lock_guard lock(mutex_);
  for (const auto& [context, handle] : functions_) {
    auto* function = lookup<Function>(handle);
    if (function == nullptr || function->module.library != &library) continue;
    if (&function->module.context.device != &device) continue;
    SLUICE_TRY(function->settings.set(function->info, device, attribute, value));
  }
  if (functions_.empty()) {
    // Not loaded yet: checked without knowing the kernel's own shared memory, applied when it is.
    FunctionSettings trial;
    SLUICE_TRY(trial.set(ptx::KernelInfo{}, device, attribute, value));
  }
  pending_[device.index].emplace_back(attribute, value);
  return CUDA_SUCCESS;
}

}  // namespace sluice::softgpu
