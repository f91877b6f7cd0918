// Virtual memory management: the client keeps the book of reservations, physical memory and mappings, so that
// a burst of creates and maps waits for nothing; the worker counts physical memory against the grant.
import { asyncCall, local, sync, rows } from '../builders.js';

export const virtualMemory = rows('virtualMemory', [
  sync(
    'cuMemAddressReserve',
    10020,
    'ptr: out deviceptr, size: size, alignment: size, addr: deviceptr, flags: u64',
    {
      client: 'reservations are remembered; what overlaps memory of the program is asked for again',
      worker: 'reservations are remembered, so that the client reaches none but its own',
    },
  ),
  asyncCall('cuMemAddressFree', 10020, 'ptr: deviceptr, size: size', {
    client: 'checked against the remembered reservations and mappings',
    worker: 'the reservation is forgotten',
  }),
  sync(
    'cuMemCreate',
    10020,
    'handle: out CUmemGenericAllocationHandle, size: size, prop: in CUmemAllocationProp, flags: u64',
    {
      client: 'the handle is minted; the worker is asked only when the memory may not be there',
      worker: 'kept within the granted memory; the answer says how much more is free',
    },
  ),
  asyncCall('cuMemRelease', 10020, 'handle: CUmemGenericAllocationHandle', {
    client: 'references are counted in the client; the last one is sent',
    worker: 'the bytes go back to the grant when nothing maps them any more',
  }),
  asyncCall(
    'cuMemMap',
    10020,
    'ptr: deviceptr, size: size, offset: size, handle: CUmemGenericAllocationHandle, flags: u64',
    {
      client: 'checked against the remembered reservations and mappings',
      worker: 'the mapping holds the physical memory',
    },
  ),
  asyncCall('cuMemUnmap', 10020, 'ptr: deviceptr, size: size', {
    client: 'checked against the remembered mappings',
    worker: 'waits for work that uses the memory, and lets go of it',
  }),
  asyncCall(
    'cuMemSetAccess',
    10020,
    'ptr: deviceptr, size: size, desc: reads const CUmemAccessDesc*[count], count: size',
    {
      client: 'remembered for cuMemGetAccess; copies find their direction by it',
      worker: 'devices are given by their ordinal in the session',
    },
  ),
  local('cuMemGetAccess', 10020, 'flags: out u64, location: in CUmemLocation, ptr: deviceptr'),
  sync(
    'cuMemGetAllocationGranularity',
    10020,
    'granularity: out size, prop: in CUmemAllocationProp, option: CUmemAllocationGranularity_flags',
    {
      client: 'answers are remembered per device',
      worker: 'the properties are rebuilt for a device of the session',
    },
  ),
  local(
    'cuMemGetAllocationPropertiesFromHandle',
    10020,
    'prop: out CUmemAllocationProp, handle: CUmemGenericAllocationHandle',
  ),
  local('cuMemRetainAllocationHandle', 11000, 'handle: out CUmemGenericAllocationHandle, addr: reads void*'),
]);
