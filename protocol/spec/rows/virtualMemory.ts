// Virtual memory management.
import { unsupported, rows } from '../builders.js';
import { VMM } from '../reasons.js';

export const virtualMemory = rows('virtualMemory', [
  unsupported('cuMemAddressFree', 10020, VMM),
  unsupported('cuMemAddressReserve', 10020, VMM),
  unsupported('cuMemCreate', 10020, VMM),
  unsupported('cuMemGetAccess', 10020, VMM),
  unsupported('cuMemGetAllocationGranularity', 10020, VMM),
  unsupported('cuMemGetAllocationPropertiesFromHandle', 10020, VMM),
  unsupported('cuMemMap', 10020, VMM),
  unsupported('cuMemRelease', 10020, VMM),
  unsupported('cuMemSetAccess', 10020, VMM),
  unsupported('cuMemUnmap', 10020, VMM),
  unsupported('cuMemRetainAllocationHandle', 11000, VMM),
]);
