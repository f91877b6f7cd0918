#include "worker/calls/graph_node.h"

#include <algorithm>

namespace sluice::worker {
namespace {

CUresult find_context(Session& session, uint32_t index, CUcontext* context) {
  if (index != 0) return session.find(index, context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  return session.driver.cuCtxGetCurrent(context);
}

CUresult fill_side(Session& session, const wire::CopySide& side, const wire::NodeCopy& copy, uint8_t* memory,
                   CUmemorytype* type, CUdeviceptr* device, CUarray* array, size_t* pitch, size_t* height) {
  *pitch = side.pitch;
  *height = side.height;
  switch (side.place) {
    case wire::CopyPlace::client:
      *type = CU_MEMORYTYPE_HOST;
      *device = reinterpret_cast<CUdeviceptr>(memory);
      *pitch = copy.width;
      *height = copy.height;
      return CUDA_SUCCESS;
    case wire::CopyPlace::device:
      *type = CU_MEMORYTYPE_DEVICE;
      *device = side.address;
      return CUDA_SUCCESS;
    case wire::CopyPlace::array:
      *type = CU_MEMORYTYPE_ARRAY;
      return session.find(side.array, array) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

void fill_kernel(CUfunction function, CUcontext context, wire::GraphNode& node, NodeParameters* out) {
  auto& kernel = out->params.kernel;
  if (node.is_kernel != 0) {
    kernel.kern = reinterpret_cast<CUkernel>(function);
  } else {
    kernel.func = function;
  }
  kernel.gridDimX = node.grid[0];
  kernel.gridDimY = node.grid[1];
  kernel.gridDimZ = node.grid[2];
  kernel.blockDimX = node.block[0];
  kernel.blockDimY = node.block[1];
  kernel.blockDimZ = node.block[2];
  kernel.sharedMemBytes = node.shared_bytes;
  kernel.ctx = context;
  if (node.parameters.empty()) return;
  out->packed_bytes = node.parameters.size();
  void* const extra[5] = {CU_LAUNCH_PARAM_BUFFER_POINTER, node.parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                          &out->packed_bytes, CU_LAUNCH_PARAM_END};
  std::copy(std::begin(extra), std::end(extra), out->extra);
  kernel.extra = out->extra;
}

CUresult fill_allocation(Session& session, const wire::GraphNode& node, NodeParameters* out) {
  if (!session.device_exists(node.device)) return CUDA_ERROR_INVALID_VALUE;
  auto& alloc = out->params.alloc;
  alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, session.device(node.device)};
  alloc.bytesize = node.bytes;
  for (const wire::NodeAccess& access : node.access) {
    if (!session.device_exists(access.device)) return CUDA_ERROR_INVALID_VALUE;
    out->access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, session.device(access.device)},
                           static_cast<CUmemAccess_flags>(access.flags)});
  }
  alloc.accessDescs = out->access.empty() ? nullptr : out->access.data();
  alloc.accessDescCount = out->access.size();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult fill_parameters(Session& session, wire::GraphNode& node, GraphTask* task, NodeParameters* out) {
  out->params.type = static_cast<CUgraphNodeType>(node.type);
  CUcontext context = nullptr;
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUfunction function = nullptr;
      if (!session.find(node.function, &function)) return CUDA_ERROR_INVALID_HANDLE;
      if (node.context != 0 && !session.find(node.context, &context)) return CUDA_ERROR_INVALID_CONTEXT;
      if (node.is_kernel != 0 && session.driver.cuGraphAddKernelNode_v2 == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
      fill_kernel(function, context, node, out);
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (CUresult error = find_context(session, node.context, &out->params.memcpy.copyCtx)) return error;
      return driver_copy(session, node.copy, task ? task->memory : nullptr, &out->params.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      if (CUresult error = find_context(session, node.context, &context)) return error;
      out->params.memset = {node.address, node.pitch,  node.value, node.element_bytes,
                            node.width,   node.height, context};
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      out->params.host = {run_graph_task, task};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      const GraphRecord* child = session.graphs.graph(node.graph);
      if (child == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      out->params.graph.graph = child->graph;
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return session.find(node.event, &out->params.eventRecord.event) ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_HANDLE;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return fill_allocation(session, node, out);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      out->params.free.dptr = node.address;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      if (CUresult error = find_context(session, node.context, &context)) return error;
      for (const wire::MemOp& operation : node.operations) {
        out->operations.insert(out->operations.end(), {operation.operation, operation.address,
                                                       operation.value, operation.flags, 0, 0});
      }
      out->params.memOp = {context, static_cast<unsigned>(node.operations.size()),
                           reinterpret_cast<CUstreamBatchMemOpParams*>(out->operations.data()), node.flags};
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
      if (!session.graphs.conditionals.contains(node.conditional)) return CUDA_ERROR_INVALID_VALUE;
      if (CUresult error = find_context(session, node.context, &context)) return error;
      out->params.conditional = {node.conditional, static_cast<CUgraphConditionalNodeType>(node.condition),
                                 static_cast<unsigned>(node.bodies.size()), nullptr, context};
      return CUDA_SUCCESS;
    }
    default:
      return CUDA_SUCCESS;
  }
}

namespace {

CUresult add_conditional(Session& session, CUgraphNode* made, CUgraph graph, const CUgraphNode* after,
                         size_t count, CUgraphNodeParams& params) {
  if (session.driver.cuGraphAddNode_v2 != nullptr) {
    return session.driver.cuGraphAddNode_v2(made, graph, after, nullptr, count, &params);
  }
  return call(session.driver.cuGraphAddNode, made, graph, after, count, &params);
}

CUresult add_driver_node(Session& session, CUgraph graph, const std::vector<CUgraphNode>& dependencies,
                         NodeParameters& p, CUgraphNode* made) {
  auto& driver = session.driver;
  const CUgraphNode* after = dependencies.empty() ? nullptr : dependencies.data();
  const size_t count = dependencies.size();
  switch (p.params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      if (driver.cuGraphAddKernelNode_v2 != nullptr) {
        return driver.cuGraphAddKernelNode_v2(made, graph, after, count, &p.params.kernel);
      }
      CUDA_KERNEL_NODE_PARAMS_v1 first{};
      std::copy_n(reinterpret_cast<const char*>(&p.params.kernel), sizeof first,
                  reinterpret_cast<char*>(&first));
      return call(driver.cuGraphAddKernelNode, made, graph, after, count, &first);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return call(driver.cuGraphAddMemcpyNode, made, graph, after, count, &p.params.memcpy.copyParams,
                  p.params.memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto& set = p.params.memset;
      const CUDA_MEMSET_NODE_PARAMS first{set.dst,         set.pitch, set.value,
                                          set.elementSize, set.width, set.height};
      return call(driver.cuGraphAddMemsetNode, made, graph, after, count, &first, set.ctx);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      return call(driver.cuGraphAddHostNode, made, graph, after, count, &p.params.host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return call(driver.cuGraphAddChildGraphNode, made, graph, after, count, p.params.graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return call(driver.cuGraphAddEmptyNode, made, graph, after, count);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return call(driver.cuGraphAddEventWaitNode, made, graph, after, count, p.params.eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return call(driver.cuGraphAddEventRecordNode, made, graph, after, count, p.params.eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return call(driver.cuGraphAddMemAllocNode, made, graph, after, count, &p.params.alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return call(driver.cuGraphAddMemFreeNode, made, graph, after, count, p.params.free.dptr);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return call(driver.cuGraphAddBatchMemOpNode, made, graph, after, count, &p.params.memOp);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return add_conditional(session, made, graph, after, count, p.params);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// Adds the host node of a copy that touches the client, and the copy itself.
CUresult add_copy_pair(Session& session, CUgraph graph, const std::vector<CUgraphNode>& dependencies,
                       NodeParameters& copy, GraphTask& task, NodeRecord* record) {
  auto& driver = session.driver;
  const CUDA_HOST_NODE_PARAMS host{run_graph_task, &task};
  const auto add_host = [&](const std::vector<CUgraphNode>& after) {
    return call(driver.cuGraphAddHostNode, &record->host, graph, after.empty() ? nullptr : after.data(),
                after.size(), &host);
  };
  if (task.kind == GraphTaskKind::run) {
    const CUresult result = add_host(dependencies);
    record->first = record->last = record->host;
    return result;
  }
  const bool fetches = task.kind == GraphTaskKind::fetch;
  CUresult result =
      fetches ? add_host(dependencies) : add_driver_node(session, graph, dependencies, copy, &record->copy);
  if (result != CUDA_SUCCESS) return result;
  record->first = fetches ? record->host : record->copy;
  result = fetches ? add_driver_node(session, graph, {record->host}, copy, &record->copy)
                   : add_host({record->copy});
  record->last = fetches ? record->copy : record->host;
  if (result != CUDA_SUCCESS) driver.cuGraphDestroyNode(record->first);
  return result;
}

}  // namespace

CUresult task_for(Session& session, const wire::GraphNode& node, std::shared_ptr<GraphTask>* task) {
  const bool copies = node.type == CU_GRAPH_NODE_TYPE_MEMCPY && node.copy.touches_client();
  if (!copies && node.type != CU_GRAPH_NODE_TYPE_HOST) return CUDA_SUCCESS;
  const GraphTaskKind kind = copies ? task_kind_of(node.copy) : GraphTaskKind::run;
  if (copies && node.copy.bytes() == 0) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t bytes = kind == GraphTaskKind::run ? 0 : node.copy.bytes();
  *task = GraphTask::create(&session, kind, node.task, bytes, copies);
  return *task ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

GraphTaskKind task_kind_of(const wire::NodeCopy& copy) {
  if (copy.dst.place != wire::CopyPlace::client) return GraphTaskKind::fetch;
  return copy.src.place == wire::CopyPlace::client ? GraphTaskKind::run : GraphTaskKind::deliver;
}

CUresult driver_copy(Session& session, const wire::NodeCopy& copy, uint8_t* memory, CUDA_MEMCPY3D* out) {
  CUDA_MEMCPY3D& c = *out;
  CUdeviceptr address = 0;
  if (CUresult error = fill_side(session, copy.src, copy, memory, &c.srcMemoryType, &address, &c.srcArray,
                                 &c.srcPitch, &c.srcHeight)) {
    return error;
  }
  c.srcHost = c.srcMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<void*>(address) : nullptr;
  c.srcDevice = c.srcMemoryType == CU_MEMORYTYPE_HOST ? 0 : address;
  if (CUresult error = fill_side(session, copy.dst, copy, memory, &c.dstMemoryType, &address, &c.dstArray,
                                 &c.dstPitch, &c.dstHeight)) {
    return error;
  }
  c.dstHost = c.dstMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<void*>(address) : nullptr;
  c.dstDevice = c.dstMemoryType == CU_MEMORYTYPE_HOST ? 0 : address;
  if (copy.src.place != wire::CopyPlace::client) {
    c.srcXInBytes = copy.src.x;
    c.srcY = copy.src.y;
    c.srcZ = copy.src.z;
    c.srcLOD = copy.src.lod;
  }
  if (copy.dst.place != wire::CopyPlace::client) {
    c.dstXInBytes = copy.dst.x;
    c.dstY = copy.dst.y;
    c.dstZ = copy.dst.z;
    c.dstLOD = copy.dst.lod;
  }
  c.WidthInBytes = copy.width;
  c.Height = copy.height;
  c.Depth = copy.depth;
  return CUDA_SUCCESS;
}

CUresult make_node(Session& session, CUgraph graph, const NodeEdges& edges, wire::GraphNode& node,
                   NodeRecord* record, std::shared_ptr<GraphTask>* task, std::vector<CUgraph>* bodies) {
  record->type = static_cast<CUgraphNodeType>(node.type);
  // Edges that say more than "after" can only be added by themselves.
  std::vector<CUgraphNode> plain;
  for (size_t i = 0; i < edges.nodes.size(); i++) {
    if (edges.data[i].type == 0 && edges.data[i].from_port == 0) plain.push_back(edges.nodes[i]);
  }
  if (plain.size() < edges.nodes.size() && session.driver.cuGraphAddDependencies_v2 == nullptr) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (CUresult error = task_for(session, node, task)) return error;
  NodeParameters parameters;
  if (CUresult error = fill_parameters(session, node, task->get(), &parameters)) return error;
  if (node.type == CU_GRAPH_NODE_TYPE_MEMCPY && *task != nullptr) {
    if (CUresult error = add_copy_pair(session, graph, plain, parameters, **task, record)) return error;
  } else {
    if (CUresult error = add_driver_node(session, graph, plain, parameters, &record->first)) return error;
    record->last = record->first;
    if (*task != nullptr) record->host = record->first;
  }
  record->task = task->get();
  for (size_t i = 0; i < edges.nodes.size(); i++) {
    if (edges.data[i].type == 0 && edges.data[i].from_port == 0) continue;
    if (CUresult error = session.driver.cuGraphAddDependencies_v2(graph, &edges.nodes[i], &record->first,
                                                                  &edges.data[i], 1)) {
      return error;
    }
  }
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    node.address = parameters.params.alloc.dptr;
  } else if (node.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    const auto& made = parameters.params.conditional;
    if (made.phGraph_out != nullptr) bodies->assign(made.phGraph_out, made.phGraph_out + made.size);
    record->conditional = node.conditional;
    record->condition = node.condition;
    record->bodies = node.bodies;
  }
  return CUDA_SUCCESS;
}

}  // namespace sluice::worker
