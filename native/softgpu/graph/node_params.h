// Between the structures by which programs describe nodes and what a node keeps.
#pragma once

#include "common/cuda_types.h"
#include "softgpu/graph/graph.h"

namespace sluice::softgpu {

// Each checks what is given as the driver does and makes the work of a node. The context is the current one
// where none is given.
CUresult make_kernel_work(const CUDA_KERNEL_NODE_PARAMS_v2& given, Work* out);
CUresult make_copy_work(const CUDA_MEMCPY3D& given, CUcontext context, Work* out);
CUresult make_fill_work(const CUDA_MEMSET_NODE_PARAMS_v2& given, Work* out);
CUresult make_host_work(const CUDA_HOST_NODE_PARAMS& given, Work* out);
// The node gets a copy of the graph, or with ownership MOVE the graph itself.
CUresult make_child_work(const CUDA_CHILD_GRAPH_NODE_PARAMS& given, Work* out);
CUresult make_event_work(CUevent event, bool records, Work* out);
// Writes the address into `given`.
CUresult make_alloc_work(CUDA_MEM_ALLOC_NODE_PARAMS& given, Work* out);
CUresult make_free_work(CUdeviceptr address, Work* out);
// Of the kind that given.type says.
CUresult make_work(CUgraphNodeParams& given, Work* out);

// What a node was made of. The addresses of kernel parameters stay valid as long as the node.
void describe_kernel(Node& node, CUDA_KERNEL_NODE_PARAMS_v2* out);
CUresult describe(Node& node, CUgraphNodeParams* out);

CUDA_KERNEL_NODE_PARAMS_v2 widen(const CUDA_KERNEL_NODE_PARAMS_v1& given);
CUDA_KERNEL_NODE_PARAMS_v1 narrow(const CUDA_KERNEL_NODE_PARAMS_v2& given);
CUDA_MEMSET_NODE_PARAMS_v2 widen(const CUDA_MEMSET_NODE_PARAMS& given, CUcontext context);

}  // namespace sluice::softgpu
