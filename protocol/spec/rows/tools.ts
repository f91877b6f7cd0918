// Tools that act on the process that holds the GPU.
import { unsupported, rows } from '../builders.js';
import { DRIVER_PROCESS } from '../reasons.js';

export const tools = rows('tools', [
  unsupported('cuProfilerInitialize', 4000, DRIVER_PROCESS),
  unsupported('cuCoredumpGetAttribute', 12010, DRIVER_PROCESS),
  unsupported('cuCoredumpGetAttributeGlobal', 12010, DRIVER_PROCESS),
  unsupported('cuCoredumpSetAttribute', 12010, DRIVER_PROCESS),
  unsupported('cuCoredumpSetAttributeGlobal', 12010, DRIVER_PROCESS),
  unsupported('cuDeviceRegisterAsyncNotification', 12040, DRIVER_PROCESS),
  unsupported('cuDeviceUnregisterAsyncNotification', 12040, DRIVER_PROCESS),
  unsupported('cuCheckpointProcessCheckpoint', 12080, DRIVER_PROCESS),
  unsupported('cuCheckpointProcessGetRestoreThreadId', 12080, DRIVER_PROCESS),
  unsupported('cuCheckpointProcessGetState', 12080, DRIVER_PROCESS),
  unsupported('cuCheckpointProcessLock', 12080, DRIVER_PROCESS),
  unsupported('cuCheckpointProcessRestore', 12080, DRIVER_PROCESS),
  unsupported('cuCheckpointProcessUnlock', 12080, DRIVER_PROCESS),
  unsupported('cuLogsCurrent', 12090, DRIVER_PROCESS),
  unsupported('cuLogsDumpToFile', 12090, DRIVER_PROCESS),
  unsupported('cuLogsDumpToMemory', 12090, DRIVER_PROCESS),
  unsupported('cuLogsRegisterCallback', 12090, DRIVER_PROCESS),
  unsupported('cuLogsUnregisterCallback', 12090, DRIVER_PROCESS),
  unsupported('cuCoredumpDeregisterCompleteCallback', 13020, DRIVER_PROCESS),
  unsupported('cuCoredumpDeregisterStartCallback', 13020, DRIVER_PROCESS),
  unsupported('cuCoredumpRegisterCompleteCallback', 13020, DRIVER_PROCESS),
  unsupported('cuCoredumpRegisterStartCallback', 13020, DRIVER_PROCESS),
  unsupported('cuCheckpointOperationComplete', 13040, DRIVER_PROCESS),
]);
