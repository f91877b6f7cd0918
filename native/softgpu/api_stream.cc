// Streams, and functions of the host in them.
#include <algorithm>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"
#include "softgpu/graph/node_params.h"
#include "softgpu/stream.h"

namespace sluice::softgpu {
namespace {

constexpr int kLowestPriority = 0;
constexpr int kHighestPriority = -5;

CUresult find_stream(CUstream handle, std::shared_ptr<Stream>* out) {
  if (const auto* own = lookup<Stream>(handle); own != nullptr)
    return own->context->resolve_stream(handle, out);
  Context* context;
  SLUICE_TRY(current_context(&context));
  return context->resolve_stream(handle, out);
}

CUresult create(CUstream* out, unsigned flags, int priority) {
  if (out == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  return context->create_stream(flags, std::clamp(priority, kHighestPriority, kLowestPriority), out);
}

CUresult query(CUstream handle) {
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  SLUICE_TRY(refuse_while_capturing(*stream));
  SLUICE_TRY(stream->context->error());
  return stream->context->is_done(*stream) ? stream->context->error() : CUDA_ERROR_NOT_READY;
}

class NoOperation : public Operation {
 public:
  CUresult run(Stream&) override { return CUDA_SUCCESS; }
};

CUresult synchronize(CUstream handle) {
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  SLUICE_TRY(refuse_while_capturing(*stream));
  if (handle == nullptr || handle == CU_STREAM_LEGACY) SLUICE_TRY(refuse_implicit_dependency(*stream));
  if (stream->context->is_done(*stream)) return stream->context->error();
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    // Includes what the default stream waits for.
    NoOperation turn;
    return stream->context->submit_and_wait(*stream, turn);
  }
  stream->synchronize();
  return stream->context->error();
}

// cuLaunchHostFunc: not called when the context has failed.
class HostFunction : public Operation {
 public:
  HostFunction(CUhostFn function, void* data) : function_(function), data_(data) {}
  CUresult run(Stream&) override {
    function_(data_);
    return CUDA_SUCCESS;
  }

 private:
  const CUhostFn function_;
  void* const data_;
};

// cuStreamAddCallback: always called, and told how it stands.
class Callback : public Operation {
 public:
  Callback(CUstreamCallback function, CUstream stream, void* data)
      : function_(function), stream_(stream), data_(data) {}
  CUresult run(Stream&) override {
    function_(stream_, CUDA_SUCCESS, data_);
    return CUDA_SUCCESS;
  }
  void skip(Stream&, CUresult error) override { function_(stream_, error, data_); }

 private:
  const CUstreamCallback function_;
  const CUstream stream_;
  void* const data_;
};

CUresult submit(CUstream handle, std::unique_ptr<Operation> operation) {
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  SLUICE_TRY(stream->context->error());
  SLUICE_TRY(refuse_while_capturing(*stream));
  stream->context->submit(*stream, std::move(operation));
  return CUDA_SUCCESS;
}

CUresult call_on_host(CUstream handle, CUhostFn function, void* data) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  SLUICE_TRY(stream->context->error());
  CUresult result = CUDA_SUCCESS;
  const auto as_node = [&](Work* work) { return make_host_work({function, data}, work); };
  if (captured(*stream, as_node, &result)) return result;
  stream->context->submit(*stream, std::make_unique<HostFunction>(function, data));
  return CUDA_SUCCESS;
}

template <typename T, typename Value>
CUresult describe(CUstream handle, T* out, Value&& value) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  *out = value(*stream);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuStreamCreate(CUstream* out, unsigned flags) {
  return api([&] { return create(out, flags, kLowestPriority); });
}
SLUICE_API cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  return api([&] { return create(out, flags, priority); });
}
SLUICE_API cuStreamDestroy_v2(CUstream handle) {
  return api([&]() -> CUresult {
    auto* stream = lookup<Stream>(handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const std::shared_ptr<Stream> kept = stream->shared_from_this();
    kept->context->destroy_stream(*kept);
    return CUDA_SUCCESS;
  });
}

SLUICE_API_PAIR(cuStreamQuery, _ptsz, (CUstream stream), return query(pick(stream));)
SLUICE_API_PAIR(cuStreamSynchronize, _ptsz, (CUstream stream), return synchronize(pick(stream));)
SLUICE_API_PAIR(cuStreamGetPriority, _ptsz, (CUstream stream, int* out),
                return describe(pick(stream), out, [](Stream& s) { return s.priority.load(); });)
SLUICE_API_PAIR(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned* out),
                return describe(pick(stream), out, [](Stream& s) { return s.flags; });)
SLUICE_API_PAIR(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long* out),
                return describe(pick(stream), out, [](Stream& s) { return s.id; });)
SLUICE_API_PAIR(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext* out),
                return describe(pick(stream), out, [](Stream& s) { return s.context->handle(); });)
SLUICE_API_PAIR(cuStreamGetCtx_v2, _ptsz, (CUstream stream, CUcontext* out, CUgreenCtx* green),
                if (green != nullptr) * green = nullptr;
                return describe(pick(stream), out, [](Stream& s) { return s.context->handle(); });)
SLUICE_API_PAIR(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice* out),
                return describe(pick(stream), out, [](Stream& s) { return s.context->device.index; });)

SLUICE_API_PAIR(cuStreamAddCallback, _ptsz,
                (CUstream stream, CUstreamCallback function, void* data, unsigned flags),
                if (function == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
                return submit(pick(stream), std::make_unique<Callback>(function, stream, data));)
SLUICE_API_PAIR(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn function, void* data),
                return call_on_host(pick(stream), function, data);)

namespace sluice::softgpu {

std::span<const Entry> stream_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuStreamCreate", 2000, cuStreamCreate),
      SLUICE_ENTRY("cuStreamCreateWithPriority", 5050, cuStreamCreateWithPriority),
      SLUICE_ENTRY("cuStreamDestroy", 4000, cuStreamDestroy_v2),
      SLUICE_ENTRY_PAIR("cuStreamQuery", 2000, cuStreamQuery, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamSynchronize", 2000, cuStreamSynchronize, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamGetPriority", 5050, cuStreamGetPriority, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamGetFlags", 5050, cuStreamGetFlags, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamGetId", 12000, cuStreamGetId, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamGetCtx", 9020, cuStreamGetCtx, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamGetCtx", 12050, cuStreamGetCtx_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamGetDevice", 12080, cuStreamGetDevice, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamAddCallback", 5000, cuStreamAddCallback, _ptsz),
      SLUICE_ENTRY_PAIR("cuLaunchHostFunc", 10000, cuLaunchHostFunc, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
