#include "client/helper_streams.h"

#include "client/session.h"
#include "generated/call_ids.h"

namespace sluice::client {

Stream* HelperStreams::take(Session& session, Context* context) {
  {
    const std::lock_guard lock(mutex_);
    auto& idle = idle_[{context, context->epoch.load(std::memory_order_acquire)}];
    if (!idle.empty()) {
      Stream* stream = idle.back();
      idle.pop_back();
      return stream;
    }
  }
  Stream* stream = nullptr;
  if (session.streams.mint(&stream) == nullptr) return nullptr;
  stream->belong_to(context);
  stream->flags = CU_STREAM_NON_BLOCKING;
  stream->id = session.next_id.fetch_add(1);
  wire::AsyncFrame<12> frame(generated::CallId::cuStreamCreateWithPriority);
  frame.put(stream->index);
  frame.put(uint32_t{CU_STREAM_NON_BLOCKING});
  frame.put(int32_t{0});
  if (context->channel->post(context->index, frame.data(), frame.size()) == CUDA_SUCCESS) return stream;
  session.streams.release(stream);
  return nullptr;
}

void HelperStreams::give_back(Stream* stream) {
  const std::lock_guard lock(mutex_);
  idle_[{stream->context, stream->epoch}].push_back(stream);
}

}  // namespace sluice::client
