// Texture and surface objects, and the references that came before them. A reference is deprecated and cold:
// what it is set to is kept by the driver alone, and each call about it waits for the driver's answer.
import { asyncCall, local, sync, unsupported, rows } from '../builders.js';
import { SPARSE } from '../reasons.js';

const structures = 'descriptions are structures that name arrays';
const known = 'the object must be one that was made here';

export const texture = rows('texture', [
  sync(
    'cuTexObjectCreate',
    5000,
    'pTexObject: out u64, pResDesc: in CUDA_RESOURCE_DESC, pTexDesc: in CUDA_TEXTURE_DESC, pResViewDesc: in CUDA_RESOURCE_VIEW_DESC',
    { client: structures, worker: structures },
  ),
  asyncCall('cuTexObjectDestroy', 5000, 'texObject: u64', { client: known, worker: known }),
  local('cuTexObjectGetResourceDesc', 5000, 'pResDesc: out CUDA_RESOURCE_DESC, texObject: u64'),
  local('cuTexObjectGetTextureDesc', 5000, 'pTexDesc: out CUDA_TEXTURE_DESC, texObject: u64'),
  local('cuTexObjectGetResourceViewDesc', 5000, 'pResViewDesc: out CUDA_RESOURCE_VIEW_DESC, texObject: u64'),
  sync('cuSurfObjectCreate', 5000, 'pSurfObject: out u64, pResDesc: in CUDA_RESOURCE_DESC', {
    client: structures,
    worker: structures,
  }),
  asyncCall('cuSurfObjectDestroy', 5000, 'surfObject: u64', { client: known, worker: known }),
  local('cuSurfObjectGetResourceDesc', 5000, 'pResDesc: out CUDA_RESOURCE_DESC, surfObject: u64'),
  unsupported('cuMemMapArrayAsync', 11010, SPARSE, 'ptsz'),
]);

const remembered = 'the array is remembered, for the program to ask';

export const textureReference = rows('textureReference', [
  sync('cuModuleGetTexRef', 2000, 'pTexRef: out texref, hmod: module, name: reads const char*', {
    client: 'the name is text',
    worker: 'the name is text',
  }),
  sync('cuModuleGetSurfRef', 3000, 'pSurfRef: out surfref, hmod: module, name: reads const char*', {
    client: 'the name is text',
    worker: 'the name is text',
  }),
  sync('cuTexRefCreate', 2000, 'pTexRef: new texref'),
  sync('cuTexRefDestroy', 2000, 'hTexRef: free texref'),
  sync('cuTexRefSetArray', 2000, 'hTexRef: texref, hArray: array, Flags: uint', { client: remembered }),
  sync('cuTexRefSetMipmappedArray', 5000, 'hTexRef: texref, hMipmappedArray: mipmap, Flags: uint', {
    client: remembered,
  }),
  sync('cuTexRefSetAddress_v2', 3020, 'ByteOffset: out size, hTexRef: texref, dptr: deviceptr, bytes: size', {
    client: 'who knows that the offset is zero does not ask for it',
  }),
  local(
    'cuTexRefSetAddress',
    2000,
    'ByteOffset: out uint, hTexRef: texref, dptr: CUdeviceptr_v1, bytes: uint',
  ),
  sync(
    'cuTexRefSetAddress2D_v3',
    4010,
    'hTexRef: texref, desc: in CUDA_ARRAY_DESCRIPTOR, dptr: deviceptr, Pitch: size',
    { client: 'the description is a structure', worker: 'the description is a structure' },
  ),
  local(
    'cuTexRefSetAddress2D_v2',
    3020,
    'hTexRef: texref, desc: in CUDA_ARRAY_DESCRIPTOR, dptr: deviceptr, Pitch: size',
    { as: 'cuTexRefSetAddress2D_v3' },
  ),
  local(
    'cuTexRefSetAddress2D',
    2020,
    'hTexRef: texref, desc: in CUDA_ARRAY_DESCRIPTOR_v1, dptr: CUdeviceptr_v1, Pitch: uint',
  ),
  sync('cuTexRefSetFormat', 2000, 'hTexRef: texref, fmt: CUarray_format, NumPackedComponents: int'),
  sync('cuTexRefSetAddressMode', 2000, 'hTexRef: texref, dim: int, am: CUaddress_mode'),
  sync('cuTexRefSetFilterMode', 2000, 'hTexRef: texref, fm: CUfilter_mode'),
  sync('cuTexRefSetMipmapFilterMode', 5000, 'hTexRef: texref, fm: CUfilter_mode'),
  sync('cuTexRefSetMipmapLevelBias', 5000, 'hTexRef: texref, bias: float'),
  sync(
    'cuTexRefSetMipmapLevelClamp',
    5000,
    'hTexRef: texref, minMipmapLevelClamp: float, maxMipmapLevelClamp: float',
  ),
  sync('cuTexRefSetMaxAnisotropy', 5000, 'hTexRef: texref, maxAniso: uint'),
  sync('cuTexRefSetBorderColor', 8000, 'hTexRef: texref, pBorderColor: reads float*', {
    client: 'four numbers in memory',
    worker: 'four numbers in memory',
  }),
  sync('cuTexRefSetFlags', 2000, 'hTexRef: texref, Flags: uint'),
  sync('cuTexRefGetAddress_v2', 3020, 'pdptr: out deviceptr, hTexRef: texref'),
  local('cuTexRefGetAddress', 2000, 'pdptr: out CUdeviceptr_v1, hTexRef: texref'),
  local('cuTexRefGetArray', 2000, 'phArray: out array, hTexRef: texref'),
  local('cuTexRefGetMipmappedArray', 5000, 'phMipmappedArray: out mipmap, hTexRef: texref'),
  sync('cuTexRefGetAddressMode', 2000, 'pam: out CUaddress_mode, hTexRef: texref, dim: int'),
  sync('cuTexRefGetFilterMode', 2000, 'pfm: out CUfilter_mode, hTexRef: texref'),
  sync('cuTexRefGetFormat', 2000, 'pFormat: out CUarray_format, pNumChannels: out int, hTexRef: texref'),
  sync('cuTexRefGetMipmapFilterMode', 5000, 'pfm: out CUfilter_mode, hTexRef: texref'),
  sync('cuTexRefGetMipmapLevelBias', 5000, 'pbias: out float, hTexRef: texref'),
  sync(
    'cuTexRefGetMipmapLevelClamp',
    5000,
    'pminMipmapLevelClamp: out float, pmaxMipmapLevelClamp: out float, hTexRef: texref',
  ),
  sync('cuTexRefGetMaxAnisotropy', 5000, 'pmaxAniso: out int, hTexRef: texref'),
  sync('cuTexRefGetBorderColor', 8000, 'pBorderColor: writes float*, hTexRef: texref', {
    client: 'four numbers in memory',
    worker: 'four numbers in memory',
  }),
  sync('cuTexRefGetFlags', 2000, 'pFlags: out uint, hTexRef: texref'),
  sync('cuSurfRefSetArray', 3000, 'hSurfRef: surfref, hArray: array, Flags: uint', { client: remembered }),
  local('cuSurfRefGetArray', 3000, 'phArray: out array, hSurfRef: surfref'),
]);
