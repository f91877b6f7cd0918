// Libraries: images that belong to no context, and their kernels.
import { asyncCall, local, sync, rows } from '../builders.js';

export const library = rows('library', [
  sync(
    'cuLibraryLoadData',
    12000,
    'library: new library, code: reads const void*, jitOptions: reads CUjit_option*[numJitOptions], jitOptionsValues: reads void**[numJitOptions], numJitOptions: uint, libraryOptions: reads CUlibraryOption*[numLibraryOptions], libraryOptionValues: reads void**[numLibraryOptions], numLibraryOptions: uint',
    {
      client: 'the length is found from the image; a large one travels only when the worker lacks it',
      worker: 'answers with the table of kernels',
    },
  ),
  local(
    'cuLibraryLoadFromFile',
    12000,
    'library: new library, fileName: reads const char*, jitOptions: reads CUjit_option*[numJitOptions], jitOptionsValues: reads void**[numJitOptions], numJitOptions: uint, libraryOptions: reads CUlibraryOption*[numLibraryOptions], libraryOptionValues: reads void**[numLibraryOptions], numLibraryOptions: uint',
  ),
  asyncCall('cuLibraryUnload', 12000, 'library: free library', {
    client: 'the kernels of the library die with it',
    worker: 'forgets the kernels of the library',
  }),
  sync('cuLibraryGetKernel', 12000, 'pKernel: new kernel, library: library, name: reads const char*', {
    client:
      'answered from the table that came with the load; asked for only where a driver cannot list kernels',
    worker: 'binds the kernel to the handle',
  }),
  asyncCall('cuLibraryGetModule', 12000, 'pMod: new module, library: library', {
    client: 'the module shares the table of the library',
    worker: 'binds the module to the handle',
  }),
  sync(
    'cuLibraryGetGlobal',
    12000,
    'dptr: out deviceptr, bytes: out size, library: library, name: reads const char*',
    { client: 'answers are remembered per library and context', worker: 'looks up by name' },
  ),
  local('cuLibraryGetKernelCount', 12040, 'count: out uint, lib: library'),
  local(
    'cuLibraryEnumerateKernels',
    12040,
    'kernels: writes CUkernel*[numKernels], numKernels: uint, lib: library',
  ),
  asyncCall('cuKernelGetFunction', 12000, 'pFunc: new function, kernel: kernel', {
    client: 'the function shares the layout of the kernel',
    worker: 'binds the function to the handle',
  }),
  local(
    'cuKernelGetAttribute',
    12000,
    'pi: out int, attrib: CUfunction_attribute, kernel: kernel, dev: device',
  ),
  asyncCall(
    'cuKernelSetAttribute',
    12000,
    'attrib: CUfunction_attribute, val: int, kernel: kernel, dev: device',
    {
      client: 'remembered for cuKernelGetAttribute',
      worker: 'the kernel handle and the device are resolved together',
    },
  ),
  asyncCall('cuKernelSetCacheConfig', 12000, 'kernel: kernel, config: CUfunc_cache, dev: device'),
  local('cuKernelGetName', 12030, 'name: writes const char**, hfunc: kernel'),
  local(
    'cuKernelGetParamInfo',
    12040,
    'kernel: kernel, paramIndex: size, paramOffset: out size, paramSize: out size',
  ),
  local('cuKernelGetParamCount', 13020, 'kernel: kernel, paramCount: out size'),
  local('cuKernelGetLibrary', 12050, 'pLib: out library, kernel: kernel'),
]);
