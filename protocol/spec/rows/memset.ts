// Filling device memory. The forms without a stream are the asynchronous ones on the default stream.
import { asyncCall, local, rows } from '../builders.js';

export const memset = rows('memset', [
  asyncCall('cuMemsetD8Async', 3020, 'dstDevice: deviceptr, uc: uchar, N: size, hStream: stream', {
    perThread: 'ptsz',
  }),
  local('cuMemsetD8_v2', 3020, 'dstDevice: deviceptr, uc: uchar, N: size', {
    perThread: 'ptds',
    as: 'cuMemsetD8Async',
  }),
  asyncCall(
    'cuMemsetD2D8Async',
    3020,
    'dstDevice: deviceptr, dstPitch: size, uc: uchar, Width: size, Height: size, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local(
    'cuMemsetD2D8_v2',
    3020,
    'dstDevice: deviceptr, dstPitch: size, uc: uchar, Width: size, Height: size',
    { perThread: 'ptds', as: 'cuMemsetD2D8Async' },
  ),
  asyncCall('cuMemsetD16Async', 3020, 'dstDevice: deviceptr, us: ushort, N: size, hStream: stream', {
    perThread: 'ptsz',
  }),
  local('cuMemsetD16_v2', 3020, 'dstDevice: deviceptr, us: ushort, N: size', {
    perThread: 'ptds',
    as: 'cuMemsetD16Async',
  }),
  asyncCall(
    'cuMemsetD2D16Async',
    3020,
    'dstDevice: deviceptr, dstPitch: size, us: ushort, Width: size, Height: size, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local(
    'cuMemsetD2D16_v2',
    3020,
    'dstDevice: deviceptr, dstPitch: size, us: ushort, Width: size, Height: size',
    { perThread: 'ptds', as: 'cuMemsetD2D16Async' },
  ),
  asyncCall('cuMemsetD32Async', 3020, 'dstDevice: deviceptr, ui: uint, N: size, hStream: stream', {
    perThread: 'ptsz',
  }),
  local('cuMemsetD32_v2', 3020, 'dstDevice: deviceptr, ui: uint, N: size', {
    perThread: 'ptds',
    as: 'cuMemsetD32Async',
  }),
  asyncCall(
    'cuMemsetD2D32Async',
    3020,
    'dstDevice: deviceptr, dstPitch: size, ui: uint, Width: size, Height: size, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local(
    'cuMemsetD2D32_v2',
    3020,
    'dstDevice: deviceptr, dstPitch: size, ui: uint, Width: size, Height: size',
    { perThread: 'ptds', as: 'cuMemsetD2D32Async' },
  ),
  // Before CUDA 3.2: addresses of 32 bits, where no driver of today has memory.
  local('cuMemsetD8', 2000, 'dstDevice: CUdeviceptr_v1, uc: uchar, N: uint', { as: 'cuMemsetD8Async' }),
  local('cuMemsetD16', 2000, 'dstDevice: CUdeviceptr_v1, us: ushort, N: uint', { as: 'cuMemsetD16Async' }),
  local('cuMemsetD32', 2000, 'dstDevice: CUdeviceptr_v1, ui: uint, N: uint', { as: 'cuMemsetD32Async' }),
  local(
    'cuMemsetD2D8',
    2000,
    'dstDevice: CUdeviceptr_v1, dstPitch: uint, uc: uchar, Width: uint, Height: uint',
    { as: 'cuMemsetD2D8Async' },
  ),
  local(
    'cuMemsetD2D16',
    2000,
    'dstDevice: CUdeviceptr_v1, dstPitch: uint, us: ushort, Width: uint, Height: uint',
    { as: 'cuMemsetD2D16Async' },
  ),
  local(
    'cuMemsetD2D32',
    2000,
    'dstDevice: CUdeviceptr_v1, dstPitch: uint, ui: uint, Width: uint, Height: uint',
    { as: 'cuMemsetD2D32Async' },
  ),
]);
