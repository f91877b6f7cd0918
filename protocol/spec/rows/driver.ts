// The driver itself: start, version, symbol look-up, error texts.
import { local, rows } from '../builders.js';

export const driver = rows('driver', [
  local('cuInit', 2000, 'Flags: uint'),
  local('cuDriverGetVersion', 2020, 'driverVersion: out int'),
  local(
    'cuGetProcAddress',
    11030,
    'symbol: reads const char*, pfn: writes void**, cudaVersion: int, flags: u64',
    { perThread: 'ptsz' },
  ),
  local(
    'cuGetProcAddress_v2',
    12000,
    'symbol: reads const char*, pfn: writes void**, cudaVersion: int, flags: u64, symbolStatus: out CUdriverProcAddressQueryResult',
    { perThread: 'ptsz' },
  ),
  local('cuGetErrorString', 6000, 'error: CUresult, pStr: writes const char**'),
  local('cuGetErrorName', 6000, 'error: CUresult, pStr: writes const char**'),
  local('cuGetExportTable', 3000, 'ppExportTable: writes const void**, pExportTableId: in CUuuid'),
  local('cuProfilerStart', 4000, ''),
  local('cuProfilerStop', 4000, ''),
]);
