// Copies between host memory, device memory and arrays. The forms before CUDA 3.2 have device addresses of 32
// bits, where no driver of today has memory: they refuse those as the driver would, and carry the rest.
import { asyncCall, local, sync, rows } from '../builders.js';

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
  local('cuMemcpy2DAsync_v2', 3020, 'pCopy: in CUDA_MEMCPY2D, hStream: stream', { perThread: 'ptsz' }),
  local('cuMemcpy2D_v2', 3020, 'pCopy: in CUDA_MEMCPY2D', { perThread: 'ptds' }),
  local('cuMemcpy2DUnaligned_v2', 3020, 'pCopy: in CUDA_MEMCPY2D', { perThread: 'ptds' }),
  // The frame of every copy that is more than one row between memories: calls/box_copy.cc.
  asyncCall('cuMemcpy3DAsync_v2', 3020, 'pCopy: in CUDA_MEMCPY3D, hStream: stream', {
    perThread: 'ptsz',
    client: 'either side may be host memory, whose rows are gathered',
    worker: 'bytes come with the frame, are sent as downloads, or do not travel',
  }),
  local('cuMemcpy3D_v2', 3020, 'pCopy: in CUDA_MEMCPY3D', { perThread: 'ptds' }),
  local('cuMemcpy3DPeer', 4000, 'pCopy: in CUDA_MEMCPY3D_PEER', { perThread: 'ptds' }),
  local('cuMemcpy3DPeerAsync', 4000, 'pCopy: in CUDA_MEMCPY3D_PEER, hStream: stream', { perThread: 'ptsz' }),
  local(
    'cuMemcpyBatchAsync',
    12080,
    'dsts: inout deviceptr, srcs: inout deviceptr, sizes: inout size, count: size, attrs: inout CUmemcpyAttributes, attrsIdxs: inout size, numAttrs: size, failIdx: out size, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local(
    'cuMemcpyBatchAsync_v2',
    13000,
    'dsts: inout deviceptr, srcs: inout deviceptr, sizes: inout size, count: size, attrs: inout CUmemcpyAttributes, attrsIdxs: inout size, numAttrs: size, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local(
    'cuMemcpy3DBatchAsync',
    12080,
    'numOps: size, opList: inout CUDA_MEMCPY3D_BATCH_OP, failIdx: out size, flags: u64, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local(
    'cuMemcpy3DBatchAsync_v2',
    13000,
    'numOps: size, opList: inout CUDA_MEMCPY3D_BATCH_OP, flags: u64, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local(
    'cuMemcpyWithAttributesAsync',
    13020,
    'dst: deviceptr, src: deviceptr, size: size, attr: inout CUmemcpyAttributes, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local(
    'cuMemcpy3DWithAttributesAsync',
    13020,
    'op: inout CUDA_MEMCPY3D_BATCH_OP, flags: u64, hStream: stream',
    { perThread: 'ptsz' },
  ),
  // Before CUDA 3.2: numbers of 32 bits.
  local('cuMemcpy2D', 2000, 'pCopy: in CUDA_MEMCPY2D_v1'),
  local('cuMemcpy2DUnaligned', 2000, 'pCopy: in CUDA_MEMCPY2D_v1'),
  local('cuMemcpy2DAsync', 2000, 'pCopy: in CUDA_MEMCPY2D_v1, hStream: stream'),
  local('cuMemcpy3D', 2000, 'pCopy: in CUDA_MEMCPY3D_v1'),
  local('cuMemcpy3DAsync', 2000, 'pCopy: in CUDA_MEMCPY3D_v1, hStream: stream'),
  local(
    'cuMemcpyHtoD',
    2000,
    'dstDevice: CUdeviceptr_v1, srcHost: reads const void*[ByteCount], ByteCount: uint',
    {
      as: 'cuMemcpyHtoD_v2',
    },
  ),
  local(
    'cuMemcpyDtoH',
    2000,
    'dstHost: writes void*[ByteCount], srcDevice: CUdeviceptr_v1, ByteCount: uint',
    {
      as: 'cuMemcpyDtoH_v2',
    },
  ),
  local('cuMemcpyDtoD', 2000, 'dstDevice: CUdeviceptr_v1, srcDevice: CUdeviceptr_v1, ByteCount: uint', {
    as: 'cuMemcpyDtoDAsync_v2',
  }),
  local(
    'cuMemcpyHtoDAsync',
    2000,
    'dstDevice: CUdeviceptr_v1, srcHost: reads const void*[ByteCount], ByteCount: uint, hStream: stream',
    { as: 'cuMemcpyHtoDAsync_v2' },
  ),
  local(
    'cuMemcpyDtoHAsync',
    2000,
    'dstHost: writes void*[ByteCount], srcDevice: CUdeviceptr_v1, ByteCount: uint, hStream: stream',
    { as: 'cuMemcpyDtoHAsync_v2' },
  ),
  local(
    'cuMemcpyDtoDAsync',
    3000,
    'dstDevice: CUdeviceptr_v1, srcDevice: CUdeviceptr_v1, ByteCount: uint, hStream: stream',
    { as: 'cuMemcpyDtoDAsync_v2' },
  ),
]);
