// Launching kernels and host functions.
import { asyncCall, local, unsupported, rows } from '../builders.js';
import { NEWER } from '../reasons.js';

export const launch = rows('launch', [
  asyncCall(
    'cuLaunchKernel',
    4000,
    'f: function, gridDimX: uint, gridDimY: uint, gridDimZ: uint, blockDimX: uint, blockDimY: uint, blockDimZ: uint, sharedMemBytes: uint, hStream: stream, kernelParams: reads void**, extra: reads void**',
    {
      perThread: 'ptsz',
      client: 'parameters are packed by the layout that came with the load',
      worker: 'parameters arrive packed',
    },
  ),
  asyncCall(
    'cuLaunchKernelEx',
    11060,
    'config: in CUlaunchConfig, f: function, kernelParams: reads void**, extra: reads void**',
    {
      perThread: 'ptsz',
      client: 'parameters are packed by the layout that came with the load; attributes follow one by one',
      worker: 'attributes are rebuilt, those that name handles are refused',
    },
  ),
  local(
    'cuLaunchCooperativeKernel',
    9000,
    'f: function, gridDimX: uint, gridDimY: uint, gridDimZ: uint, blockDimX: uint, blockDimY: uint, blockDimZ: uint, sharedMemBytes: uint, hStream: stream, kernelParams: reads void**',
    { perThread: 'ptsz' },
  ),
  asyncCall('cuLaunchHostFunc', 10000, 'hStream: stream, fn: keeps CUhostFn, userData: keeps void*', {
    perThread: 'ptsz',
    client: 'the function runs in the client',
    worker: 'the stream waits until the client has run the function',
  }),
  local(
    'cuStreamAddCallback',
    5000,
    'hStream: stream, callback: keeps CUstreamCallback, userData: keeps void*, flags: uint',
    { perThread: 'ptsz' },
  ),
  unsupported('cuLaunchHostFunc_v2', 13010, NEWER, 'ptsz'),
]);
