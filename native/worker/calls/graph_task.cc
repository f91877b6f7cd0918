#include "worker/calls/graph_task.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "worker/calls/session.h"

namespace sluice::worker {
namespace {

// Memory for copies of graphs, in a session.
constexpr uint64_t kMostMemory = uint64_t{4} << 30;
constexpr uint64_t kLeastBuffer = 4096;

}  // namespace

std::shared_ptr<GraphBuffer> GraphBuffers::take(Session& session, uint64_t bytes) {
  CUcontext context = nullptr;
  if (session.driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return nullptr;
  for (const auto& buffer : buffers_) {
    if (buffer->context == context && buffer->bytes >= bytes &&
        buffer->bytes / 2 <= std::max(bytes, kLeastBuffer) &&
        !buffer->in_use.load(std::memory_order_acquire)) {
      buffer->in_use.store(true);
      return buffer;
    }
  }
  auto buffer = std::make_shared<GraphBuffer>();
  buffer->bytes = std::max(std::bit_ceil(bytes), kLeastBuffer);
  buffer->context = context;
  if (bytes_ + buffer->bytes > kMostMemory) return nullptr;
  buffer->memory = Staging::allocate(session.driver, buffer->bytes, &buffer->pinned);
  if (buffer->memory == nullptr) return nullptr;
  bytes_ += buffer->bytes;
  buffers_.push_back(buffer);
  return buffer;
}

void GraphBuffers::forget(Session& session, CUcontext context) {
  std::erase_if(buffers_, [&](const auto& buffer) {
    if (buffer->context != context) return false;
    bytes_ -= buffer->bytes;
    // A task of another context may still name it; it finds that there is no memory.
    Staging::release(session.driver, std::exchange(buffer->memory, nullptr), buffer->pinned);
    return true;
  });
}

std::shared_ptr<GraphTask> GraphTask::create(Session* session, GraphTaskKind kind, uint32_t number,
                                             uint64_t bytes, bool is_copy) {
  auto task = std::make_shared<GraphTask>();
  task->session = session;
  task->kind = kind;
  task->is_copy = is_copy;
  task->number = number;
  if (bytes == 0) return task;
  task->buffer = session->graphs.buffers.take(*session, bytes);
  if (task->buffer == nullptr) return nullptr;
  task->memory = task->buffer->memory;
  task->bytes = bytes;
  return task;
}

GraphTask::~GraphTask() {
  if (buffer != nullptr) buffer->in_use.store(false, std::memory_order_release);
}

void run_graph_task(void* argument) {
  GraphTask& task = *static_cast<GraphTask*>(argument);
  if (task.buffer != nullptr && task.buffer->memory == nullptr) return;
  if (task.kind == GraphTaskKind::deliver) {
    for (uint64_t offset = 0; offset < task.bytes; offset += Staging::kChunk) {
      struct __attribute__((packed)) {
        uint32_t download;
        uint64_t offset;
      } head{task.number | wire::kGraphDownload, offset};
      const size_t part = std::min<uint64_t>(task.bytes - offset, Staging::kChunk);
      task.session->send(wire::ResponseKind::download, &head, sizeof head, task.memory + offset, part);
    }
    return;
  }
  const auto run = task.session->host_tasks.add_run(task.session, task.memory, task.bytes);
  wait_for_client(*run, wire::ResponseKind::graph_task, {run->number, task.number});
}

void end_launch(void* argument) {
  const std::unique_ptr<LaunchEnd> end(static_cast<LaunchEnd*>(argument));
  if (end->done == nullptr) return;
  const uint32_t number = end->done->number;
  end->session->send(wire::ResponseKind::host_task, &number, sizeof number, nullptr, 0);
}

}  // namespace sluice::worker
