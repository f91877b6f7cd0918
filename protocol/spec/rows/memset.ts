// Filling device memory. The forms without a stream are the asynchronous ones on the default stream.
import { asyncCall, local, unsupported, rows } from '../builders.js';
import { OLD_ADDRESSES } from '../reasons.js';

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
  unsupported('cuMemsetD16', 2000, OLD_ADDRESSES),
  unsupported('cuMemsetD2D16', 2000, OLD_ADDRESSES),
  unsupported('cuMemsetD2D32', 2000, OLD_ADDRESSES),
  unsupported('cuMemsetD2D8', 2000, OLD_ADDRESSES),
  unsupported('cuMemsetD32', 2000, OLD_ADDRESSES),
  unsupported('cuMemsetD8', 2000, OLD_ADDRESSES),
]);
