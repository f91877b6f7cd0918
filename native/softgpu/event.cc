#include "softgpu/event.h"

#include <chrono>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"
#include "softgpu/stream.h"

namespace sluice::softgpu {
namespace {

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

class RecordOperation : public Operation {
 public:
  explicit RecordOperation(std::shared_ptr<EventRecord> record) : record_(std::move(record)) {}
  CUresult run(Stream&) override {
    record_->time_ns.store(now_ns(), std::memory_order_relaxed);
    return CUDA_SUCCESS;
  }
  bool is_brief() const override { return true; }

 private:
  std::shared_ptr<EventRecord> record_;
};

// Does nothing: its dependencies make the stream wait.
class WaitOperation : public Operation {
 public:
  CUresult run(Stream&) override { return CUDA_SUCCESS; }
  bool is_brief() const override { return true; }
};

CUresult find_event(CUevent handle, Event** out) {
  *out = lookup<Event>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// The stream that a handle means: its own context's, or the current context's default stream.
CUresult find_stream(CUstream handle, std::shared_ptr<Stream>* out) {
  if (const auto* own = lookup<Stream>(handle); own != nullptr)
    return own->context->resolve_stream(handle, out);
  Context* context;
  SLUICE_TRY(current_context(&context));
  return context->resolve_stream(handle, out);
}

CUresult record_event(CUevent handle, CUstream stream_handle, unsigned flags) {
  if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  Event* event;
  SLUICE_TRY(find_event(handle, &event));
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(stream_handle, &stream));
  if (stream->context.get() != &event->context) return CUDA_ERROR_INVALID_HANDLE;
  SLUICE_TRY(event->context.error());
  CUresult result = CUDA_SUCCESS;
  if (capture_record(*event, *stream, flags, &result)) return result;
  return event->record(stream);
}

CUresult wait_event(CUstream stream_handle, CUevent handle, unsigned flags) {
  if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  Event* event;
  SLUICE_TRY(find_event(handle, &event));
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(stream_handle, &stream));
  SLUICE_TRY(stream->context->error());
  CUresult result = CUDA_SUCCESS;
  if (capture_wait(*stream, *event, flags, &result)) return result;
  const auto record = event->last();
  if (!record || record->done()) return CUDA_SUCCESS;
  auto operation = std::make_unique<WaitOperation>();
  operation->dependencies.push_back({record->stream, record->number});
  stream->context->submit(*stream, std::move(operation));
  return CUDA_SUCCESS;
}

CUresult elapsed_time(float* milliseconds, CUevent begin_handle, CUevent end_handle) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Event *begin, *end;
  SLUICE_TRY(find_event(begin_handle, &begin));
  SLUICE_TRY(find_event(end_handle, &end));
  if (((begin->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) return CUDA_ERROR_INVALID_HANDLE;
  const auto first = begin->last();
  const auto second = end->last();
  if (!first || !second) return CUDA_ERROR_INVALID_HANDLE;
  if (!first->done() || !second->done()) return CUDA_ERROR_NOT_READY;
  SLUICE_TRY(begin->context.error());
  SLUICE_TRY(end->context.error());
  const auto from = static_cast<int64_t>(first->time_ns.load());
  const auto to = static_cast<int64_t>(second->time_ns.load());
  *milliseconds = static_cast<float>(static_cast<double>(to - from) * 1e-6);
  return CUDA_SUCCESS;
}

}  // namespace

bool EventRecord::done() const { return stream->is_done(number); }

Event::Event(Context& owner, unsigned event_flags)
    : context(owner), flags(event_flags), handle_(create_handle(kKind, this)) {}

Event::~Event() {
  forget_event(*this);
  destroy_handle(handle_);
}

std::shared_ptr<EventRecord> Event::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

CUresult Event::record(const std::shared_ptr<Stream>& stream) {
  auto created = std::make_shared<EventRecord>();
  created->stream = stream;
  const std::lock_guard lock(mutex_);
  created->number = context.submit(*stream, std::make_unique<RecordOperation>(created));
  last_ = std::move(created);
  return CUDA_SUCCESS;
}

}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuEventCreate(CUevent* event, unsigned flags) {
  return api([&]() -> CUresult {
    constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (event == nullptr || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
    if ((flags & CU_EVENT_INTERPROCESS) != 0) {
      return (flags & CU_EVENT_DISABLE_TIMING) == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
    }
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    const std::lock_guard lock(context->objects_mutex);
    auto created = std::make_unique<Event>(*context, flags);
    context->events.insert(created.get());
    *event = created.release()->handle();
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuEventDestroy_v2(CUevent handle) {
  return api([&]() -> CUresult {
    Event* event;
    SLUICE_TRY(find_event(handle, &event));
    Context& context = event->context;
    const std::lock_guard lock(context.objects_mutex);
    context.events.erase(event);
    delete event;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuEventQuery(CUevent handle) {
  return api([&]() -> CUresult {
    Event* event;
    SLUICE_TRY(find_event(handle, &event));
    SLUICE_TRY(refuse_captured_event(*event));
    const auto record = event->last();
    if (record && !record->done()) return CUDA_ERROR_NOT_READY;
    return event->context.error();
  });
}

SLUICE_API cuEventSynchronize(CUevent handle) {
  return api([&]() -> CUresult {
    Event* event;
    SLUICE_TRY(find_event(handle, &event));
    SLUICE_TRY(refuse_captured_event(*event));
    if (const auto record = event->last()) record->stream->wait_for(record->number);
    return event->context.error();
  });
}

SLUICE_API cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return api([&] { return elapsed_time(milliseconds, begin, end); });
}

SLUICE_API cuEventElapsedTime_v2(float* milliseconds, CUevent begin, CUevent end) {
  return api([&] { return elapsed_time(milliseconds, begin, end); });
}

SLUICE_API_PAIR(cuEventRecord, _ptsz, (CUevent event, CUstream stream),
                return record_event(event, pick(stream), CU_EVENT_RECORD_DEFAULT);)
SLUICE_API_PAIR(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
                return record_event(event, pick(stream), flags);)
SLUICE_API_PAIR(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
                return wait_event(pick(stream), event, flags);)

namespace sluice::softgpu {

std::span<const Entry> event_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuEventCreate", 2000, cuEventCreate),
      SLUICE_ENTRY("cuEventDestroy", 4000, cuEventDestroy_v2),
      SLUICE_ENTRY("cuEventQuery", 2000, cuEventQuery),
      SLUICE_ENTRY("cuEventSynchronize", 2000, cuEventSynchronize),
      SLUICE_ENTRY("cuEventElapsedTime", 2000, cuEventElapsedTime),
      SLUICE_ENTRY("cuEventElapsedTime", 12080, cuEventElapsedTime_v2),
      SLUICE_ENTRY_PAIR("cuEventRecord", 2000, cuEventRecord, _ptsz),
      SLUICE_ENTRY_PAIR("cuEventRecordWithFlags", 11010, cuEventRecordWithFlags, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamWaitEvent", 3020, cuStreamWaitEvent, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
