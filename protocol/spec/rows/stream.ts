// Streams.
import { asyncCall, local, sync, rows } from '../builders.js';

export const stream = rows('stream', [
  asyncCall('cuStreamCreateWithPriority', 5050, 'phStream: new stream, flags: uint, priority: int', {
    client: 'flags and priority are remembered with the handle',
    worker: 'binds the stream to the handle',
  }),
  local('cuStreamCreate', 2000, 'phStream: new stream, Flags: uint'),
  asyncCall('cuStreamDestroy_v2', 4000, 'hStream: free stream'),
  local('cuStreamDestroy', 2000, 'hStream: free stream', { as: 'cuStreamDestroy_v2' }),
  local('cuStreamGetPriority', 5050, 'hStream: stream, priority: out int', { perThread: 'ptsz' }),
  local('cuStreamGetFlags', 5050, 'hStream: stream, flags: out uint', { perThread: 'ptsz' }),
  local('cuStreamGetId', 12000, 'hStream: stream, streamId: out u64', { perThread: 'ptsz' }),
  local('cuStreamGetCtx', 9020, 'hStream: stream, pctx: out context', { perThread: 'ptsz' }),
  local('cuStreamGetDevice', 12080, 'hStream: stream, device: out device', { perThread: 'ptsz' }),
  asyncCall('cuStreamWaitEvent', 3020, 'hStream: stream, hEvent: event, Flags: uint', {
    perThread: 'ptsz',
    client: 'remembers which host tasks come before',
  }),
  sync('cuStreamQuery', 2000, 'hStream: stream', { perThread: 'ptsz', reports: true }),
  sync('cuStreamSynchronize', 2000, 'hStream: stream', {
    perThread: 'ptsz',
    client: 'asks nothing when an answer has said that all is done and nothing was sent since',
    worker: 'waits, so that it must not hold up the calls of other threads',
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
  local(
    'cuStreamGetCaptureInfo_v3',
    12030,
    'hStream: stream, captureStatus_out: out CUstreamCaptureStatus, id_out: out u64, graph_out: writes CUgraph*, dependencies_out: writes const CUgraphNode**, edgeData_out: writes const void**, numDependencies_out: out size',
    { perThread: 'ptsz' },
  ),
]);
