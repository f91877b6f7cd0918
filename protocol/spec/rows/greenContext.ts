// Green contexts and execution resources.
import { asyncCall, local, unsupported, rows } from '../builders.js';
import { GREEN, NEWER } from '../reasons.js';

export const greenContext = rows('greenContext', [
  unsupported('cuCtxFromGreenCtx', 12040, GREEN),
  unsupported('cuCtxGetDevResource', 12040, GREEN),
  unsupported('cuDevResourceGenerateDesc', 12040, GREEN),
  unsupported('cuDevSmResourceSplitByCount', 12040, GREEN),
  unsupported('cuDeviceGetDevResource', 12040, GREEN),
  unsupported('cuGreenCtxCreate', 12040, GREEN),
  unsupported('cuGreenCtxDestroy', 12040, GREEN),
  unsupported('cuGreenCtxGetDevResource', 12040, GREEN),
  unsupported('cuGreenCtxRecordEvent', 12040, GREEN),
  unsupported('cuGreenCtxWaitEvent', 12040, GREEN),
  unsupported('cuStreamGetGreenCtx', 12040, GREEN),
  unsupported('cuGreenCtxStreamCreate', 12050, GREEN),
  unsupported('cuGreenCtxGetId', 12090, GREEN),
  unsupported('cuDevSmResourceSplit', 13010, NEWER),
  unsupported('cuStreamGetDevResource', 13010, NEWER, 'ptsz'),
  asyncCall('cuCtxRecordEvent', 12050, 'hCtx: context, hEvent: event'),
  asyncCall('cuCtxWaitEvent', 12050, 'hCtx: context, hEvent: event'),
  local('cuStreamGetCtx_v2', 12050, 'hStream: stream, pCtx: out context, pGreenCtx: writes CUgreenCtx*', {
    perThread: 'ptsz',
  }),
]);
