// Other parameters for nodes that there are.
#include <algorithm>

#include "worker/calls/graph_node.h"

namespace sluice::worker {
namespace {

CUresult set_driver_node(Session& session, CUgraphNode target, NodeParameters& p) {
  auto& driver = session.driver;
  switch (p.params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      if (driver.cuGraphKernelNodeSetParams_v2 != nullptr) {
        return driver.cuGraphKernelNodeSetParams_v2(target, &p.params.kernel);
      }
      CUDA_KERNEL_NODE_PARAMS_v1 first{};
      std::copy_n(reinterpret_cast<const char*>(&p.params.kernel), sizeof first,
                  reinterpret_cast<char*>(&first));
      return call(driver.cuGraphKernelNodeSetParams, target, &first);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return call(driver.cuGraphMemcpyNodeSetParams, target, &p.params.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto& set = p.params.memset;
      const CUDA_MEMSET_NODE_PARAMS first{set.dst,         set.pitch, set.value,
                                          set.elementSize, set.width, set.height};
      return call(driver.cuGraphMemsetNodeSetParams, target, &first);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      return call(driver.cuGraphHostNodeSetParams, target, &p.params.host);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return call(driver.cuGraphEventWaitNodeSetEvent, target, p.params.eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return call(driver.cuGraphEventRecordNodeSetEvent, target, p.params.eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return call(driver.cuGraphBatchMemOpNodeSetParams, target, &p.params.memOp);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// The copy now touches the client where it did not, or the other way round: other nodes take its place.
CUresult replace_copy(Session& session, NodeRecord& record, wire::GraphNode& node) {
  auto& driver = session.driver;
  const auto neighbours = [](auto ask, CUgraphNode of, std::vector<CUgraphNode>* nodes) {
    size_t count = 0;
    if (CUresult error = call(ask, of, static_cast<CUgraphNode*>(nullptr), &count)) return error;
    nodes->resize(count);
    return count == 0 ? CUDA_SUCCESS : ask(of, nodes->data(), &count);
  };
  GraphRecord* graph = session.graphs.graph(record.graph);
  NodeEdges before;
  std::vector<CUgraphNode> after;
  if (CUresult error = neighbours(driver.cuGraphNodeGetDependencies, record.first, &before.nodes))
    return error;
  if (CUresult error = neighbours(driver.cuGraphNodeGetDependentNodes, record.last, &after)) return error;
  before.data.resize(before.nodes.size());
  NodeRecord made;
  made.graph = record.graph;
  std::shared_ptr<GraphTask> task;
  if (CUresult error = make_node(session, graph->graph, before, node, &made, &task, nullptr)) return error;
  for (const CUgraphNode next : after) {
    if (CUresult error = call(driver.cuGraphAddDependencies, graph->graph, &made.last, &next, size_t{1}))
      return error;
  }
  if (record.first != record.last) call(driver.cuGraphDestroyNode, record.last);
  call(driver.cuGraphDestroyNode, record.first);
  const uint32_t index = session.graphs.index_of(record.first);
  session.graphs.remove_node(index);
  if (!session.graphs.add_node(index, made.graph, made)) return CUDA_ERROR_INVALID_HANDLE;
  session.graphs.replace_task(*session.graphs.node(index), task);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult set_node(Session& session, NodeRecord& record, wire::GraphNode& node) {
  if (node.type != static_cast<uint32_t>(record.type)) return CUDA_ERROR_INVALID_VALUE;
  if (node.type == CU_GRAPH_NODE_TYPE_MEMCPY) {
    const bool same = node.copy.touches_client()
                          ? record.task != nullptr && record.task->kind == task_kind_of(node.copy)
                          : record.task == nullptr;
    if (!same) return replace_copy(session, record, node);
  }
  std::shared_ptr<GraphTask> task;
  if (CUresult error = task_for(session, node, &task)) return error;
  NodeParameters parameters;
  if (CUresult error = fill_parameters(session, node, task.get(), &parameters)) return error;
  if (task == nullptr) return set_driver_node(session, record.first, parameters);
  if (record.copy != nullptr) {
    if (CUresult error = set_driver_node(session, record.copy, parameters)) return error;
  }
  const CUDA_HOST_NODE_PARAMS host{run_graph_task, task.get()};
  if (CUresult error = call(session.driver.cuGraphHostNodeSetParams, record.host, &host)) return error;
  session.graphs.replace_task(record, task);
  return CUDA_SUCCESS;
}

CUresult set_exec_node(Session& session, ExecRecord& exec, NodeRecord& record, wire::GraphNode& node) {
  auto& driver = session.driver;
  if (node.type != static_cast<uint32_t>(record.type)) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<GraphTask> task;
  if (CUresult error = task_for(session, node, &task)) return error;
  const bool same = task ? record.task != nullptr && record.task->kind == task->kind : record.task == nullptr;
  if (!same) return CUDA_ERROR_INVALID_VALUE;
  NodeParameters p;
  if (CUresult error = fill_parameters(session, node, task.get(), &p)) return error;
  if (task != nullptr) {
    if (record.copy != nullptr) {
      if (CUresult error = call(driver.cuGraphExecMemcpyNodeSetParams, exec.exec, record.copy,
                                &p.params.memcpy.copyParams, p.params.memcpy.copyCtx)) {
        return error;
      }
    }
    const CUDA_HOST_NODE_PARAMS host{run_graph_task, task.get()};
    if (CUresult error = call(driver.cuGraphExecHostNodeSetParams, exec.exec, record.host, &host))
      return error;
    auto tasks = std::make_shared<TaskList>(exec.tasks ? *exec.tasks : TaskList());
    std::erase_if(*tasks, [&](const auto& entry) { return entry.first == record.host; });
    tasks->emplace_back(record.host, task);
    exec.tasks = tasks;
    return CUDA_SUCCESS;
  }
  switch (p.params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      if (driver.cuGraphExecKernelNodeSetParams_v2 != nullptr) {
        return driver.cuGraphExecKernelNodeSetParams_v2(exec.exec, record.first, &p.params.kernel);
      }
      CUDA_KERNEL_NODE_PARAMS_v1 first{};
      std::copy_n(reinterpret_cast<const char*>(&p.params.kernel), sizeof first,
                  reinterpret_cast<char*>(&first));
      return call(driver.cuGraphExecKernelNodeSetParams, exec.exec, record.first, &first);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return call(driver.cuGraphExecMemcpyNodeSetParams, exec.exec, record.first, &p.params.memcpy.copyParams,
                  p.params.memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto& set = p.params.memset;
      const CUDA_MEMSET_NODE_PARAMS first{set.dst,         set.pitch, set.value,
                                          set.elementSize, set.width, set.height};
      return call(driver.cuGraphExecMemsetNodeSetParams, exec.exec, record.first, &first, set.ctx);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return call(driver.cuGraphExecChildGraphNodeSetParams, exec.exec, record.first, p.params.graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return call(driver.cuGraphExecEventWaitNodeSetEvent, exec.exec, record.first, p.params.eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return call(driver.cuGraphExecEventRecordNodeSetEvent, exec.exec, record.first,
                  p.params.eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return call(driver.cuGraphExecBatchMemOpNodeSetParams, exec.exec, record.first, &p.params.memOp);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace sluice::worker
