// Parameters of the nodes of a graph.
import { asyncCall, local, sync, unsupported, rows } from '../builders.js';
import { NEWER, SEMAPHORES } from '../reasons.js';

export const graphParams = rows('graphParams', [
  local(
    'cuGraphKernelNodeGetParams',
    10000,
    'hNode: CUgraphNode, nodeParams: writes CUDA_KERNEL_NODE_PARAMS_v1*',
  ),
  local(
    'cuGraphKernelNodeSetParams',
    10000,
    'hNode: CUgraphNode, nodeParams: reads const CUDA_KERNEL_NODE_PARAMS_v1*',
  ),
  local(
    'cuGraphKernelNodeGetParams_v2',
    12000,
    'hNode: CUgraphNode, nodeParams: writes CUDA_KERNEL_NODE_PARAMS_v2*',
  ),
  local(
    'cuGraphKernelNodeSetParams_v2',
    12000,
    'hNode: CUgraphNode, nodeParams: reads const CUDA_KERNEL_NODE_PARAMS_v2*',
  ),
  local('cuGraphMemcpyNodeGetParams', 10000, 'hNode: CUgraphNode, nodeParams: writes CUDA_MEMCPY3D*'),
  local('cuGraphMemcpyNodeSetParams', 10000, 'hNode: CUgraphNode, nodeParams: reads const CUDA_MEMCPY3D*'),
  local(
    'cuGraphMemsetNodeGetParams',
    10000,
    'hNode: CUgraphNode, nodeParams: writes CUDA_MEMSET_NODE_PARAMS*',
  ),
  local(
    'cuGraphMemsetNodeSetParams',
    10000,
    'hNode: CUgraphNode, nodeParams: reads const CUDA_MEMSET_NODE_PARAMS*',
  ),
  local('cuGraphHostNodeGetParams', 10000, 'hNode: CUgraphNode, nodeParams: writes CUDA_HOST_NODE_PARAMS*'),
  local(
    'cuGraphHostNodeSetParams',
    10000,
    'hNode: CUgraphNode, nodeParams: reads const CUDA_HOST_NODE_PARAMS*',
  ),
  local(
    'cuGraphBatchMemOpNodeGetParams',
    11070,
    'hNode: CUgraphNode, nodeParams: writes CUDA_BATCH_MEM_OP_NODE_PARAMS*',
  ),
  local(
    'cuGraphBatchMemOpNodeSetParams',
    11070,
    'hNode: CUgraphNode, nodeParams: reads const CUDA_BATCH_MEM_OP_NODE_PARAMS*',
  ),
  local('cuGraphEventRecordNodeGetEvent', 11010, 'hNode: CUgraphNode, event_out: writes CUevent*'),
  local('cuGraphEventRecordNodeSetEvent', 11010, 'hNode: CUgraphNode, event: event'),
  local('cuGraphEventWaitNodeGetEvent', 11010, 'hNode: CUgraphNode, event_out: writes CUevent*'),
  local('cuGraphEventWaitNodeSetEvent', 11010, 'hNode: CUgraphNode, event: event'),
  local(
    'cuGraphMemAllocNodeGetParams',
    11040,
    'hNode: CUgraphNode, params_out: writes CUDA_MEM_ALLOC_NODE_PARAMS*',
  ),
  local('cuGraphMemFreeNodeGetParams', 11040, 'hNode: CUgraphNode, dptr_out: out deviceptr'),
  local('cuGraphNodeGetParams', 13020, 'hNode: CUgraphNode, nodeParams: writes CUgraphNodeParams*'),
  asyncCall('cuGraphNodeSetParams', 12020, 'hNode: CUgraphNode, nodeParams: writes CUgraphNodeParams*', {
    client: 'parameters are packed',
    worker: 'parameters arrive packed',
  }),
  unsupported('cuGraphNodeSetParams_v2', 13040, NEWER),
  asyncCall('cuGraphKernelNodeCopyAttributes', 11000, 'dst: CUgraphNode, src: CUgraphNode', {
    client: 'nodes are found by the graph that the client knows',
    worker: 'nodes arrive as handles of the client',
  }),
  sync(
    'cuGraphKernelNodeGetAttribute',
    11000,
    'hNode: CUgraphNode, attr: CUlaunchAttributeID, value_out: writes CUlaunchAttributeValue*',
    {
      client: 'attributes that name handles are refused',
      worker: 'attributes that name handles are refused',
    },
  ),
  asyncCall(
    'cuGraphKernelNodeSetAttribute',
    11000,
    'hNode: CUgraphNode, attr: CUlaunchAttributeID, value: reads const CUlaunchAttributeValue*',
    {
      client: 'attributes that name handles are refused',
      worker: 'attributes that name handles are refused',
    },
  ),
  unsupported('cuGraphExternalSemaphoresSignalNodeGetParams', 11020, SEMAPHORES),
  unsupported('cuGraphExternalSemaphoresSignalNodeSetParams', 11020, SEMAPHORES),
  unsupported('cuGraphExternalSemaphoresWaitNodeGetParams', 11020, SEMAPHORES),
  unsupported('cuGraphExternalSemaphoresWaitNodeSetParams', 11020, SEMAPHORES),
]);
