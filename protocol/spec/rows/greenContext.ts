// Green contexts and execution resources.
import { unsupported, rows } from '../builders.js';
import { GREEN } from '../reasons.js';

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
  unsupported('cuCtxRecordEvent', 12050, GREEN),
  unsupported('cuCtxWaitEvent', 12050, GREEN),
  unsupported('cuGreenCtxStreamCreate', 12050, GREEN),
  unsupported('cuStreamGetCtx_v2', 12050, GREEN, 'ptsz'),
  unsupported('cuGreenCtxGetId', 12090, GREEN),
  unsupported('cuDevSmResourceSplit', 13010, GREEN),
  unsupported('cuStreamGetDevResource', 13010, GREEN, 'ptsz'),
]);
