// Tensor maps.
import { unsupported, rows } from '../builders.js';
import { TENSOR_MAP } from '../reasons.js';

export const tensorMap = rows('tensorMap', [
  unsupported('cuTensorMapEncodeIm2col', 12000, TENSOR_MAP),
  unsupported('cuTensorMapEncodeTiled', 12000, TENSOR_MAP),
  unsupported('cuTensorMapReplaceAddress', 12000, TENSOR_MAP),
  unsupported('cuTensorMapEncodeIm2colWide', 12080, TENSOR_MAP),
  unsupported('cuTensorMapSetAllocationClass', 13050, TENSOR_MAP),
]);
