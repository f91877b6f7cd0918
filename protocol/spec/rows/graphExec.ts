// Executable graphs.
import { asyncCall, local, sync, unsupported, rows } from '../builders.js';
import { SEMAPHORES } from '../reasons.js';

export const graphExec = rows('graphExec', [
  local('cuGraphExecGetId', 13010, 'hGraphExec: CUgraphExec, graphId: out uint'),
  local(
    'cuGraphInstantiate',
    10000,
    'phGraphExec: writes CUgraphExec*, hGraph: CUgraph, phErrorNode: writes CUgraphNode*, logBuffer: writes char*, bufferSize: size',
  ),
  local(
    'cuGraphInstantiate_v2',
    11000,
    'phGraphExec: writes CUgraphExec*, hGraph: CUgraph, phErrorNode: writes CUgraphNode*, logBuffer: writes char*, bufferSize: size',
  ),
  local(
    'cuGraphInstantiateWithFlags',
    11040,
    'phGraphExec: writes CUgraphExec*, hGraph: CUgraph, flags: u64',
  ),
  sync(
    'cuGraphInstantiateWithParams',
    12000,
    'phGraphExec: writes CUgraphExec*, hGraph: CUgraph, instantiateParams: writes CUDA_GRAPH_INSTANTIATE_PARAMS*',
    {
      perThread: 'ptsz',
      client: 'reports what adding the nodes has left behind',
      worker: 'memory of the graph is counted from here on',
      reports: true,
    },
  ),
  local('cuGraphExecGetFlags', 12000, 'hGraphExec: CUgraphExec, flags: out u64'),
  asyncCall('cuGraphExecDestroy', 10000, 'hGraphExec: CUgraphExec', {
    client: 'tasks of running launches are kept',
    worker: 'tasks of running launches are kept',
  }),
  asyncCall('cuGraphUpload', 11010, 'hGraphExec: CUgraphExec, hStream: stream', {
    perThread: 'ptsz',
    client: 'executable graphs have a table of their own',
    worker: 'executable graphs have a table of their own',
  }),
  asyncCall('cuGraphLaunch', 10000, 'hGraphExec: CUgraphExec, hStream: stream', {
    perThread: 'ptsz',
    client: 'a graph with tasks of the client is a task itself',
    worker: 'the client is told when a graph with tasks of its own is done',
  }),
  local(
    'cuGraphExecUpdate',
    10020,
    'hGraphExec: CUgraphExec, hGraph: CUgraph, hErrorNode_out: writes CUgraphNode*, updateResult_out: writes CUgraphExecUpdateResult*',
  ),
  sync(
    'cuGraphExecUpdate_v2',
    12000,
    'hGraphExec: CUgraphExec, hGraph: CUgraph, resultInfo: writes CUgraphExecUpdateResultInfo*',
    {
      client: 'nodes of the answer are handles of the client',
      worker: 'answers with handles of the client',
      reports: true,
    },
  ),
  local(
    'cuGraphExecKernelNodeSetParams',
    10010,
    'hGraphExec: CUgraphExec, hNode: CUgraphNode, nodeParams: reads const CUDA_KERNEL_NODE_PARAMS_v1*',
  ),
  local(
    'cuGraphExecKernelNodeSetParams_v2',
    12000,
    'hGraphExec: CUgraphExec, hNode: CUgraphNode, nodeParams: reads const CUDA_KERNEL_NODE_PARAMS_v2*',
  ),
  local(
    'cuGraphExecMemcpyNodeSetParams',
    10020,
    'hGraphExec: CUgraphExec, hNode: CUgraphNode, nodeParams: reads const CUDA_MEMCPY3D*, ctx: context',
  ),
  local(
    'cuGraphExecMemsetNodeSetParams',
    10020,
    'hGraphExec: CUgraphExec, hNode: CUgraphNode, nodeParams: reads const CUDA_MEMSET_NODE_PARAMS*, ctx: context',
  ),
  local(
    'cuGraphExecHostNodeSetParams',
    10020,
    'hGraphExec: CUgraphExec, hNode: CUgraphNode, nodeParams: reads const CUDA_HOST_NODE_PARAMS*',
  ),
  local(
    'cuGraphExecBatchMemOpNodeSetParams',
    11070,
    'hGraphExec: CUgraphExec, hNode: CUgraphNode, nodeParams: reads const CUDA_BATCH_MEM_OP_NODE_PARAMS*',
  ),
  local(
    'cuGraphExecChildGraphNodeSetParams',
    11010,
    'hGraphExec: CUgraphExec, hNode: CUgraphNode, childGraph: CUgraph',
  ),
  local(
    'cuGraphExecEventRecordNodeSetEvent',
    11010,
    'hGraphExec: CUgraphExec, hNode: CUgraphNode, event: event',
  ),
  local(
    'cuGraphExecEventWaitNodeSetEvent',
    11010,
    'hGraphExec: CUgraphExec, hNode: CUgraphNode, event: event',
  ),
  asyncCall(
    'cuGraphExecNodeSetParams',
    12020,
    'hGraphExec: CUgraphExec, hNode: CUgraphNode, nodeParams: writes CUgraphNodeParams*',
    { client: 'parameters are packed', worker: 'a copy may not change between device and host' },
  ),
  asyncCall('cuGraphNodeSetEnabled', 11060, 'hGraphExec: CUgraphExec, hNode: CUgraphNode, isEnabled: uint', {
    client: 'remembered for cuGraphNodeGetEnabled',
    worker: 'a node may be several of the driver',
  }),
  local('cuGraphNodeGetEnabled', 11060, 'hGraphExec: CUgraphExec, hNode: CUgraphNode, isEnabled: out uint'),
  unsupported('cuGraphExecExternalSemaphoresSignalNodeSetParams', 11020, SEMAPHORES),
  unsupported('cuGraphExecExternalSemaphoresWaitNodeSetParams', 11020, SEMAPHORES),
]);
