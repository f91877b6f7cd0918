// Copies between host and device memory.
import { asyncCall, local, sync, unsupported, rows } from '../builders.js';
import { COPY3D, COPY_BATCH, OLD_ADDRESSES } from '../reasons.js';

export const copy = rows('copy', [
  asyncCall(
    'cuMemcpyHtoDAsync_v2',
    3020,
    'dstDevice: deviceptr, srcHost: reads const void*[ByteCount], ByteCount: size, hStream: stream',
    {
      perThread: 'ptsz',
      client: 'the bytes follow the frame without being gathered first',
      worker: 'the bytes go through staging memory',
    },
  ),
  local(
    'cuMemcpyHtoD_v2',
    3020,
    'dstDevice: deviceptr, srcHost: reads const void*[ByteCount], ByteCount: size',
    { perThread: 'ptds' },
  ),
  sync('cuMemcpyDtoH_v2', 3020, 'dstHost: writes void*[ByteCount], srcDevice: deviceptr, ByteCount: size', {
    perThread: 'ptds',
    client: 'the bytes are read from the connection into the destination',
    worker: 'waits, so that it must not hold up the calls of other threads',
    reports: true,
  }),
  asyncCall(
    'cuMemcpyDtoHAsync_v2',
    3020,
    'dstHost: writes void*[ByteCount], srcDevice: deviceptr, ByteCount: size, hStream: stream',
    {
      perThread: 'ptsz',
      client: 'pinned destinations are filled when the stream reaches the copy; others as in cuMemcpyDtoH',
      worker: 'the bytes are sent when the stream reaches the copy',
    },
  ),
  asyncCall(
    'cuMemcpyDtoDAsync_v2',
    3020,
    'dstDevice: deviceptr, srcDevice: deviceptr, ByteCount: size, hStream: stream',
    { perThread: 'ptsz', client: 'the two may be on different servers' },
  ),
  local('cuMemcpyDtoD_v2', 3020, 'dstDevice: deviceptr, srcDevice: deviceptr, ByteCount: size', {
    perThread: 'ptds',
    as: 'cuMemcpyDtoDAsync_v2',
  }),
  local('cuMemcpy', 4000, 'dst: deviceptr, src: deviceptr, ByteCount: size', { perThread: 'ptds' }),
  local('cuMemcpyAsync', 4000, 'dst: deviceptr, src: deviceptr, ByteCount: size, hStream: stream', {
    perThread: 'ptsz',
  }),
  asyncCall(
    'cuMemcpyPeerAsync',
    4000,
    'dstDevice: deviceptr, dstContext: context, srcDevice: deviceptr, srcContext: context, ByteCount: size, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local(
    'cuMemcpyPeer',
    4000,
    'dstDevice: deviceptr, dstContext: context, srcDevice: deviceptr, srcContext: context, ByteCount: size',
    { perThread: 'ptds', as: 'cuMemcpyPeerAsync' },
  ),
  asyncCall('cuMemcpy2DAsync_v2', 3020, 'pCopy: in CUDA_MEMCPY2D, hStream: stream', {
    perThread: 'ptsz',
    client: 'either side may be host memory',
    worker: 'copies within devices only',
  }),
  local('cuMemcpy2D_v2', 3020, 'pCopy: in CUDA_MEMCPY2D', { perThread: 'ptds' }),
  local('cuMemcpy2DUnaligned_v2', 3020, 'pCopy: in CUDA_MEMCPY2D', { perThread: 'ptds' }),
  unsupported('cuMemcpy2D', 2000, OLD_ADDRESSES),
  unsupported('cuMemcpy2DAsync', 2000, OLD_ADDRESSES),
  unsupported('cuMemcpy2DUnaligned', 2000, OLD_ADDRESSES),
  unsupported('cuMemcpy3D', 2000, OLD_ADDRESSES),
  unsupported('cuMemcpy3DAsync', 2000, OLD_ADDRESSES),
  unsupported('cuMemcpyDtoD', 2000, OLD_ADDRESSES),
  unsupported('cuMemcpyDtoH', 2000, OLD_ADDRESSES),
  unsupported('cuMemcpyDtoHAsync', 2000, OLD_ADDRESSES),
  unsupported('cuMemcpyHtoD', 2000, OLD_ADDRESSES),
  unsupported('cuMemcpyHtoDAsync', 2000, OLD_ADDRESSES),
  unsupported('cuMemcpyDtoDAsync', 3000, OLD_ADDRESSES),
  unsupported('cuMemcpy3DAsync_v2', 3020, COPY3D, 'ptsz'),
  unsupported('cuMemcpy3D_v2', 3020, COPY3D, 'ptds'),
  unsupported('cuMemcpy3DPeer', 4000, COPY3D, 'ptds'),
  unsupported('cuMemcpy3DPeerAsync', 4000, COPY3D, 'ptsz'),
  unsupported('cuMemcpy3DBatchAsync', 12080, COPY3D, 'ptsz'),
  unsupported('cuMemcpyBatchAsync', 12080, COPY_BATCH, 'ptsz'),
  unsupported('cuMemcpy3DBatchAsync_v2', 13000, COPY3D, 'ptsz'),
  unsupported('cuMemcpyBatchAsync_v2', 13000, COPY_BATCH, 'ptsz'),
  unsupported('cuMemcpy3DWithAttributesAsync', 13020, COPY3D, 'ptsz'),
  unsupported('cuMemcpyWithAttributesAsync', 13020, COPY_BATCH, 'ptsz'),
]);
