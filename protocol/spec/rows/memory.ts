// Device memory, pinned host memory and what is known about pointers.
import { asyncCall, local, sync, unsupported, rows } from '../builders.js';
import { NEWER, OLD_ADDRESSES } from '../reasons.js';

export const memory = rows('memory', [
  sync('cuMemGetInfo_v2', 3020, 'free: out size, total: out size', {
    worker: 'shows the granted memory, not the whole of the GPU',
  }),
  sync('cuMemAlloc_v2', 3020, 'dptr: out deviceptr, bytesize: size', {
    client: 'the range is remembered: copies find their direction by it',
    worker: 'kept within the granted memory',
  }),
  sync(
    'cuMemAllocPitch_v2',
    3020,
    'dptr: out deviceptr, pPitch: out size, WidthInBytes: size, Height: size, ElementSizeBytes: uint',
    {
      client: 'the range is remembered: copies find their direction by it',
      worker: 'kept within the granted memory',
    },
  ),
  asyncCall('cuMemFree_v2', 3020, 'dptr: deviceptr', {
    client: 'checked against the remembered ranges, so that a wrong address is refused at once',
    worker: 'the bytes go back to the grant',
  }),
  local('cuMemGetAddressRange_v2', 3020, 'pbase: out deviceptr, psize: out size, dptr: deviceptr'),
  local('cuMemAllocHost_v2', 3020, 'pp: writes void**, bytesize: size'),
  local('cuMemFreeHost', 2000, 'p: reads void*'),
  local('cuMemHostAlloc', 2020, 'pp: writes void**, bytesize: size, Flags: uint'),
  local('cuMemHostGetDevicePointer_v2', 3020, 'pdptr: out deviceptr, p: reads void*, Flags: uint'),
  local('cuMemHostGetFlags', 2030, 'pFlags: out uint, p: reads void*'),
  local('cuMemHostRegister_v2', 6050, 'p: keeps void*[bytesize], bytesize: size, Flags: uint'),
  local('cuMemHostRegister', 4000, 'p: keeps void*[bytesize], bytesize: size, Flags: uint', {
    as: 'cuMemHostRegister_v2',
  }),
  local('cuMemHostUnregister', 4000, 'p: reads void*'),
  local('cuPointerGetAttribute', 4000, 'data: writes void*, attribute: CUpointer_attribute, ptr: deviceptr'),
  local(
    'cuPointerGetAttributes',
    7000,
    'numAttributes: uint, attributes: reads CUpointer_attribute*[numAttributes], data: writes void**[numAttributes], ptr: deviceptr',
  ),
  local(
    'cuPointerSetAttribute',
    6000,
    'value: reads const void*, attribute: CUpointer_attribute, ptr: deviceptr',
  ),
  unsupported('cuMemAlloc', 2000, OLD_ADDRESSES),
  unsupported('cuMemAllocPitch', 2000, OLD_ADDRESSES),
  unsupported('cuMemFree', 2000, OLD_ADDRESSES),
  unsupported('cuMemGetAddressRange', 2000, OLD_ADDRESSES),
  unsupported('cuMemHostGetDevicePointer', 2020, OLD_ADDRESSES),
  unsupported('cuMemGetLocationInfo', 13040, NEWER),
  local('cuMemGetInfo', 2000, 'free: out uint, total: out uint'),
  local('cuMemAllocHost', 2000, 'pp: writes void**, bytesize: uint'),
  sync(
    'cuMemBatchDecompressAsync',
    12060,
    'paramsArray: reads CUmemDecompressParams*[count], count: size, flags: uint, errorIndex: out size, stream: stream',
    {
      perThread: 'ptsz',
      client: 'the list is checked: everything in it is device memory',
      worker: 'the list is rebuilt',
    },
  ),
]);
