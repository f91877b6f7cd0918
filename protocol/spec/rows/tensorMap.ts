// Tensor maps. The layout of the 128 bytes is the driver's, so the worker's driver encodes them.
import { sync, rows } from '../builders.js';

const remembered = 'the answer depends on the arguments alone and is remembered';
const arrays = 'arrays and the answer are copied';

export const tensorMap = rows('tensorMap', [
  sync(
    'cuTensorMapEncodeTiled',
    12000,
    'tensorMap: out CUtensorMap, tensorDataType: CUtensorMapDataType, tensorRank: uint, globalAddress: keeps void*, globalDim: in u64, globalStrides: in u64, boxDim: in uint, elementStrides: in uint, interleave: CUtensorMapInterleave, swizzle: CUtensorMapSwizzle, l2Promotion: CUtensorMapL2promotion, oobFill: CUtensorMapFloatOOBfill',
    { client: remembered, worker: arrays },
  ),
  sync(
    'cuTensorMapEncodeIm2col',
    12000,
    'tensorMap: out CUtensorMap, tensorDataType: CUtensorMapDataType, tensorRank: uint, globalAddress: keeps void*, globalDim: in u64, globalStrides: in u64, pixelBoxLowerCorner: in int, pixelBoxUpperCorner: in int, channelsPerPixel: uint, pixelsPerColumn: uint, elementStrides: in uint, interleave: CUtensorMapInterleave, swizzle: CUtensorMapSwizzle, l2Promotion: CUtensorMapL2promotion, oobFill: CUtensorMapFloatOOBfill',
    { client: remembered, worker: arrays },
  ),
  sync(
    'cuTensorMapEncodeIm2colWide',
    12080,
    'tensorMap: out CUtensorMap, tensorDataType: CUtensorMapDataType, tensorRank: uint, globalAddress: keeps void*, globalDim: in u64, globalStrides: in u64, pixelBoxLowerCornerWidth: int, pixelBoxUpperCornerWidth: int, channelsPerPixel: uint, pixelsPerColumn: uint, elementStrides: in uint, interleave: CUtensorMapInterleave, mode: CUtensorMapIm2ColWideMode, swizzle: CUtensorMapSwizzle, l2Promotion: CUtensorMapL2promotion, oobFill: CUtensorMapFloatOOBfill',
    { client: remembered, worker: arrays },
  ),
  sync('cuTensorMapReplaceAddress', 12000, 'tensorMap: inout CUtensorMap, globalAddress: keeps void*', {
    client: remembered,
    worker: arrays,
  }),
  sync(
    'cuTensorMapSetAllocationClass',
    13050,
    'tensorMap: inout CUtensorMap, allocClass: CUtensorMapAllocClass, outAllocClass: out CUtensorMapAllocClass',
    { client: remembered, worker: arrays },
  ),
]);
