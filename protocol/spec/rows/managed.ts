// Managed memory.
import { unsupported, rows } from '../builders.js';
import { MANAGED } from '../reasons.js';

export const managed = rows('managed', [
  unsupported('cuMemAllocManaged', 6000, MANAGED),
  unsupported('cuStreamAttachMemAsync', 6000, MANAGED, 'ptsz'),
  unsupported('cuMemAdvise', 8000, MANAGED),
  unsupported('cuMemPrefetchAsync', 8000, MANAGED, 'ptsz'),
  unsupported('cuMemRangeGetAttribute', 8000, MANAGED),
  unsupported('cuMemRangeGetAttributes', 8000, MANAGED),
  unsupported('cuLibraryGetManaged', 12000, MANAGED),
  unsupported('cuLibraryGetUnifiedFunction', 12000, MANAGED),
  unsupported('cuMemAdvise_v2', 12020, MANAGED),
  unsupported('cuMemPrefetchAsync_v2', 12020, MANAGED, 'ptsz'),
  unsupported('cuMemDiscardAndPrefetchBatchAsync', 13000, MANAGED, 'ptsz'),
  unsupported('cuMemDiscardBatchAsync', 13000, MANAGED, 'ptsz'),
  unsupported('cuMemPrefetchBatchAsync', 13000, MANAGED, 'ptsz'),
]);
