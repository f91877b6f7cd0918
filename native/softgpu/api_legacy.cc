// First forms of functions, whose later forms mean the same on 64-bit systems. Programs that look symbols up
// by their plain names find them here; the names that cuGetProcAddress gives out are in the tables of the
// later forms.
#include "softgpu/api.h"
#include "softgpu/context.h"

SLUICE_API cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice ordinal);
SLUICE_API cuCtxDestroy_v2(CUcontext handle);
SLUICE_API cuCtxPushCurrent_v2(CUcontext handle);
SLUICE_API cuCtxPopCurrent_v2(CUcontext* out);
SLUICE_API cuEventDestroy_v2(CUevent handle);
SLUICE_API cuStreamDestroy_v2(CUstream handle);
SLUICE_API cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags);

SLUICE_API cuCtxCreate(CUcontext* out, unsigned flags, CUdevice ordinal) {
  return cuCtxCreate_v2(out, flags, ordinal);
}
SLUICE_API cuCtxDestroy(CUcontext handle) { return cuCtxDestroy_v2(handle); }
SLUICE_API cuCtxPushCurrent(CUcontext handle) { return cuCtxPushCurrent_v2(handle); }
SLUICE_API cuCtxPopCurrent(CUcontext* out) { return cuCtxPopCurrent_v2(out); }
SLUICE_API cuEventDestroy(CUevent handle) { return cuEventDestroy_v2(handle); }
SLUICE_API cuStreamDestroy(CUstream handle) { return cuStreamDestroy_v2(handle); }
SLUICE_API cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(pointer, bytes, flags);
}

using namespace sluice::softgpu;

// Attaching gives a second hold on the current context; a detach gives one of them up, and the last one
// destroys.
SLUICE_API cuCtxAttach(CUcontext* out, unsigned flags) {
  return api([&]() -> CUresult {
    if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(current_context(&context));
    context->attachments.fetch_add(1);
    *out = context->handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuCtxDetach(CUcontext handle) {
  return api([&]() -> CUresult {
    auto* context = lookup<Context>(handle);
    if (context == nullptr || handle != top_context()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->attachments.load() > 0) {
      context->attachments.fetch_sub(1);
      return CUDA_SUCCESS;
    }
    return cuCtxDestroy_v2(handle);
  });
}

namespace sluice::softgpu {

std::span<const Entry> legacy_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuCtxCreate", 2000, cuCtxCreate),
      SLUICE_ENTRY("cuCtxDestroy", 2000, cuCtxDestroy),
      SLUICE_ENTRY("cuCtxPushCurrent", 2000, cuCtxPushCurrent),
      SLUICE_ENTRY("cuCtxPopCurrent", 2000, cuCtxPopCurrent),
      SLUICE_ENTRY("cuCtxAttach", 2000, cuCtxAttach),
      SLUICE_ENTRY("cuCtxDetach", 2000, cuCtxDetach),
      SLUICE_ENTRY("cuEventDestroy", 2000, cuEventDestroy),
      SLUICE_ENTRY("cuStreamDestroy", 2000, cuStreamDestroy),
      SLUICE_ENTRY("cuMemHostRegister", 4000, cuMemHostRegister),
  };
  return entries;
}

}  // namespace sluice::softgpu
