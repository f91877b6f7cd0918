// What nodes of graphs have the client do, each time a launch comes to them: run a function, or send or
// take the bytes of a copy. A node that copies from or to the client's memory is two of the driver: a host
// function that exchanges the bytes, and a copy from or to memory of the worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/cuda_types.h"

namespace sluice::worker {

class Session;
struct HostTask;

enum class GraphTaskKind : uint8_t {
  run,      // a function of the client, or a copy within its memory
  fetch,    // bytes from the client, before the copy to the device
  deliver,  // bytes to the client, after the copy from the device
};

// Page-locked memory that copies of graphs go through, so that no launch waits for them. Kept for later
// tasks until its context goes: freeing it waits for the GPU, which may be waiting for the client.
struct GraphBuffer {
  uint8_t* memory = nullptr;
  uint64_t bytes = 0;
  CUcontext context = nullptr;
  bool pinned = false;
  std::atomic<bool> in_use{true};
};

// Used by the leading thread only; buffers are given back by whichever thread ends a task.
class GraphBuffers {
 public:
  // Null when there is no memory, or too much of it is in use by graphs.
  std::shared_ptr<GraphBuffer> take(Session& session, uint64_t bytes);
  // The context, which is current, is about to go and nothing runs in it any more.
  void forget(Session& session, CUcontext context);

 private:
  std::vector<std::shared_ptr<GraphBuffer>> buffers_;
  uint64_t bytes_ = 0;
};

struct GraphTask {
  // Null when there is no memory, or too much of it is in use by graphs.
  static std::shared_ptr<GraphTask> create(Session* session, GraphTaskKind kind, uint32_t number,
                                           uint64_t bytes, bool is_copy);
  GraphTask() = default;
  GraphTask(const GraphTask&) = delete;
  GraphTask& operator=(const GraphTask&) = delete;
  ~GraphTask();

  Session* session = nullptr;
  GraphTaskKind kind = GraphTaskKind::run;
  bool is_copy = false;  // seen by the client as a copy
  uint32_t number = 0;   // the client's
  std::shared_ptr<GraphBuffer> buffer;
  uint8_t* memory = nullptr;  // the buffer's
  uint64_t bytes = 0;
};

// The function of the driver's host nodes; the argument is a GraphTask that whoever launches keeps.
void run_graph_task(void* task);

// The tasks of an executable graph, or those that a running launch uses. The node says which one a task
// replaces when the parameters of the node change.
using TaskList = std::vector<std::pair<CUgraphNode, std::shared_ptr<GraphTask>>>;

// Keeps tasks until a launch is done, and tells the client then. For cuLaunchHostFunc.
struct LaunchEnd {
  Session* session;
  std::shared_ptr<const TaskList> tasks;
  std::shared_ptr<HostTask> done;  // null: the client does not want to know
};
void end_launch(void* launch_end);

}  // namespace sluice::worker
