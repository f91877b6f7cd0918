// Modules: images loaded into a context.
import { asyncCall, local, sync, unsupported, rows } from '../builders.js';
import { OLD_ADDRESSES } from '../reasons.js';

export const moduleRows = rows('module', [
  local('cuModuleGetLoadingMode', 11070, 'mode: out CUmoduleLoadingMode'),
  sync('cuModuleLoadData', 2000, 'module: new module, image: reads const void*', {
    client: 'the length is found from the image; a large one travels only when the worker lacks it',
    worker: 'answers with the table of kernels',
  }),
  local('cuModuleLoad', 2000, 'module: new module, fname: reads const char*'),
  local(
    'cuModuleLoadDataEx',
    2010,
    'module: new module, image: reads const void*, numOptions: uint, options: reads CUjit_option*[numOptions], optionValues: reads void**[numOptions]',
  ),
  local('cuModuleLoadFatBinary', 2000, 'module: new module, fatCubin: reads const void*'),
  asyncCall('cuModuleUnload', 2000, 'hmod: free module', {
    client: 'the functions of the module die with it',
    worker: 'forgets the functions of the module',
  }),
  sync('cuModuleGetFunction', 2000, 'hfunc: new function, hmod: module, name: reads const char*', {
    client:
      'answered from the table that came with the load; asked for only where a driver cannot list kernels',
    worker: 'binds the function to the handle',
  }),
  sync(
    'cuModuleGetGlobal_v2',
    3020,
    'dptr: out deviceptr, bytes: out size, hmod: module, name: reads const char*',
    { client: 'answers are remembered per module', worker: 'looks up by name' },
  ),
  local('cuModuleGetFunctionCount', 12040, 'count: out uint, mod: module'),
  local(
    'cuModuleEnumerateFunctions',
    12040,
    'functions: writes CUfunction*[numFunctions], numFunctions: uint, mod: module',
  ),
  unsupported('cuModuleGetGlobal', 2000, OLD_ADDRESSES),
]);
