#include "softgpu/graph/node_params.h"

#include <cstring>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/event.h"
#include "softgpu/launch.h"
#include "softgpu/memory.h"

namespace sluice::softgpu {
namespace {

// The context of that handle, or the current one when there is none.
CUresult context_of(CUcontext handle, Context** out) {
  if (handle == nullptr) return current_context(out);
  *out = lookup<Context>(handle);
  return *out != nullptr && (*out)->is_active() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

bool is_memory_type(CUmemorytype type) { return type >= CU_MEMORYTYPE_HOST && type <= CU_MEMORYTYPE_UNIFIED; }

}  // namespace

CUresult make_kernel_work(const CUDA_KERNEL_NODE_PARAMS_v2& given, Work* out) {
  KernelWork work{given, {}, {}, {}};
  if (work.what.func == nullptr) work.what.func = reinterpret_cast<CUfunction>(given.kern);
  Function* function = nullptr;
  SLUICE_TRY(find_function(work.what.func, &function));
  Launch shape;
  shape.grid = {given.gridDimX, given.gridDimY, given.gridDimZ};
  shape.block = {given.blockDimX, given.blockDimY, given.blockDimZ};
  shape.dynamic_shared_bytes = given.sharedMemBytes;
  SLUICE_TRY(check_launch(*function, shape));
  work.packed.resize(function->info.param_bytes);
  SLUICE_TRY(pack_parameters(*function, given.kernelParams, given.extra, work.packed));
  work.what.ctx = function->module.context.handle();
  work.what.func = function->handle();
  work.what.kernelParams = nullptr;
  work.what.extra = nullptr;
  *out = std::move(work);
  return CUDA_SUCCESS;
}

CUresult make_copy_work(const CUDA_MEMCPY3D& given, CUcontext context, Work* out) {
  Context* owner = nullptr;
  SLUICE_TRY(context_of(context, &owner));
  if (!is_memory_type(given.srcMemoryType) || !is_memory_type(given.dstMemoryType))
    return CUDA_ERROR_INVALID_VALUE;
  if (given.WidthInBytes == 0 || given.Height == 0 || given.Depth == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = CopyWork{given, owner->handle()};
  return CUDA_SUCCESS;
}

CUresult make_fill_work(const CUDA_MEMSET_NODE_PARAMS_v2& given, Work* out) {
  Context* owner = nullptr;
  SLUICE_TRY(context_of(given.ctx, &owner));
  const unsigned element = given.elementSize;
  if (element != 1 && element != 2 && element != 4) return CUDA_ERROR_INVALID_VALUE;
  if (given.width == 0 || given.height == 0 || given.dst % element != 0) return CUDA_ERROR_INVALID_VALUE;
  size_t row = 0;
  size_t total = 0;
  if (__builtin_mul_overflow(given.width, size_t{element}, &row) || (given.height > 1 && given.pitch < row) ||
      __builtin_mul_overflow(given.pitch, given.height - 1, &total) ||
      __builtin_add_overflow(total, row, &total)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  SLUICE_TRY(check_range(*owner, given.dst, total));
  FillWork work{given};
  work.what.ctx = owner->handle();
  *out = work;
  return CUDA_SUCCESS;
}

CUresult make_host_work(const CUDA_HOST_NODE_PARAMS& given, Work* out) {
  if (given.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = HostWork{given};
  return CUDA_SUCCESS;
}

CUresult make_child_work(const CUDA_CHILD_GRAPH_NODE_PARAMS& given, Work* out) {
  auto* graph = lookup<Graph>(given.graph);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ChildWork work;
  if (given.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
    work.graph = graph->shared_from_this();
    SLUICE_TRY(destroy_graph(given.graph));
  } else {
    work.graph = graph->clone();
  }
  work.graph->is_child = true;
  *out = std::move(work);
  return CUDA_SUCCESS;
}

CUresult make_event_work(CUevent event, bool records, Work* out) {
  if (lookup<Event>(event) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (records) {
    *out = RecordWork{event};
  } else {
    *out = WaitWork{event};
  }
  return CUDA_SUCCESS;
}

CUresult make_alloc_work(CUDA_MEM_ALLOC_NODE_PARAMS& given, Work* out) {
  if (given.bytesize == 0 || given.poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      given.poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      given.poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      (given.accessDescCount > 0 && given.accessDescs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Device* device = driver()->device(given.poolProps.location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context = nullptr;
  SLUICE_TRY(current_context(&context));
  std::shared_ptr<Context> owner = context->shared_from_this();
  if (&context->device != device) SLUICE_TRY(retain_primary(*device, &owner, false));
  CUresult result = CUDA_SUCCESS;
  AllocWork work{given, {}, GraphMemory::create(*owner, given.bytesize, &result)};
  SLUICE_TRY(result);
  work.access.assign(given.accessDescs, given.accessDescs + given.accessDescCount);
  work.what.accessDescs = nullptr;
  work.what.dptr = given.dptr = work.memory->address();
  *out = std::move(work);
  return CUDA_SUCCESS;
}

CUresult make_free_work(CUdeviceptr address, Work* out) {
  if (GraphMemory::find(address) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = FreeWork{address};
  return CUDA_SUCCESS;
}

CUresult make_work(CUgraphNodeParams& given, Work* out) {
  switch (given.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return make_kernel_work(given.kernel, out);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return make_copy_work(given.memcpy.copyParams, given.memcpy.copyCtx, out);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return make_fill_work(given.memset, out);
    case CU_GRAPH_NODE_TYPE_HOST:
      return make_host_work(given.host, out);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return make_child_work(given.graph, out);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      *out = EmptyWork{};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return make_event_work(given.eventWait.event, false, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return make_event_work(given.eventRecord.event, true, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return make_alloc_work(given.alloc, out);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return make_free_work(given.free.dptr, out);
    // Semaphores belong to graphics interfaces, which this device has not; conditions are set by kernels that
    // call the device's own runtime, which it has not either.
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

void describe_kernel(Node& node, CUDA_KERNEL_NODE_PARAMS_v2* out) {
  auto& work = std::get<KernelWork>(node.work);
  *out = work.what;
  const auto* function = lookup<Function>(work.what.func);
  if (function == nullptr) return;  // its module is gone
  work.addresses.clear();
  for (const ptx::Param& parameter : function->info.params) {
    work.addresses.push_back(work.packed.data() + parameter.offset);
  }
  out->kernelParams = work.addresses.empty() ? nullptr : work.addresses.data();
}

CUresult describe(Node& node, CUgraphNodeParams* out) {
  std::memset(out, 0, sizeof *out);
  out->type = node.type();
  if (std::holds_alternative<KernelWork>(node.work)) {
    describe_kernel(node, &out->kernel);
  } else if (const auto* copy = std::get_if<CopyWork>(&node.work)) {
    out->memcpy.copyCtx = copy->context;
    out->memcpy.copyParams = copy->what;
  } else if (const auto* fill = std::get_if<FillWork>(&node.work)) {
    out->memset = fill->what;
  } else if (const auto* host = std::get_if<HostWork>(&node.work)) {
    out->host = host->what;
  } else if (const auto* child = std::get_if<ChildWork>(&node.work)) {
    out->graph.graph = child->graph->handle();
  } else if (const auto* wait = std::get_if<WaitWork>(&node.work)) {
    out->eventWait.event = wait->event;
  } else if (const auto* record = std::get_if<RecordWork>(&node.work)) {
    out->eventRecord.event = record->event;
  } else if (const auto* alloc = std::get_if<AllocWork>(&node.work)) {
    out->alloc = alloc->what;
    out->alloc.accessDescs = alloc->access.empty() ? nullptr : alloc->access.data();
  } else if (const auto* release = std::get_if<FreeWork>(&node.work)) {
    out->free.dptr = release->address;
  }
  return CUDA_SUCCESS;
}

CUDA_KERNEL_NODE_PARAMS_v2 widen(const CUDA_KERNEL_NODE_PARAMS_v1& given) {
  CUDA_KERNEL_NODE_PARAMS_v2 wide{};
  std::memcpy(&wide, &given, sizeof given);
  return wide;
}

CUDA_KERNEL_NODE_PARAMS_v1 narrow(const CUDA_KERNEL_NODE_PARAMS_v2& given) {
  CUDA_KERNEL_NODE_PARAMS_v1 short_form{};
  std::memcpy(&short_form, &given, sizeof short_form);
  return short_form;
}

CUDA_MEMSET_NODE_PARAMS_v2 widen(const CUDA_MEMSET_NODE_PARAMS& given, CUcontext context) {
  CUDA_MEMSET_NODE_PARAMS_v2 wide{};
  std::memcpy(&wide, &given, sizeof given);
  wide.ctx = context;
  return wide;
}

}  // namespace sluice::softgpu
