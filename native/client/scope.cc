#include "client/scope.h"

#include <unistd.h>

#include <utility>

#include "client/library_places.h"
#include "generated/client_calls.h"

namespace sluice::client {
namespace {

// Errors after which nothing works in the context any more, on hardware as here.
bool ends_context(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
      return true;
    default:
      return false;
  }
}

}  // namespace

namespace {

// The state itself outlives the thread's own end: exit() runs the destructors of the calling thread's
// variables first and the program's exit handlers, which still call us, after them.
thread_local ThreadState* this_thread = nullptr;

// Frees the state of a thread that ends before the program does. Its default streams are the thread's;
// nobody can name them after it.
struct ThreadEnd {
  bool armed = false;
  ~ThreadEnd() {
    if (::gettid() == ::getpid()) return;
    Session* session = nullptr;
    if (current_session(&session) == CUDA_SUCCESS) {
      for (const auto& [key, stream] : this_thread->default_streams) {
        const Stream* object = session->streams.find(stream);
        if (object != nullptr && object->alive()) calls::cuStreamDestroy_v2(stream);
      }
    }
    delete std::exchange(this_thread, nullptr);
  }
};

thread_local ThreadEnd thread_end;

}  // namespace

ThreadState& thread_state() {
  if (this_thread == nullptr) [[unlikely]] {
    this_thread = new ThreadState;
    thread_end.armed = true;  // the first use registers its destructor
  }
  return *this_thread;
}

