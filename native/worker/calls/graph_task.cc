#include "worker/calls/graph_task.h"

#include <sys/mman.h>

#include <algorithm>

#include "worker/calls/session.h"

namespace sluice::worker {
namespace {

// Memory for copies of graphs at one time, in a session.
constexpr uint64_t kMostMemory = uint64_t{8} << 30;
std::atomic<uint64_t> memory_in_use{0};

}  // namespace

std::shared_ptr<GraphTask> GraphTask::create(Session* session, GraphTaskKind kind, uint32_t number,
                                             uint64_t bytes, bool is_copy) {
  auto task = std::make_shared<GraphTask>();
  task->session = session;
  task->kind = kind;
  task->is_copy = is_copy;
  task->number = number;
  if (bytes == 0) return task;
  if (memory_in_use.fetch_add(bytes) + bytes > kMostMemory) {
    memory_in_use.fetch_sub(bytes);
    return nullptr;
  }
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    memory_in_use.fetch_sub(bytes);
    return nullptr;
  }
  task->memory = static_cast<uint8_t*>(memory);
  task->bytes = bytes;
  return task;
}

GraphTask::~GraphTask() {
  if (memory == nullptr) return;
  ::munmap(memory, bytes);
  memory_in_use.fetch_sub(bytes);
}

void run_graph_task(void* argument) {
  GraphTask& task = *static_cast<GraphTask*>(argument);
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
