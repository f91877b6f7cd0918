// Stream-ordered memory and its pools.
import { asyncCall, local, sync, rows } from '../builders.js';

export const pool = rows('pool', [
  local('cuMemAllocAsync', 11020, 'dptr: out deviceptr, bytesize: size, hStream: stream', {
    perThread: 'ptsz',
  }),
  sync('cuMemAllocFromPoolAsync', 11020, 'dptr: out deviceptr, bytesize: size, pool: pool, hStream: stream', {
    perThread: 'ptsz',
    client: 'the range is remembered: copies find their direction by it',
    worker: 'kept within the granted memory',
  }),
  asyncCall('cuMemFreeAsync', 11020, 'dptr: deviceptr, hStream: stream', {
    perThread: 'ptsz',
    client: 'checked against the remembered ranges, so that a wrong address is refused at once',
    worker: 'the bytes go back to the grant',
  }),
  asyncCall('cuMemPoolCreate', 11020, 'pool: new pool, poolProps: in CUmemPoolProps', {
    client: 'properties are checked: memory that another process could share is refused',
    worker: 'the location is one of the granted devices',
  }),
  asyncCall('cuMemPoolDestroy', 11020, 'pool: free pool'),
  asyncCall('cuMemPoolTrimTo', 11020, 'pool: pool, minBytesToKeep: size'),
  asyncCall('cuMemPoolSetAttribute', 11020, 'pool: pool, attr: CUmemPool_attribute, value: reads void*', {
    client: 'the width of the value depends on the attribute',
    worker: 'the width of the value depends on the attribute',
  }),
  sync('cuMemPoolGetAttribute', 11020, 'pool: pool, attr: CUmemPool_attribute, value: writes void*', {
    client: 'the width of the value depends on the attribute',
    worker: 'the width of the value depends on the attribute',
  }),
  local('cuMemPoolSetAccess', 11020, 'pool: pool, map: reads const CUmemAccessDesc*[count], count: size'),
  local(
    'cuMemPoolGetAccess',
    11020,
    'flags: out CUmemAccess_flags, memPool: pool, location: reads CUmemLocation*',
  ),
  local(
    'cuMemGetDefaultMemPool',
    13000,
    'pool_out: out pool, location: reads CUmemLocation*, type: CUmemAllocationType',
  ),
  local(
    'cuMemGetMemPool',
    13000,
    'pool: out pool, location: reads CUmemLocation*, type: CUmemAllocationType',
  ),
  local('cuMemSetMemPool', 13000, 'location: reads CUmemLocation*, type: CUmemAllocationType, pool: pool'),
]);
