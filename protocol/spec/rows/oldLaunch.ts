// Launching as before CUDA 4: shape and parameters are kept with the function, in the client.
import { local, rows } from '../builders.js';

export const oldLaunch = rows('oldLaunch', [
  local('cuFuncSetBlockShape', 2000, 'hfunc: function, x: int, y: int, z: int'),
  local('cuFuncSetSharedSize', 2000, 'hfunc: function, bytes: uint'),
  local('cuParamSetSize', 2000, 'hfunc: function, numbytes: uint'),
  local('cuParamSeti', 2000, 'hfunc: function, offset: int, value: uint'),
  local('cuParamSetf', 2000, 'hfunc: function, offset: int, value: float'),
  local('cuParamSetv', 2000, 'hfunc: function, offset: int, ptr: reads void*[numbytes], numbytes: uint'),
  local('cuParamSetTexRef', 2000, 'hfunc: function, texunit: int, hTexRef: CUtexref'),
  local('cuLaunch', 2000, 'f: function'),
  local('cuLaunchGrid', 2000, 'f: function, grid_width: int, grid_height: int'),
  local('cuLaunchGridAsync', 2000, 'f: function, grid_width: int, grid_height: int, hStream: stream'),
  local(
    'cuLaunchCooperativeKernelMultiDevice',
    9000,
    'launchParamsList: reads CUDA_LAUNCH_PARAMS*[numDevices], numDevices: uint, flags: uint',
  ),
]);