CUresult Scope::enter() {
  if (CUresult error = current_session(&session)) return error;
  thread = &thread_state();
  if (thread->in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  context = thread->current();
  return CUDA_SUCCESS;
}

CUresult Scope::need_context() {
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  channel = context->channel;
  if (CUresult gone = channel->state()) [[unlikely]]
    return gone;
  if (!context->active.load(std::memory_order_acquire)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return static_cast<CUresult>(context->sticky.load(std::memory_order_relaxed));
}

CUresult Scope::reach_elsewhere(CUdeviceptr address, CUstream stream, uint32_t* stream_index) {
  const auto range = session->memory.device_range(address);
  if (!range || context == nullptr || range->context->channel == context->channel) return CUDA_SUCCESS;
  if (stream != nullptr) {
    if (CUresult error = calls::cuStreamSynchronize(stream)) return error;
  }
  context = range->context;
  if (stream_index != nullptr) *stream_index = 0;
  return CUDA_SUCCESS;
}

CUresult Scope::look_up(CUstream handle, Stream** stream) {
  *stream = nullptr;
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return CUDA_SUCCESS;
  if (handle == CU_STREAM_PER_THREAD) {
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    CUstream& own = thread->default_streams[{context, context->epoch.load(std::memory_order_acquire)}];
    if (own == nullptr) {
      if (CUresult error = calls::cuStreamCreateWithPriority(&own, CU_STREAM_DEFAULT, 0)) return error;
    }
    handle = own;
  }
  *stream = session->streams.find(handle);
  if (*stream == nullptr || !(*stream)->alive()) return CUDA_ERROR_INVALID_HANDLE;
  adopt((*stream)->context);
  if (((*stream)->flags & CU_STREAM_NON_BLOCKING) != 0) {
    (*stream)->context->has_free_streams.store(true, std::memory_order_release);
  }
  return CUDA_SUCCESS;
}

CUresult Scope::find(CUstream handle, Stream** stream) {
  if (CUresult error = look_up(handle, stream)) return error;
  return session->captures.any() ? check_capture(*stream) : CUDA_SUCCESS;
}

// Work in the default stream is ordered with blocking streams, which captures do not survive.
CUresult Scope::check_capture(const Stream* stream) {
  if (stream == nullptr) {
    std::vector<std::pair<uint64_t, Stream*>> conflicting;
    if (!session->captures.conflicts_with_default_stream(&conflicting)) return CUDA_SUCCESS;
    invalidate_captures(*session, conflicting);
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  Capture found;
  const uint64_t id = stream->capture.load(std::memory_order_acquire);
  if (!session->captures.find(id, &found)) return CUDA_SUCCESS;
  if (found.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  capture = id;
  return CUDA_SUCCESS;
}

CUresult Scope::find(CUgraph handle, Graph** graph) {
  *graph = session->graphs.find(handle);
  if (*graph == nullptr || !(*graph)->alive()) return CUDA_ERROR_INVALID_VALUE;
  adopt((*graph)->context);
  return CUDA_SUCCESS;
}

CUresult Scope::find(CUgraphNode handle, GraphNode** node) {
  *node = session->graph_nodes.find(handle);
  if (*node == nullptr || !(*node)->graph->alive()) return CUDA_ERROR_INVALID_VALUE;
  adopt((*node)->graph->context);
  return CUDA_SUCCESS;
}

CUresult Scope::find(CUgraphExec handle, GraphExec** exec) {
  *exec = session->graph_execs.find(handle);
  if (*exec == nullptr || !(*exec)->alive()) return CUDA_ERROR_INVALID_VALUE;
  adopt((*exec)->context);
  return CUDA_SUCCESS;
}

CUresult Scope::find(CUevent handle, Event** event) {
  *event = session->events.find(handle);
  if (*event == nullptr || !(*event)->alive()) return CUDA_ERROR_INVALID_HANDLE;
  adopt((*event)->context);
  return CUDA_SUCCESS;
}

CUresult Scope::find(CUmodule handle, Module** module) {
  *module = session->modules.find(handle);
  if (*module == nullptr || !(*module)->alive()) return CUDA_ERROR_INVALID_HANDLE;
  adopt((*module)->context);
  return CUDA_SUCCESS;
}

CUresult Scope::find(CUlibrary handle, Library** library) {
  *library = session->libraries.find(handle);
  return *library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult Scope::find(CUfunction handle, Function** function) {
  *function = session->functions.find(handle);
  if (*function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Context* owner = (*function)->context;
  if (owner != nullptr) {
    if (owner->epoch.load(std::memory_order_acquire) != (*function)->epoch) return CUDA_ERROR_INVALID_HANDLE;
    adopt(owner);
  } else if (session->channels.size() > 1 && context != nullptr) [[unlikely]] {
    return ensure_library(*session, *(*function)->library, context->channel);
  }
  return CUDA_SUCCESS;
}

CUresult Scope::find(CUkernel handle, Function** kernel) {
  *kernel = session->functions.find(handle);
  if (*kernel == nullptr || !(*kernel)->is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  if (session->channels.size() > 1 && context != nullptr) [[unlikely]] {
    return ensure_library(*session, *(*kernel)->library, context->channel);
  }
  return CUDA_SUCCESS;
}

CUresult Scope::resolve(CUstream handle, uint32_t* index) {
  Stream* stream = nullptr;
  const CUresult error = find(handle, &stream);
  *index = stream ? stream->index : 0;
  return error;
}

CUresult Scope::resolve(CUevent handle, uint32_t* index) {
  Event* event = nullptr;
  if (CUresult error = find(handle, &event)) return error;
  *index = event->index;
  return CUDA_SUCCESS;
}

CUresult Scope::resolve(CUmodule handle, uint32_t* index) {
  Module* module = nullptr;
  if (CUresult error = find(handle, &module)) return error;
  *index = module->index;
  return CUDA_SUCCESS;
}

CUresult Scope::resolve(CUlibrary handle, uint32_t* index) {
  Library* library = nullptr;
  if (CUresult error = find(handle, &library)) return error;
  *index = library->index;
  return CUDA_SUCCESS;
}

CUresult Scope::resolve(CUfunction handle, uint32_t* index) {
  Function* function = nullptr;
  if (CUresult error = find(handle, &function)) return error;
  *index = function->index;
  return CUDA_SUCCESS;
}

CUresult Scope::resolve(CUkernel handle, uint32_t* index) {
  Function* kernel = nullptr;
  if (CUresult error = find(handle, &kernel)) return error;
  *index = kernel->index;
  return CUDA_SUCCESS;
}

CUresult Scope::resolve(CUmemoryPool handle, uint32_t* index) {
  const Pool* pool = session->pools.find(handle);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  adopt(session->devices[static_cast<size_t>(pool->device)]->primary);
  *index = pool->index;
  return CUDA_SUCCESS;
}

CUresult Scope::resolve(CUcontext handle, uint32_t* index) {
  const Context* found = session->contexts.find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *index = found->index;
  return CUDA_SUCCESS;
}

CUevent Scope::mint_event(uint32_t* index) {
  Event* event = nullptr;
  void* handle = session->events.mint(&event);
  if (handle == nullptr) return nullptr;
  event->belong_to(context);
  *index = event->index;
  return static_cast<CUevent>(handle);
}

void Scope::release(CUevent handle) {
  if (Event* event = session->events.find(handle)) session->events.release(event);
}

void Scope::release(CUstream handle) {
  if (Stream* stream = session->streams.find(handle)) session->streams.release(stream);
}

void Scope::release(CUmemoryPool handle) {
  if (Pool* pool = session->pools.find(handle)) session->pools.release(pool);
}

CUresult Scope::call_raw(uint8_t* frame, size_t size, Reply* reply, const void* bulk, size_t bulk_bytes) {
  const CUresult result = channel->call(context_index(), frame, size, reply, bulk, bulk_bytes, &sent_as);
  if (result != CUDA_SUCCESS && context != nullptr && ends_context(result)) context->sticky.store(result);
  // Whatever a capture does not allow it does not survive either.
  if (capture != 0 && result != CUDA_SUCCESS) [[unlikely]]
    session->captures.invalidate(capture);
  return result;
}

}  // namespace sluice::client
