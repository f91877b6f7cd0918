// Memory operations in streams, and what is set on streams.
import { asyncCall, local, rows } from '../builders.js';

const params = 'count: uint, paramArray: reads CUstreamBatchMemOpParams*[count], flags: uint';
const value32 = 'stream: stream, addr: deviceptr, value: uint, flags: uint';
const value64 = 'stream: stream, addr: deviceptr, value: u64, flags: uint';

export const streamMemory = rows('streamMemory', [
  asyncCall('cuStreamBatchMemOp_v2', 11070, `stream: stream, ${params}`, {
    perThread: 'ptsz',
    client: 'the operations are checked, so that a wrong one is refused at once',
    worker: 'remembers that the stream may stand still until other calls have come',
  }),
  local('cuStreamBatchMemOp', 8000, `stream: stream, ${params}`, {
    perThread: 'ptsz',
    as: 'cuStreamBatchMemOp_v2',
  }),
  local('cuStreamWaitValue32_v2', 11070, value32, { perThread: 'ptsz' }),
  local('cuStreamWaitValue32', 8000, value32, { perThread: 'ptsz', as: 'cuStreamWaitValue32_v2' }),
  local('cuStreamWaitValue64_v2', 11070, value64, { perThread: 'ptsz' }),
  local('cuStreamWaitValue64', 9000, value64, { perThread: 'ptsz', as: 'cuStreamWaitValue64_v2' }),
  local('cuStreamWriteValue32_v2', 11070, value32, { perThread: 'ptsz' }),
  local('cuStreamWriteValue32', 8000, value32, { perThread: 'ptsz', as: 'cuStreamWriteValue32_v2' }),
  local('cuStreamWriteValue64_v2', 11070, value64, { perThread: 'ptsz' }),
  local('cuStreamWriteValue64', 9000, value64, { perThread: 'ptsz', as: 'cuStreamWriteValue64_v2' }),
  asyncCall(
    'cuStreamSetAttribute',
    11000,
    'hStream: stream, attr: CUlaunchAttributeID, value: reads const CUlaunchAttributeValue*',
    {
      perThread: 'ptsz',
      client: 'checked, and remembered for cuStreamGetAttribute',
      worker: 'the value arrives as its bytes',
    },
  ),
  local(
    'cuStreamGetAttribute',
    11000,
    'hStream: stream, attr: CUlaunchAttributeID, value_out: writes CUlaunchAttributeValue*',
    { perThread: 'ptsz' },
  ),
  local('cuStreamCopyAttributes', 11000, 'dst: stream, src: stream', { perThread: 'ptsz' }),
]);
