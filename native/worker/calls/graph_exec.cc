// Executable graphs: their making, their launches and what changes them.
#include "worker/calls/graph_node.h"

namespace sluice::worker::calls {
namespace {

TaskList tasks_of(const GraphRecord& graph) {
  TaskList tasks;
  for (const auto& task : graph.tasks) tasks.emplace_back(nullptr, task);
  return tasks;
}

// A device-side launch has no client that could be told; it is refused before the driver sees it.
constexpr uint64_t kCarriedFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult instantiate(Session& session, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params,
                     CUgraphExec* exec) {
  auto& driver = session.driver;
  if ((params->flags & ~kCarriedFlags) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (driver.cuGraphInstantiateWithParams != nullptr) {
    return driver.cuGraphInstantiateWithParams(exec, graph, params);
  }
  const uint64_t flags = params->flags & ~CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  CUresult result = CUDA_SUCCESS;
  if (driver.cuGraphInstantiateWithFlags != nullptr) {
    result = driver.cuGraphInstantiateWithFlags(exec, graph, flags);
  } else if (flags == 0) {
    result = call(driver.cuGraphInstantiate_v2, exec, graph, &params->hErrNode_out,
                  static_cast<char*>(nullptr), size_t{0});
  } else {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  params->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  if (result == CUDA_SUCCESS && (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) {
    result = call(driver.cuGraphUpload, *exec, params->hUploadStream);
  }
  return result;
}

}  // namespace

// Answers with what went wrong and where, and with how many tasks of the client the graph has.
void cuGraphInstantiateWithParams(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto graph_index = request.args.get<uint32_t>();
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  params.flags = request.args.get<uint64_t>();
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished() || !request.sync()) return session.bad_frame(request);
  GraphRecord* named = session.graphs.graph(graph_index);
  wire::Writer answer;
  const auto finish = [&](CUresult result, size_t tasks) {
    // What building the graph has left behind is why it cannot be instantiated, or is worse than that.
    if (CUresult earlier = session.take_error()) result = earlier;
    answer.put(static_cast<int32_t>(params.result_out));
    answer.put(params.hErrNode_out ? session.graphs.index_of(params.hErrNode_out) : uint32_t{0});
    answer.put(static_cast<uint32_t>(tasks));
    session.finish(request, result, answer);
  };
  params.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  if (named == nullptr || !session.find(stream_index, &params.hUploadStream)) {
    return finish(CUDA_ERROR_INVALID_VALUE, 0);
  }
  GraphRecord& graph = session.graphs.root_of(*named);
  if (CUresult error = session.graphs.own_tasks(graph)) return finish(error, 0);
  if (!session.graphs.reserve(graph.memory)) return finish(CUDA_ERROR_OUT_OF_MEMORY, 0);
  ExecRecord record;
  const CUresult result = instantiate(session, named->graph, &params, &record.exec);
  if (result != CUDA_SUCCESS) {
    session.graphs.release(graph.memory);
    return finish(result, 0);
  }
  record.tasks = std::make_shared<const TaskList>(tasks_of(graph));
  record.memory = graph.memory;
  const size_t tasks = record.tasks->size();
  const CUgraphExec made = record.exec;
  if (session.graphs.add_exec(index, std::move(record))) return finish(result, tasks);
  session.driver.cuGraphExecDestroy(made);
  session.bad_frame(request);
}

void cuGraphExecDestroy(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  const ExecRecord* exec = session.graphs.exec(index);
  if (exec == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  // Launches that run keep what they use.
  const CUresult result = call(session.driver.cuGraphExecDestroy, exec->exec);
  session.graphs.remove_exec(index);
  session.finish(request, result);
}

void cuGraphUpload(Session& session, Request& request) {
  const ExecRecord* exec = session.graphs.exec(request.args.get<uint32_t>());
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (exec == nullptr || !session.find(stream_index, &stream)) {
    return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  }
  session.finish(request, call(session.driver.cuGraphUpload, exec->exec, stream));
}

// The task, if there is one, is done with the launch.
void cuGraphLaunch(Session& session, Request& request) {
  ExecRecord* exec = session.graphs.exec(request.args.get<uint32_t>());
  const auto stream_index = request.args.get<uint32_t>();
  const uint32_t number = request.args.left() > 0 ? request.args.get<uint32_t>() : 0;
  if (!request.args.finished()) return session.bad_frame(request);
  std::shared_ptr<HostTask> done;
  if (number != 0) {
    done = session.host_tasks.add(&session, number, 0);
    if (done == nullptr) return session.bad_frame(request);
  }
  CUstream stream = nullptr;
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  if (exec != nullptr && session.find(stream_index, &stream)) {
    session.context.counters.launches.fetch_add(1, std::memory_order_relaxed);
    result = call(session.driver.cuGraphLaunch, exec->exec, stream);
  }
  if (result == CUDA_SUCCESS) {
    for (const auto& memory : exec->memory) memory->live = !memory->freed_by_graph;
  }
  const bool keeps = exec != nullptr && exec->tasks != nullptr && !exec->tasks->empty();
  if (GraphRecord* capturing = result == CUDA_SUCCESS ? session.capturing_graph(stream) : nullptr) {
    // The launch is a node of another graph, whose launches it comes with.
    if (keeps) {
      for (const auto& task : *exec->tasks) capturing->tasks.push_back(task.second);
    }
    capturing->memory.insert(capturing->memory.end(), exec->memory.begin(), exec->memory.end());
  } else if (keeps || done != nullptr) {
    auto end = std::make_unique<LaunchEnd>(LaunchEnd{&session, exec ? exec->tasks : nullptr, done});
    const CUresult told = result == CUDA_SUCCESS
                              ? call(session.driver.cuLaunchHostFunc, stream, end_launch, end.get())
                              : result;
    auto* const given = end.release();
    if (told != CUDA_SUCCESS) end_launch(given);
    if (result == CUDA_SUCCESS) result = told;
  }
  session.finish(request, result);
}

void cuGraphExecUpdate_v2(Session& session, Request& request) {
  ExecRecord* exec = session.graphs.exec(request.args.get<uint32_t>());
  GraphRecord* named = session.graphs.graph(request.args.get<uint32_t>());
  if (!request.args.finished() || !request.sync()) return session.bad_frame(request);
  if (exec == nullptr || named == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  if (CUresult earlier = session.take_error()) return session.finish(request, earlier);
  GraphRecord& graph = session.graphs.root_of(*named);
  if (CUresult error = session.graphs.own_tasks(graph)) return session.finish(request, error);
  CUgraphExecUpdateResultInfo info{};
  CUresult result = CUDA_SUCCESS;
  if (session.driver.cuGraphExecUpdate_v2 != nullptr) {
    result = session.driver.cuGraphExecUpdate_v2(exec->exec, named->graph, &info);
  } else {
    result = call(session.driver.cuGraphExecUpdate, exec->exec, named->graph, &info.errorNode, &info.result);
  }
  if (result == CUDA_SUCCESS) exec->tasks = std::make_shared<const TaskList>(tasks_of(graph));
  wire::Writer answer;
  answer.put(static_cast<int32_t>(info.result));
  answer.put(info.errorNode ? session.graphs.index_of(info.errorNode) : uint32_t{0});
  answer.put(info.errorFromNode ? session.graphs.index_of(info.errorFromNode) : uint32_t{0});
  answer.put(static_cast<uint32_t>(exec->tasks ? exec->tasks->size() : 0));
  session.finish(request, result, answer);
}

void cuGraphExecNodeSetParams(Session& session, Request& request) {
  ExecRecord* exec = session.graphs.exec(request.args.get<uint32_t>());
  const auto node_index = request.args.get<uint32_t>();
  wire::GraphNode node = wire::get_node(request.args);
  if (!request.args.finished()) return session.bad_frame(request);
  NodeRecord* record = session.graphs.node(node_index);
  if (exec == nullptr || record == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  GraphRecord* child = node.type == CU_GRAPH_NODE_TYPE_GRAPH ? session.graphs.graph(node.graph) : nullptr;
  if (child != nullptr) {
    if (CUresult error = session.graphs.own_tasks(session.graphs.root_of(*child)))
      return session.finish(request, error);
  }
  const CUresult result = set_exec_node(session, *exec, *record, node);
  if (result == CUDA_SUCCESS && child != nullptr) {
    auto tasks = std::make_shared<TaskList>(exec->tasks ? *exec->tasks : TaskList());
    std::erase_if(*tasks, [&](const auto& entry) { return entry.first == record->first; });
    for (const auto& task : session.graphs.root_of(*child).tasks) tasks->emplace_back(record->first, task);
    exec->tasks = tasks;
  }
  session.finish(request, result);
}

void cuGraphNodeSetEnabled(Session& session, Request& request) {
  const ExecRecord* exec = session.graphs.exec(request.args.get<uint32_t>());
  const NodeRecord* node = session.graphs.node(request.args.get<uint32_t>());
  const auto enabled = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  if (exec == nullptr || node == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  // Of a copy that touches the client only the copy can be switched off; the bytes would travel for nothing.
  if (node->task != nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  session.finish(request, call(session.driver.cuGraphNodeSetEnabled, exec->exec, node->first, enabled));
}

}  // namespace sluice::worker::calls
