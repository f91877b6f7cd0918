// Managed memory. Pages are kept the same on both sides by native/client/coherence.h.
import { local, sync, unsupported, rows } from '../builders.js';
import { MANAGED_LIBRARY } from '../reasons.js';

const BATCH =
  'dptrs: reads CUdeviceptr*[count], sizes: reads size_t*[count], count: size, ' +
  'prefetchLocs: reads CUmemLocation*[numPrefetchLocs], prefetchLocIdxs: reads size_t*[numPrefetchLocs], ' +
  'numPrefetchLocs: size, flags: u64, hStream: stream';

export const managed = rows('managed', [
  sync('cuMemAllocManaged', 6000, 'dptr: out deviceptr, bytesize: size, flags: uint', {
    client: 'the same addresses are made memory of the client',
    worker: 'kept within the granted memory, and compared with what the client has',
  }),
  local('cuStreamAttachMemAsync', 6000, 'hStream: stream, dptr: deviceptr, length: size, flags: uint', {
    perThread: 'ptsz',
  }),
  local('cuMemAdvise', 8000, 'devPtr: deviceptr, count: size, advice: CUmem_advise, device: device'),
  local('cuMemPrefetchAsync', 8000, 'devPtr: deviceptr, count: size, dstDevice: device, hStream: stream', {
    perThread: 'ptsz',
  }),
  local(
    'cuMemRangeGetAttribute',
    8000,
    'data: writes void*[dataSize], dataSize: size, attribute: CUmem_range_attribute, devPtr: deviceptr, count: size',
  ),
  local(
    'cuMemRangeGetAttributes',
    8000,
    'data: writes void**[numAttributes], dataSizes: reads size_t*[numAttributes], attributes: reads CUmem_range_attribute*[numAttributes], numAttributes: size, devPtr: deviceptr, count: size',
  ),
  unsupported('cuLibraryGetManaged', 12000, MANAGED_LIBRARY),
  unsupported('cuLibraryGetUnifiedFunction', 12000, MANAGED_LIBRARY),
  local(
    'cuMemAdvise_v2',
    12020,
    'devPtr: deviceptr, count: size, advice: CUmem_advise, location: CUmemLocation',
  ),
  local(
    'cuMemPrefetchAsync_v2',
    12020,
    'devPtr: deviceptr, count: size, location: CUmemLocation, flags: uint, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local('cuMemDiscardAndPrefetchBatchAsync', 13000, BATCH, { perThread: 'ptsz' }),
  local(
    'cuMemDiscardBatchAsync',
    13000,
    'dptrs: reads CUdeviceptr*[count], sizes: reads size_t*[count], count: size, flags: u64, hStream: stream',
    { perThread: 'ptsz' },
  ),
  local('cuMemPrefetchBatchAsync', 13000, BATCH, { perThread: 'ptsz' }),
]);
