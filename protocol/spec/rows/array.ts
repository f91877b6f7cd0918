// Arrays and mipmapped arrays, and the copies that count from their beginning.
import { asyncCall, local, sync, rows } from '../builders.js';

export const array = rows('array', [
  sync('cuArray3DCreate_v2', 3020, 'pHandle: out array, pAllocateArray: in CUDA_ARRAY3D_DESCRIPTOR', {
    client: 'the array is remembered as it was described, so that later questions wait for nothing',
    worker: 'its memory is counted first',
  }),
  local('cuArray3DCreate', 2000, 'pHandle: out array, pAllocateArray: in CUDA_ARRAY3D_DESCRIPTOR_v1'),
  local('cuArrayCreate', 2000, 'pHandle: out array, pAllocateArray: in CUDA_ARRAY_DESCRIPTOR_v1'),
  local('cuArrayCreate_v2', 3020, 'pHandle: out array, pAllocateArray: in CUDA_ARRAY_DESCRIPTOR'),
  local('cuArrayGetDescriptor', 2000, 'pArrayDescriptor: out CUDA_ARRAY_DESCRIPTOR_v1, hArray: array'),
  local('cuArrayGetDescriptor_v2', 3020, 'pArrayDescriptor: out CUDA_ARRAY_DESCRIPTOR, hArray: array'),
  local('cuArray3DGetDescriptor', 2000, 'pArrayDescriptor: out CUDA_ARRAY3D_DESCRIPTOR_v1, hArray: array'),
  local('cuArray3DGetDescriptor_v2', 3020, 'pArrayDescriptor: out CUDA_ARRAY3D_DESCRIPTOR, hArray: array'),
  asyncCall('cuArrayDestroy', 2000, 'hArray: free array', {
    client: "levels and planes are not the caller's to destroy",
    worker: 'its memory is counted no longer',
  }),
  asyncCall('cuArrayGetPlane', 11020, 'pPlaneArray: out array, hArray: array, planeIdx: uint', {
    client: 'a plane has one handle, and looks as its format says',
    worker: "the handle is the client's",
  }),
  sync(
    'cuArrayGetSparseProperties',
    11010,
    'sparseProperties: out CUDA_ARRAY_SPARSE_PROPERTIES, array: array',
    {
      client: 'the answer is a structure',
      worker: 'the answer is a structure',
    },
  ),
  sync(
    'cuArrayGetMemoryRequirements',
    11060,
    'memoryRequirements: out CUDA_ARRAY_MEMORY_REQUIREMENTS, array: array, device: device',
    { client: 'the answer is a structure', worker: 'the answer is a structure' },
  ),
  sync(
    'cuMipmappedArrayCreate',
    5000,
    'pHandle: out mipmap, pMipmappedArrayDesc: in CUDA_ARRAY3D_DESCRIPTOR, numMipmapLevels: uint',
    {
      client: 'it is remembered as it was described, so that levels wait for nothing',
      worker: 'its memory is counted first',
    },
  ),
  asyncCall(
    'cuMipmappedArrayGetLevel',
    5000,
    'pLevelArray: out array, hMipmappedArray: mipmap, level: uint',
    {
      client: 'a level has one handle, and looks as its number says',
      worker: "the handle is the client's",
    },
  ),
  asyncCall('cuMipmappedArrayDestroy', 5000, 'hMipmappedArray: free mipmap', {
    client: 'the handles of its levels end with it',
    worker: 'its memory is counted no longer',
  }),
  sync(
    'cuMipmappedArrayGetSparseProperties',
    11010,
    'sparseProperties: out CUDA_ARRAY_SPARSE_PROPERTIES, mipmap: mipmap',
    { client: 'the answer is a structure', worker: 'the answer is a structure' },
  ),
  sync(
    'cuMipmappedArrayGetMemoryRequirements',
    11060,
    'memoryRequirements: out CUDA_ARRAY_MEMORY_REQUIREMENTS, mipmap: mipmap, device: device',
    { client: 'the answer is a structure', worker: 'the answer is a structure' },
  ),
  sync(
    'cuDeviceGetTexture1DLinearMaxWidth',
    11010,
    'maxWidthInElements: out size, format: CUarray_format, numChannels: uint, dev: device',
    {
      client: 'the device may be of another server than the current context',
      worker: 'answers without a context',
    },
  ),
  // Bytes counted from the array's beginning; sent as boxes.
  local(
    'cuMemcpyHtoA_v2',
    3020,
    'dstArray: array, dstOffset: size, srcHost: reads const void*[ByteCount], ByteCount: size',
    {
      perThread: 'ptds',
    },
  ),
  local(
    'cuMemcpyAtoH_v2',
    3020,
    'dstHost: writes void*[ByteCount], srcArray: array, srcOffset: size, ByteCount: size',
    {
      perThread: 'ptds',
    },
  ),
  local('cuMemcpyDtoA_v2', 3020, 'dstArray: array, dstOffset: size, srcDevice: deviceptr, ByteCount: size', {
    perThread: 'ptds',
  }),
  local('cuMemcpyAtoD_v2', 3020, 'dstDevice: deviceptr, srcArray: array, srcOffset: size, ByteCount: size', {
    perThread: 'ptds',
  }),
  local(
    'cuMemcpyAtoA_v2',
    3020,
    'dstArray: array, dstOffset: size, srcArray: array, srcOffset: size, ByteCount: size',
    {
      perThread: 'ptds',
    },
  ),
  local(
    'cuMemcpyHtoAAsync_v2',
    3020,
    'dstArray: array, dstOffset: size, srcHost: reads const void*[ByteCount], ByteCount: size, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local(
    'cuMemcpyAtoHAsync_v2',
    3020,
    'dstHost: writes void*[ByteCount], srcArray: array, srcOffset: size, ByteCount: size, hStream: stream',
    { perThread: 'ptsz' },
  ),
  // Before CUDA 3.2: numbers of 32 bits.
  local(
    'cuMemcpyHtoA',
    2000,
    'dstArray: array, dstOffset: uint, srcHost: reads const void*[ByteCount], ByteCount: uint',
    {
      as: 'cuMemcpyHtoA_v2',
    },
  ),
  local(
    'cuMemcpyAtoH',
    2000,
    'dstHost: writes void*[ByteCount], srcArray: array, srcOffset: uint, ByteCount: uint',
    {
      as: 'cuMemcpyAtoH_v2',
    },
  ),
  local(
    'cuMemcpyDtoA',
    2000,
    'dstArray: array, dstOffset: uint, srcDevice: CUdeviceptr_v1, ByteCount: uint',
    {
      as: 'cuMemcpyDtoA_v2',
    },
  ),
  local(
    'cuMemcpyAtoD',
    2000,
    'dstDevice: CUdeviceptr_v1, srcArray: array, srcOffset: uint, ByteCount: uint',
    {
      as: 'cuMemcpyAtoD_v2',
    },
  ),
  local(
    'cuMemcpyAtoA',
    2000,
    'dstArray: array, dstOffset: uint, srcArray: array, srcOffset: uint, ByteCount: uint',
    {
      as: 'cuMemcpyAtoA_v2',
    },
  ),
  local(
    'cuMemcpyHtoAAsync',
    2000,
    'dstArray: array, dstOffset: uint, srcHost: reads const void*[ByteCount], ByteCount: uint, hStream: stream',
    { as: 'cuMemcpyHtoAAsync_v2' },
  ),
  local(
    'cuMemcpyAtoHAsync',
    2000,
    'dstHost: writes void*[ByteCount], srcArray: array, srcOffset: uint, ByteCount: uint, hStream: stream',
    { as: 'cuMemcpyAtoHAsync_v2' },
  ),
]);
