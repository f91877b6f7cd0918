// A node's parameters from the program to the frame and back.
#include <algorithm>
#include <cstring>

#include "client/graph_model.h"
#include "client/kernel_parameters.h"

namespace sluice::client {
namespace {

constexpr unsigned kMostBodies = wire::kMaxBodies;

CUresult context_index(Scope& scope, CUcontext handle, uint32_t* index) {
  const Context* context = handle ? scope.session->contexts.find(handle) : scope.context;
  if (context == nullptr || context->channel != scope.channel) return CUDA_ERROR_INVALID_CONTEXT;
  *index = context->index;
  return CUDA_SUCCESS;
}

std::shared_ptr<GraphTask> make_task(Scope& scope) {
  auto task = std::make_shared<GraphTask>();
  task->session = scope.session;
  task->channel = scope.channel;
  return task;
}

void point_to_packed(const KernelInfo& info, NodeData* data) {
  auto& kernel = data->params.kernel;
  kernel.extra = nullptr;
  data->pointers.clear();
  if (info.has_layout) {
    for (const KernelParameter& parameter : info.parameters) {
      if (parameter.offset + parameter.size > data->packed.size()) break;
      data->pointers.push_back(data->packed.data() + parameter.offset);
    }
  }
  kernel.kernelParams = data->pointers.empty() ? nullptr : data->pointers.data();
}

CUresult put_kernel(Scope& scope, NodeData* data, wire::GraphNode* node) {
  auto& kernel = data->params.kernel;
  const void* const handle = kernel.func ? static_cast<const void*>(kernel.func) : kernel.kern;
  Function* function = scope.session->functions.find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (function->context != nullptr &&
      (function->context->epoch.load() != function->epoch || function->context->channel != scope.channel)) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const LaunchShape shape{{kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
                          {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ},
                          kernel.sharedMemBytes};
  if (CUresult error = check_shape(scope, *function, shape)) return error;
  KernelParameters parameters;
  if (CUresult error = find_parameters(*function, kernel.kernelParams, kernel.extra, &parameters))
    return error;
  if (parameters.bytes > wire::kMaxNodeParameterBytes) return CUDA_ERROR_INVALID_VALUE;
  std::vector<uint8_t> packed(parameters.bytes);
  pack(*function->info, parameters, packed.data());
  data->packed = std::move(packed);
  point_to_packed(*function->info, data);
  if (kernel.ctx != nullptr) {
    if (CUresult error = context_index(scope, kernel.ctx, &node->context)) return error;
  } else if (function->context == nullptr) {
    node->context = scope.context->index;
  }
  node->function = function->index;
  node->is_kernel = function->is_kernel;
  std::copy_n(shape.grid, 3, node->grid.begin());
  std::copy_n(shape.block, 3, node->block.begin());
  node->shared_bytes = shape.shared_bytes;
  node->parameters = data->packed;
  return CUDA_SUCCESS;
}

// Makes one side of a copy say what it is, and fills in what the program may leave out.
CUresult settle_side(const Scope& scope, CUmemorytype* type, const void* host, CUdeviceptr* device,
                     size_t width, size_t rows, size_t* pitch, size_t* height, const void** settled_host) {
  if (*type == CU_MEMORYTYPE_UNIFIED) {
    *type = scope.session->memory.device_range(*device) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    if (*type == CU_MEMORYTYPE_HOST) host = reinterpret_cast<const void*>(*device);
  }
  *settled_host = host;
  if (*type == CU_MEMORYTYPE_HOST) *device = 0;
  if (*type == CU_MEMORYTYPE_ARRAY) return CUDA_SUCCESS;
  if (*type != CU_MEMORYTYPE_HOST && *type != CU_MEMORYTYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (*type == CU_MEMORYTYPE_HOST ? host == nullptr : *device == 0) return CUDA_ERROR_INVALID_VALUE;
  if (*pitch == 0) *pitch = width;
  if (*height == 0) *height = rows;
  return *pitch < width ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult side_on_wire(const Scope& scope, CUmemorytype type, CUdeviceptr device, CUarray array, size_t pitch,
                      size_t height, size_t x, size_t y, size_t z, wire::CopySide* side) {
  if (type == CU_MEMORYTYPE_HOST) return CUDA_SUCCESS;
  *side = {wire::CopyPlace::device, device, 0, pitch, height, x, y, z, 0};
  if (type != CU_MEMORYTYPE_ARRAY) return CUDA_SUCCESS;
  const Array* found = scope.session->arrays.find(array);
  if (found == nullptr || !found->alive() || found->context->channel != scope.channel)
    return CUDA_ERROR_INVALID_HANDLE;
  *side = {wire::CopyPlace::array, 0, found->index, 0, 0, x, y, z, 0};
  return CUDA_SUCCESS;
}

CUresult put_copy(Scope& scope, NodeData* data, wire::GraphNode* node) {
  auto& memcpy = data->params.memcpy;
  CUDA_MEMCPY3D c = memcpy.copyParams;
  if (c.WidthInBytes == 0) return CUDA_ERROR_INVALID_VALUE;
  c.Height = std::max<size_t>(c.Height, 1);
  c.Depth = std::max<size_t>(c.Depth, 1);
  const void* source = nullptr;
  const void* target = nullptr;
  if (CUresult error =
          settle_side(scope, &c.srcMemoryType, c.srcHost, &c.srcDevice, c.WidthInBytes + c.srcXInBytes,
                      c.Height + c.srcY, &c.srcPitch, &c.srcHeight, &source)) {
    return error;
  }
  if (CUresult error =
          settle_side(scope, &c.dstMemoryType, c.dstHost, &c.dstDevice, c.WidthInBytes + c.dstXInBytes,
                      c.Height + c.dstY, &c.dstPitch, &c.dstHeight, &target)) {
    return error;
  }
  c.srcHost = source;
  c.dstHost = const_cast<void*>(target);
  if (CUresult error = side_on_wire(scope, c.srcMemoryType, c.srcDevice, c.srcArray, c.srcPitch, c.srcHeight,
                                    c.srcXInBytes, c.srcY, c.srcZ, &node->copy.src)) {
    return error;
  }
  if (CUresult error = side_on_wire(scope, c.dstMemoryType, c.dstDevice, c.dstArray, c.dstPitch, c.dstHeight,
                                    c.dstXInBytes, c.dstY, c.dstZ, &node->copy.dst)) {
    return error;
  }
  node->copy.width = c.WidthInBytes;
  node->copy.height = c.Height;
  node->copy.depth = c.Depth;
  if (CUresult error = context_index(scope, memcpy.copyCtx, &node->context)) return error;
  if (!node->copy.touches_client()) return CUDA_SUCCESS;
  if (node->copy.bytes() == 0) return CUDA_ERROR_INVALID_VALUE;
  data->task = make_task(scope);
  data->task->is_copy = true;
  data->task->copy = c;
  node->task = data->task->number = scope.session->tasks.add_graph_task(data->task);
  return CUDA_SUCCESS;
}

CUresult put_set(Scope& scope, const NodeData& data, wire::GraphNode* node) {
  const auto& set = data.params.memset;
  const bool sane = set.elementSize == 1 || set.elementSize == 2 || set.elementSize == 4;
  if (!sane || set.width == 0 || set.height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (set.height > 1 && set.pitch < set.width * set.elementSize) return CUDA_ERROR_INVALID_VALUE;
  node->address = set.dst;
  node->pitch = set.pitch;
  node->value = set.value;
  node->element_bytes = set.elementSize;
  node->width = set.width;
  node->height = set.height;
  return context_index(scope, set.ctx, &node->context);
}

CUresult put_event(Scope& scope, CUevent handle, wire::GraphNode* node) {
  const Event* event = scope.session->events.find(handle);
  if (event == nullptr || !event->alive() || event->context->channel != scope.channel)
    return CUDA_ERROR_INVALID_HANDLE;
  node->event = event->index;
  return CUDA_SUCCESS;
}

CUresult put_allocation(Scope& scope, NodeData* data, wire::GraphNode* node) {
  auto& alloc = data->params.alloc;
  if (alloc.bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (alloc.poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      alloc.poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const Device* device = scope.session->device(alloc.poolProps.location.id);
  if (device == nullptr || device->channel != scope.channel) return CUDA_ERROR_INVALID_VALUE;
  node->device = device->ordinal_there;
  node->bytes = alloc.bytesize;
  if (alloc.accessDescCount > wire::kMaxAccess || (alloc.accessDescCount > 0 && alloc.accessDescs == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  data->access.assign(alloc.accessDescs, alloc.accessDescs + alloc.accessDescCount);
  for (const CUmemAccessDesc& access : data->access) {
    const Device* other = scope.session->device(access.location.id);
    if (other == nullptr || other->channel != scope.channel) return CUDA_ERROR_INVALID_VALUE;
    node->access.push_back({other->ordinal_there, static_cast<uint32_t>(access.flags)});
  }
  alloc.accessDescs = data->access.empty() ? nullptr : data->access.data();
  return CUDA_SUCCESS;
}

// Operations lie in memory as six words: the operation and, for barriers and flushes, the flags; address,
// value, flags, alias.
CUresult put_operations(Scope& scope, NodeData* data, wire::GraphNode* node) {
  auto& ops = data->params.memOp;
  constexpr size_t kWords = 6;
  if (ops.count == 0 || ops.count > wire::kMaxMemOps || ops.paramArray == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  const auto* words = reinterpret_cast<const uint64_t*>(ops.paramArray);
  data->operations.assign(words, words + ops.count * kWords);
  for (size_t i = 0; i < ops.count; i++) {
    const uint64_t* at = data->operations.data() + i * kWords;
    const auto operation = static_cast<uint32_t>(at[0]);
    const bool fence = operation == 3 || operation == 6;
    node->operations.push_back({operation, fence ? 0 : at[1], fence ? 0 : at[2],
                                static_cast<uint32_t>(fence ? at[0] >> 32 : at[3])});
  }
  ops.paramArray = reinterpret_cast<CUstreamBatchMemOpParams*>(data->operations.data());
  node->flags = ops.flags;
  return context_index(scope, ops.ctx, &node->context);
}

}  // namespace

CUresult to_wire(Scope& scope, NodeData* data, wire::GraphNode* node) {
  CUgraphNodeParams& params = data->params;
  node->type = static_cast<uint32_t>(params.type);
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return put_kernel(scope, data, node);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return put_copy(scope, data, node);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return put_set(scope, *data, node);
    case CU_GRAPH_NODE_TYPE_HOST:
      if (params.host.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
      data->task = make_task(scope);
      data->task->function = params.host.fn;
      data->task->user_data = params.host.userData;
      node->task = data->task->number = scope.session->tasks.add_graph_task(data->task);
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      const Graph* child = scope.session->graphs.find(params.graph.graph);
      if (child == nullptr || !child->alive() || child->context->channel != scope.channel)
        return CUDA_ERROR_INVALID_VALUE;
      // The node would take over the graph with the program's handles of its nodes.
      if (params.graph.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) return CUDA_ERROR_NOT_SUPPORTED;
      node->graph = child->index;
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return put_event(scope, params.eventWait.event, node);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return put_event(scope, params.eventRecord.event, node);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return put_allocation(scope, data, node);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      if (params.free.dptr == 0) return CUDA_ERROR_INVALID_VALUE;
      node->address = params.free.dptr;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return put_operations(scope, data, node);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      if (params.conditional.size == 0 || params.conditional.size > kMostBodies)
        return CUDA_ERROR_INVALID_VALUE;
      node->conditional = params.conditional.handle;
      node->condition = static_cast<uint32_t>(params.conditional.type);
      return context_index(scope, params.conditional.ctx, &node->context);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

NodeData from_wire(Session& session, const wire::GraphNode& node) {
  NodeData data;
  CUgraphNodeParams& params = data.params;
  params.type = static_cast<CUgraphNodeType>(node.type);
  data.task = session.tasks.find_graph_task(node.task);
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      auto& kernel = params.kernel;
      const Function* function = session.functions.at_index(node.function);
      kernel = {nullptr,       node.grid[0],      node.grid[1], node.grid[2], node.block[0], node.block[1],
                node.block[2], node.shared_bytes, nullptr,      nullptr,      nullptr,       nullptr};
      if (function == nullptr) return data;
      if (function->is_kernel) {
        kernel.kern = static_cast<CUkernel>(function->handle);
      }
      kernel.func = static_cast<CUfunction>(function->handle);
      data.packed = node.parameters;
      point_to_packed(*function->info, &data);
      return data;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      auto& c = params.memcpy.copyParams;
      if (data.task != nullptr) {
        c = data.task->copy;
        return data;
      }
      const auto& [src, dst, width, height, depth] = node.copy;
      const auto place = [&](const wire::CopySide& side, CUmemorytype* type, CUarray* array) {
        *type = side.place == wire::CopyPlace::array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
        const Array* known = session.arrays.at_index(side.array);
        if (known != nullptr) *array = static_cast<CUarray>(known->handle);
      };
      place(src, &c.srcMemoryType, &c.srcArray);
      place(dst, &c.dstMemoryType, &c.dstArray);
      c.srcDevice = src.address;
      c.srcPitch = src.pitch;
      c.srcHeight = src.height;
      c.srcXInBytes = src.x;
      c.srcY = src.y;
      c.srcZ = src.z;
      c.dstDevice = dst.address;
      c.dstPitch = dst.pitch;
      c.dstHeight = dst.height;
      c.dstXInBytes = dst.x;
      c.dstY = dst.y;
      c.dstZ = dst.z;
      c.WidthInBytes = width;
      c.Height = height;
      c.Depth = depth;
      return data;
    }
    case CU_GRAPH_NODE_TYPE_MEMSET:
      params.memset = {node.address, node.pitch,  node.value, node.element_bytes,
                       node.width,   node.height, nullptr};
      return data;
    case CU_GRAPH_NODE_TYPE_HOST:
      if (data.task != nullptr) params.host = {data.task->function, data.task->user_data};
      return data;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      if (const Event* event = session.events.at_index(node.event)) {
        params.eventRecord.event = static_cast<CUevent>(event->handle);
      }
      return data;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      auto& alloc = params.alloc;
      alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
      alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, node.device};
      alloc.bytesize = node.bytes;
      alloc.dptr = node.address;
      return data;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      params.free.dptr = node.address;
      return data;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      params.conditional.handle = node.conditional;
      params.conditional.type = static_cast<CUgraphConditionalNodeType>(node.condition);
      params.conditional.size = static_cast<unsigned>(node.bodies.size());
      return data;
    default:
      return data;
  }
}

}  // namespace sluice::client
