// Devices: everything here is answered from the snapshot that came with the hello.
import { asyncCall, local, sync, unsupported, rows } from '../builders.js';
import { RDMA, WINDOWS } from '../reasons.js';

export const device = rows('device', [
  local('cuDeviceGet', 2000, 'device: out device, ordinal: int'),
  local('cuDeviceGetCount', 2000, 'count: out int'),
  local('cuDeviceGetName', 2000, 'name: writes char*[len], len: int, dev: device'),
  local('cuDeviceGetUuid', 9020, 'uuid: out CUuuid, dev: device'),
  local('cuDeviceGetUuid_v2', 11040, 'uuid: out CUuuid, dev: device'),
  local('cuDeviceTotalMem_v2', 3020, 'bytes: out size, dev: device'),
  local('cuDeviceGetAttribute', 2000, 'pi: out int, attrib: CUdevice_attribute, dev: device'),
  local('cuDeviceGetProperties', 2000, 'prop: out CUdevprop, dev: device'),
  local('cuDeviceComputeCapability', 2000, 'major: out int, minor: out int, dev: device'),
  local('cuDeviceGetPCIBusId', 4010, 'pciBusId: writes char*[len], len: int, dev: device'),
  local('cuDeviceGetByPCIBusId', 4010, 'dev: out device, pciBusId: reads const char*'),
  sync('cuDeviceCanAccessPeer', 4000, 'canAccessPeer: out int, dev: device, peerDev: device', {
    client: 'asked once; devices of different servers never can',
  }),
  sync(
    'cuDeviceGetP2PAttribute',
    8000,
    'value: out int, attrib: CUdevice_P2PAttribute, srcDevice: device, dstDevice: device',
    { client: 'asked once; devices of different servers have nothing in common' },
  ),
  local('cuDeviceGetDefaultMemPool', 11020, 'pool_out: out pool, dev: device'),
  local('cuDeviceGetMemPool', 11020, 'pool: out pool, dev: device'),
  asyncCall('cuDeviceSetMemPool', 11020, 'dev: device, pool: pool', {
    client: 'the pool that the device uses is remembered, so that asking for it waits for nothing',
  }),
  local(
    'cuDeviceGetHostAtomicCapabilities',
    13000,
    'capabilities: writes unsigned*[count], operations: reads const CUatomicOperation*[count], count: uint, dev: device',
  ),
  local(
    'cuDeviceGetP2PAtomicCapabilities',
    13000,
    'capabilities: writes unsigned*[count], operations: reads const CUatomicOperation*[count], count: uint, srcDevice: device, dstDevice: device',
  ),
  local('cuDeviceTotalMem', 2000, 'bytes: out uint, dev: device'),
  local('cuDeviceGetExecAffinitySupport', 11040, 'pi: out int, type: CUexecAffinityType, dev: device'),
  unsupported('cuDeviceGetLuid', 10000, WINDOWS),
  unsupported('cuFlushGPUDirectRDMAWrites', 11030, RDMA),
]);
