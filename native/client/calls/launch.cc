// Launching kernels and host functions.
#include <cstring>

#include "client/captures.h"
#include "client/kernel_parameters.h"
#include "client/scope.h"
#include "client/stats.h"
#include "client/task_order.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"
#include "wire/hello.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

constexpr size_t kMostAttributes = 64;

// The form that holds the launch: kShort for nearly all, then that without flags, then kWide.
uint16_t form_of(const Channel& channel, uint32_t stream, const LaunchShape& s) {
  if (s.grid[1] > 0xffff || s.grid[2] > 0xffff) return wire::kWide;
  const bool short_one =
      stream <= 0xffff && s.block[2] <= 0xff && channel.protocol() >= wire::kProtocolShortLaunch;
  return short_one ? wire::kShort : uint16_t{0};
}

// Function, stream, shape; the worker reads them in calls/launch.cc.
size_t put_head(uint8_t* at, uint32_t function, uint32_t stream, const LaunchShape& s, uint16_t form) {
  uint8_t* const start = at;
  const auto put = [&at](auto value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  };
  put(function);
  if (form == wire::kShort) {
    put(static_cast<uint16_t>(stream));
  } else {
    put(stream);
  }
  put(s.shared_bytes);
  put(s.grid[0]);
  for (const unsigned dimension : {s.grid[1], s.grid[2], s.block[0], s.block[1]}) {
    if (form == wire::kWide) {
      put(dimension);
    } else {
      put(static_cast<uint16_t>(dimension));
    }
  }
  if (form == wire::kShort) {
    put(static_cast<uint8_t>(s.block[2]));
  } else if (form == wire::kWide) {
    put(s.block[2]);
  } else {
    put(static_cast<uint16_t>(s.block[2]));
  }
  return static_cast<size_t>(at - start);
}

CUresult launch(CUfunction f, const LaunchShape& shape, CUstream handle, void** kernel_params, void** extra,
                const CUlaunchAttribute* attributes, uint32_t attribute_count) {
  Scope scope;
  Function* function = nullptr;
  Stream* stream = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(handle, &stream)) return error;
  if (CUresult error = scope.find(f, &function)) return error;
  if (CUresult error = scope.need_context()) return error;
  if (stream != nullptr && stream->context->channel != scope.channel) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult error = check_shape(scope, *function, shape)) return error;
  KernelParameters parameters;
  if (CUresult error = find_parameters(*function, kernel_params, extra, &parameters)) return error;

  constexpr size_t kHead = sizeof(wire::RequestHeader) + 36;
  constexpr size_t kAttributeBytes = sizeof(uint32_t) + sizeof(CUlaunchAttributeValue);
  constexpr size_t kOnStack = 4096;
  const size_t size = kHead + sizeof(uint32_t) + attribute_count * kAttributeBytes + parameters.bytes;
  uint8_t on_stack[kOnStack];
  std::unique_ptr<uint8_t[]> on_heap(size > kOnStack ? new uint8_t[size] : nullptr);
  uint8_t* const frame = on_heap ? on_heap.get() : on_stack;
  const uint32_t stream_index = stream ? stream->index : 0;
  const uint16_t form = form_of(*scope.channel, stream_index, shape);
  uint8_t* at = frame + sizeof(wire::RequestHeader);
  at += put_head(at, function->index, stream_index, shape, form);
  if (attributes != nullptr) {
    std::memcpy(at, &attribute_count, sizeof attribute_count);
    at += sizeof attribute_count;
    for (uint32_t i = 0; i < attribute_count; i++) {
      const auto id = static_cast<uint32_t>(attributes[i].id);
      std::memcpy(at, &id, sizeof id);
      std::memcpy(at + sizeof id, &attributes[i].value, sizeof(CUlaunchAttributeValue));
      at += kAttributeBytes;
    }
  }
  if (parameters.packed == nullptr) std::memset(at, 0, parameters.bytes);  // the gaps between parameters
  pack(*function->info, parameters, at);
  at += parameters.bytes;
  const auto call = attributes ? CallId::cuLaunchKernelEx : CallId::cuLaunchKernel;
  const wire::RequestHeader header{
      static_cast<uint32_t>(at - frame - static_cast<ptrdiff_t>(sizeof(wire::RequestHeader))),
      static_cast<uint16_t>(call), form};
  std::memcpy(frame, &header, sizeof header);
  stats().launches.fetch_add(1, std::memory_order_relaxed);
  return scope.channel->post(scope.context->index, frame, static_cast<size_t>(at - frame));
}

CUresult call_on_host(CUstream handle, HostTask task) {
  Scope scope;
  Stream* stream = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(handle, &stream)) return error;
  if (CUresult error = scope.need_context()) return error;
  if (scope.capture != 0) {
    if (task.function != nullptr) return capture_function(scope, stream, task.function, task.user_data);
    invalidate_captures(*scope.session, {{scope.capture, stream}});  // a callback cannot be captured
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  task.channel = scope.channel;
  const uint32_t number = scope.session->tasks.add(task);
  wire::AsyncFrame<8> frame(CallId::cuLaunchHostFunc);
  frame.put(stream ? stream->index : 0);
  frame.put(number);
  if (CUresult error = scope.post(frame)) {
    scope.session->tasks.forget(number);
    return error;
  }
  order_after(*scope.context, stream, number);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                        unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                        unsigned int sharedMemBytes, CUstream hStream, void** kernelParams, void** extra) {
  const LaunchShape shape{{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes};
  return launch(f, shape, hStream, kernelParams, extra, nullptr, 0);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra) {
  if (config == nullptr || config->numAttrs > kMostAttributes) return CUDA_ERROR_INVALID_VALUE;
  if (config->numAttrs > 0 && config->attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const LaunchShape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                          {config->blockDimX, config->blockDimY, config->blockDimZ},
                          config->sharedMemBytes};
  return launch(f, shape, config->hStream, kernelParams, extra,
                config->numAttrs > 0 ? config->attrs : nullptr, config->numAttrs);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                                   unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                                   void** kernelParams) {
  const LaunchShape shape{{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes};
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  return launch(f, shape, hStream, kernelParams, nullptr, &cooperative, 1);
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  if (fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  HostTask task;
  task.function = fn;
  task.user_data = userData;
  return call_on_host(hStream, task);
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData,
                             unsigned int flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  HostTask task;
  task.callback = callback;
  task.stream = hStream;
  task.user_data = userData;
  return call_on_host(hStream, task);
}

}  // namespace sluice::client::calls
