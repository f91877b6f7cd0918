// Contexts: stacks live in the client, per thread; the worker follows with one frame when the current context of the calls changes.
import { asyncCall, local, sync, rows } from '../builders.js';

export const context = rows('context', [
  asyncCall('cuDevicePrimaryCtxRetain', 7000, 'pctx: new context, dev: device', {
    client: 'the first reference only is sent; the handle is minted once per device',
    worker: 'binds the real primary context to the handle',
  }),
  asyncCall('cuDevicePrimaryCtxRelease_v2', 11000, 'dev: device', {
    client: 'references are counted in the client; the last one is sent',
    worker: 'forgets what lived in the context',
  }),
  local('cuDevicePrimaryCtxRelease', 7000, 'dev: device', { as: 'cuDevicePrimaryCtxRelease_v2' }),
  asyncCall('cuDevicePrimaryCtxReset_v2', 11000, 'dev: device', {
    client: 'everything minted in the context dies with it',
    worker: 'forgets what lived in the context',
  }),
  local('cuDevicePrimaryCtxReset', 7000, 'dev: device', { as: 'cuDevicePrimaryCtxReset_v2' }),
  asyncCall('cuDevicePrimaryCtxSetFlags_v2', 11000, 'dev: device, flags: uint', {
    client: 'flags are remembered for cuDevicePrimaryCtxGetState',
  }),
  local('cuDevicePrimaryCtxSetFlags', 7000, 'dev: device, flags: uint', {
    as: 'cuDevicePrimaryCtxSetFlags_v2',
  }),
  local('cuDevicePrimaryCtxGetState', 7000, 'dev: device, flags: out uint, active: out int'),
  asyncCall('cuCtxCreate_v2', 3020, 'pctx: new context, flags: uint, dev: device', {
    client: 'the new context becomes current in the calling thread',
    worker: 'binds the new context to the handle',
  }),
  local('cuCtxCreate', 2000, 'pctx: new context, flags: uint, dev: device', { as: 'cuCtxCreate_v2' }),
  local(
    'cuCtxCreate_v3',
    11040,
    'pctx: new context, paramsArray: reads CUexecAffinityParam*[numParams], numParams: int, flags: uint, dev: device',
  ),
  local(
    'cuCtxCreate_v4',
    12050,
    'pctx: new context, ctxCreateParams: reads CUctxCreateParams*, flags: uint, dev: device',
  ),
  asyncCall('cuCtxDestroy_v2', 4000, 'ctx: free context', {
    client: 'everything minted in the context dies with it',
    worker: 'forgets what lived in the context',
  }),
  local('cuCtxDestroy', 2000, 'ctx: free context', { as: 'cuCtxDestroy_v2' }),
  local('cuCtxAttach', 2000, 'pctx: out context, flags: uint'),
  local('cuCtxDetach', 2000, 'ctx: context'),
  local('cuCtxPushCurrent_v2', 4000, 'ctx: context'),
  local('cuCtxPushCurrent', 2000, 'ctx: context', { as: 'cuCtxPushCurrent_v2' }),
  local('cuCtxPopCurrent_v2', 4000, 'pctx: out context'),
  local('cuCtxPopCurrent', 2000, 'pctx: out context', { as: 'cuCtxPopCurrent_v2' }),
  local('cuCtxSetCurrent', 4000, 'ctx: context'),
  local('cuCtxGetCurrent', 4000, 'pctx: out context'),
  local('cuCtxGetDevice', 2000, 'device: out device'),
  local('cuCtxGetDevice_v2', 13000, 'device: out device, ctx: context'),
  local('cuCtxGetFlags', 7000, 'flags: out uint'),
  local('cuCtxSetFlags', 12010, 'flags: uint'),
  local('cuCtxGetId', 12000, 'ctx: context, ctxId: out u64'),
  local('cuCtxGetApiVersion', 3020, 'ctx: context, version: out uint'),
  local('cuCtxGetStreamPriorityRange', 5050, 'leastPriority: out int, greatestPriority: out int'),
  sync('cuCtxSynchronize', 2000, '', {
    client: 'asks nothing when an answer has said that all is done and nothing was sent since',
    worker: 'waits, so that it must not hold up the calls of other threads',
    reports: true,
  }),
  sync('cuCtxSynchronize_v2', 13000, 'ctx: context', {
    client: 'makes the given context current for the length of the call',
  }),
  sync('cuCtxSetLimit', 3010, 'limit: CUlimit, value: size'),
  sync('cuCtxGetLimit', 3010, 'pvalue: out size, limit: CUlimit'),
  local('cuCtxGetCacheConfig', 3020, 'pconfig: out CUfunc_cache'),
  asyncCall('cuCtxSetCacheConfig', 3020, 'config: CUfunc_cache', {
    client: 'remembered for cuCtxGetCacheConfig',
  }),
  local('cuCtxGetSharedMemConfig', 4020, 'pConfig: out CUsharedconfig'),
  asyncCall('cuCtxSetSharedMemConfig', 4020, 'config: CUsharedconfig', {
    client: 'remembered for cuCtxGetSharedMemConfig',
  }),
  asyncCall('cuCtxResetPersistingL2Cache', 11000, ''),
  asyncCall('cuCtxEnablePeerAccess', 4000, 'peerContext: context, Flags: uint', {
    client: 'whether it can be and whether it is already is known here',
  }),
  asyncCall('cuCtxDisablePeerAccess', 4000, 'peerContext: context', {
    client: 'whether it was enabled is known here',
  }),
  local(
    'cuCtxGetExecAffinity',
    11040,
    'pExecAffinity: writes CUexecAffinityParam*, type: CUexecAffinityType',
  ),
]);
