// Graphs: nodes and edges.
import { asyncCall, local, sync, unsupported, rows } from '../builders.js';
import { NEWER, SEMAPHORES } from '../reasons.js';

export const graph = rows('graph', [
  local(
    'cuGraphAddKernelNode',
    10000,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, nodeParams: reads const CUDA_KERNEL_NODE_PARAMS_v1*',
  ),
  local(
    'cuGraphAddMemcpyNode',
    10000,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, copyParams: reads const CUDA_MEMCPY3D*, ctx: context',
  ),
  local(
    'cuGraphAddMemsetNode',
    10000,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, memsetParams: reads const CUDA_MEMSET_NODE_PARAMS*, ctx: context',
  ),
  local(
    'cuGraphAddHostNode',
    10000,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, nodeParams: reads const CUDA_HOST_NODE_PARAMS*',
  ),
  local(
    'cuGraphAddChildGraphNode',
    10000,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, childGraph: CUgraph',
  ),
  local(
    'cuGraphAddEmptyNode',
    10000,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size',
  ),
  local(
    'cuGraphAddEventRecordNode',
    11010,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, event: event',
  ),
  local(
    'cuGraphAddEventWaitNode',
    11010,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, event: event',
  ),
  local(
    'cuGraphAddMemAllocNode',
    11040,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, nodeParams: writes CUDA_MEM_ALLOC_NODE_PARAMS*',
  ),
  local(
    'cuGraphAddMemFreeNode',
    11040,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, dptr: deviceptr',
  ),
  local(
    'cuGraphAddBatchMemOpNode',
    11070,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, nodeParams: reads const CUDA_BATCH_MEM_OP_NODE_PARAMS*',
  ),
  local(
    'cuGraphAddKernelNode_v2',
    12000,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, nodeParams: reads const CUDA_KERNEL_NODE_PARAMS_v2*',
  ),
  local(
    'cuGraphAddNode',
    12020,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, numDependencies: size, nodeParams: writes CUgraphNodeParams*',
  ),
  asyncCall(
    'cuGraphAddNode_v2',
    12030,
    'phGraphNode: writes CUgraphNode*, hGraph: CUgraph, dependencies: reads const CUgraphNode*, dependencyData: reads const CUgraphEdgeData*, numDependencies: size, nodeParams: writes CUgraphNodeParams*',
    {
      client: 'parameters are packed, host memory and functions become tasks of the client',
      worker: 'a node that touches the client becomes several nodes of the driver',
    },
  ),
  unsupported('cuGraphAddNode_v3', 13040, NEWER),
  asyncCall('cuGraphCreate', 10000, 'phGraph: writes CUgraph*, flags: uint', {
    client: 'the graph is known in the client from here on',
    worker: 'binds the graph to the handle',
  }),
  asyncCall('cuGraphDestroy', 10000, 'hGraph: CUgraph', {
    client: 'the handles of the nodes end as well',
    worker: 'what the nodes used is kept for those who still use it',
  }),
  asyncCall('cuGraphDestroyNode', 10000, 'hNode: CUgraphNode', {
    client: 'keeps the graph that the client knows',
    worker: 'a node may be several of the driver',
  }),
  asyncCall('cuGraphClone', 10000, 'phGraphClone: writes CUgraph*, originalGraph: CUgraph', {
    client: 'the clone is fetched when it is asked about',
    worker: 'binds the clone, which uses what the original uses',
  }),
  sync(
    'cuGraphNodeFindInClone',
    10000,
    'phNode: writes CUgraphNode*, hOriginalNode: CUgraphNode, hClonedGraph: CUgraph',
    { client: 'fetches the clone first', worker: 'answers with the handle of the client' },
  ),
  sync('cuGraphGetNodes', 10000, 'hGraph: CUgraph, nodes: writes CUgraphNode*, numNodes: inout size', {
    client: 'only what the driver made by itself is fetched, once',
    worker: 'describes nodes, edges and parameters of a graph that was captured or cloned',
  }),
  local(
    'cuGraphGetRootNodes',
    10000,
    'hGraph: CUgraph, rootNodes: writes CUgraphNode*, numRootNodes: inout size',
  ),
  local(
    'cuGraphGetEdges',
    10000,
    'hGraph: CUgraph, from: writes CUgraphNode*, to: writes CUgraphNode*, numEdges: inout size',
  ),
  local(
    'cuGraphGetEdges_v2',
    12030,
    'hGraph: CUgraph, from: writes CUgraphNode*, to: writes CUgraphNode*, edgeData: writes CUgraphEdgeData*, numEdges: inout size',
  ),
  local(
    'cuGraphNodeGetDependencies',
    10000,
    'hNode: CUgraphNode, dependencies: writes CUgraphNode*, numDependencies: inout size',
  ),
  local(
    'cuGraphNodeGetDependencies_v2',
    12030,
    'hNode: CUgraphNode, dependencies: writes CUgraphNode*, edgeData: writes CUgraphEdgeData*, numDependencies: inout size',
  ),
  local(
    'cuGraphNodeGetDependentNodes',
    10000,
    'hNode: CUgraphNode, dependentNodes: writes CUgraphNode*, numDependentNodes: inout size',
  ),
  local(
    'cuGraphNodeGetDependentNodes_v2',
    12030,
    'hNode: CUgraphNode, dependentNodes: writes CUgraphNode*, edgeData: writes CUgraphEdgeData*, numDependentNodes: inout size',
  ),
  local('cuGraphNodeGetType', 10000, 'hNode: CUgraphNode, type: out CUgraphNodeType'),
  local(
    'cuGraphAddDependencies',
    10000,
    'hGraph: CUgraph, from: reads const CUgraphNode*, to: reads const CUgraphNode*, numDependencies: size',
  ),
  asyncCall(
    'cuGraphAddDependencies_v2',
    12030,
    'hGraph: CUgraph, from: reads const CUgraphNode*, to: reads const CUgraphNode*, edgeData: reads const CUgraphEdgeData*, numDependencies: size',
    { client: 'keeps the graph that the client knows', worker: 'edges arrive as handles of the client' },
  ),
  local(
    'cuGraphRemoveDependencies',
    10000,
    'hGraph: CUgraph, from: reads const CUgraphNode*, to: reads const CUgraphNode*, numDependencies: size',
  ),
  asyncCall(
    'cuGraphRemoveDependencies_v2',
    12030,
    'hGraph: CUgraph, from: reads const CUgraphNode*, to: reads const CUgraphNode*, edgeData: reads const CUgraphEdgeData*, numDependencies: size',
    { client: 'keeps the graph that the client knows', worker: 'edges arrive as handles of the client' },
  ),
  local('cuGraphChildGraphNodeGetGraph', 10000, 'hNode: CUgraphNode, phGraph: writes CUgraph*'),
  local('cuGraphNodeGetContainingGraph', 13010, 'hNode: CUgraphNode, phGraph: writes CUgraph*'),
  local('cuGraphNodeGetLocalId', 13010, 'hNode: CUgraphNode, nodeId: out uint'),
  local('cuGraphNodeGetToolsId', 13010, 'hNode: CUgraphNode, toolsNodeId: out u64'),
  local('cuGraphGetId', 13010, 'hGraph: CUgraph, graphId: out uint'),
  sync('cuGraphDebugDotPrint', 11030, 'hGraph: CUgraph, path: reads const char*, flags: uint', {
    client: 'writes the file',
    worker: 'answers with the text',
  }),
  sync(
    'cuGraphConditionalHandleCreate',
    12030,
    'pHandle_out: out u64, hGraph: CUgraph, ctx: context, defaultLaunchValue: uint, flags: uint',
    { client: "kernels use the driver's own number", worker: 'remembers which numbers there are' },
  ),
  unsupported('cuGraphAddExternalSemaphoresSignalNode', 11020, SEMAPHORES),
  unsupported('cuGraphAddExternalSemaphoresWaitNode', 11020, SEMAPHORES),
]);
