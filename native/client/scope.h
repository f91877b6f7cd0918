// The start and the end of a call: session, current context, handles, sending.
#pragma once

#include <cstdint>

#include "client/session.h"
#include "client/thread_state.h"
#include "common/cuda_types.h"
#include "wire/frame.h"

namespace sluice::client {

class Scope {
 public:
  // Call first. The error that any call gives before cuInit, in the child of a fork or after the
  // connection was lost.
  CUresult enter();
  // Call after resolving: without a current context, that of the first handle counts. The error that
  // ended the context, if one did.
  CUresult need_context();
  // Call before need_context with an address of device memory that the call touches. Without a stream of its
  // own the call is then made on the server that has the memory; with a stream of another server it waits for
  // that stream first.
  // `stream_index` is then that of the default stream.
  CUresult reach(CUdeviceptr address, CUstream stream, uint32_t* stream_index) {
    return session->channels.size() > 1 ? reach_elsewhere(address, stream, stream_index) : CUDA_SUCCESS;
  }

  // The index by which the worker knows the object; CUDA_ERROR_INVALID_HANDLE for what is none.
  CUresult resolve(CUstream handle, uint32_t* index);
  CUresult resolve(CUevent handle, uint32_t* index);
  CUresult resolve(CUmodule handle, uint32_t* index);
  CUresult resolve(CUlibrary handle, uint32_t* index);
  CUresult resolve(CUfunction handle, uint32_t* index);
  CUresult resolve(CUkernel handle, uint32_t* index);
  CUresult resolve(CUmemoryPool handle, uint32_t* index);
  CUresult resolve(CUcontext handle, uint32_t* index);
  CUresult resolve(CUarray handle, uint32_t* index);
  CUresult resolve(CUmipmappedArray handle, uint32_t* index);
  CUresult resolve(CUtexref handle, uint32_t* index);
  CUresult resolve(CUsurfref handle, uint32_t* index);

  // Objects behind handles, with the same checks.
  CUresult find(CUstream handle, Stream** stream);  // null for the default stream
  CUresult find(CUevent handle, Event** event);
  CUresult find(CUmodule handle, Module** module);
  CUresult find(CUlibrary handle, Library** library);
  CUresult find(CUfunction handle, Function** function);
  CUresult find(CUkernel handle, Function** kernel);

  // A new handle in the context; null when there are too many.
  CUevent mint_event(uint32_t* index);
  CUtexref mint_texref(uint32_t* index);

  void release(CUevent handle);
  void release(CUstream handle);
  void release(CUmemoryPool handle);
  void release(CUtexref handle);

  template <typename Frame>
  CUresult post(const Frame& frame) {
    return channel->post(context_index(), frame.data(), frame.size());
  }
  template <typename Frame>
  CUresult call(Frame& frame) {
    return call_raw(frame.data(), frame.size(), nullptr);
  }
  template <typename Frame, size_t kBytes>
  CUresult call(Frame& frame, wire::FixedReply<kBytes>& reply) {
    Reply answer{reply.data(), kBytes};
    const CUresult result = call_raw(frame.data(), frame.size(), &answer);
    reply.received(answer.received);
    return result;
  }
  CUresult call_raw(uint8_t* frame, size_t size, Reply* reply, const void* bulk = nullptr,
                    size_t bulk_bytes = 0);

  // Whether all work of the context is known to be done: an answer has said so, and nothing was sent to the
  // worker since.
  bool is_settled() const {
    return context->settled_at.load(std::memory_order_acquire) == channel->frames_sent();
  }
  // The answer to this scope's last call says that all work of the context was done.
  void settle() { context->settled_at.store(sent_as, std::memory_order_release); }
  // The same of the work in blocking streams, which is all unless the program has used another one.
  void settle_blocking() {
    if (!context->has_free_streams.load(std::memory_order_acquire)) settle();
  }

  uint32_t context_index() const { return context ? context->index : 0; }

  Session* session = nullptr;
  ThreadState* thread = nullptr;
  Context* context = nullptr;
  Channel* channel = nullptr;
  uint64_t sent_as = 0;  // the channel's number of this scope's last call

 private:
  // Calls about an object of another server than the current context's are made in the object's context.
  void adopt(Context* owner) {
    if (context == nullptr || context->channel != owner->channel) context = owner;
  }
  CUresult reach_elsewhere(CUdeviceptr address, CUstream stream, uint32_t* stream_index);
};

}  // namespace sluice::client
