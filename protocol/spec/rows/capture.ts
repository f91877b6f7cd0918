// Stream capture.
import { asyncCall, local, sync, unsupported, rows } from '../builders.js';
import { GRAPHICS, NEWER } from '../reasons.js';

export const capture = rows('capture', [
  local('cuStreamBeginCapture', 10000, 'hStream: stream', { perThread: 'ptsz' }),
  asyncCall('cuStreamBeginCapture_v2', 10010, 'hStream: stream, mode: CUstreamCaptureMode', {
    perThread: 'ptsz',
    client: 'the rules about threads are kept in the client, since the worker has threads of its own',
    worker: 'binds the graph in the making',
  }),
  asyncCall(
    'cuStreamBeginCaptureToGraph',
    12030,
    'hStream: stream, hGraph: CUgraph, dependencies: reads const CUgraphNode*, dependencyData: reads const CUgraphEdgeData*, numDependencies: size, mode: CUstreamCaptureMode',
    {
      perThread: 'ptsz',
      client: 'the graph is fetched again when it is asked about',
      worker: 'nodes arrive as handles of the client',
    },
  ),
  sync('cuStreamEndCapture', 10000, 'hStream: stream, phGraph: writes CUgraph*', {
    perThread: 'ptsz',
    client: 'the graph is fetched when it is asked about',
    worker: 'binds what the capture has made',
    reports: true,
  }),
  local('cuStreamIsCapturing', 10000, 'hStream: stream, captureStatus: out CUstreamCaptureStatus', {
    perThread: 'ptsz',
  }),
  local('cuThreadExchangeStreamCaptureMode', 10010, 'mode: inout CUstreamCaptureMode'),
  local(
    'cuStreamGetCaptureInfo',
    10010,
    'hStream: stream, captureStatus_out: out CUstreamCaptureStatus, id_out: out u64',
    { perThread: 'ptsz' },
  ),
  local(
    'cuStreamGetCaptureInfo_v2',
    11030,
    'hStream: stream, captureStatus_out: out CUstreamCaptureStatus, id_out: out u64, graph_out: writes CUgraph*, dependencies_out: writes const CUgraphNode**, numDependencies_out: out size',
    { perThread: 'ptsz' },
  ),
  sync(
    'cuStreamGetCaptureInfo_v3',
    12030,
    'hStream: stream, captureStatus_out: out CUstreamCaptureStatus, id_out: out u64, graph_out: writes CUgraph*, dependencies_out: writes const CUgraphNode**, edgeData_out: writes const CUgraphEdgeData**, numDependencies_out: out size',
    {
      perThread: 'ptsz',
      client: 'asks only for dependencies, and only while the stream is captured',
      worker: 'dependencies are handles of the client',
    },
  ),
  local(
    'cuStreamUpdateCaptureDependencies',
    11030,
    'hStream: stream, dependencies: reads CUgraphNode*, numDependencies: size, flags: uint',
    { perThread: 'ptsz' },
  ),
  asyncCall(
    'cuStreamUpdateCaptureDependencies_v2',
    12030,
    'hStream: stream, dependencies: reads CUgraphNode*, dependencyData: reads const CUgraphEdgeData*, numDependencies: size, flags: uint',
    {
      perThread: 'ptsz',
      client: 'nodes are handles of the client',
      worker: 'nodes are handles of the client',
    },
  ),
  unsupported('cuStreamBeginCaptureToCig', 13010, GRAPHICS, 'ptsz'),
  unsupported('cuStreamEndCaptureToCig', 13010, GRAPHICS, 'ptsz'),
  unsupported('cuStreamBeginRecaptureToGraph', 13030, NEWER, 'ptsz'),
]);
