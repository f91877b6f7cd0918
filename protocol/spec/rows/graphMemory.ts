// Memory that graphs allocate, and objects that live as long as graphs do.
import { asyncCall, local, sync, rows } from '../builders.js';

export const graphMemory = rows('graphMemory', [
  asyncCall('cuDeviceGraphMemTrim', 11040, 'device: device', {
    client: 'devices of another server keep their own memory',
    worker: "ordinals are the session's",
  }),
  sync(
    'cuDeviceGetGraphMemAttribute',
    11040,
    'device: device, attr: CUgraphMem_attribute, value: writes void*',
    { client: 'the value has 64 bits', worker: 'the value has 64 bits' },
  ),
  asyncCall(
    'cuDeviceSetGraphMemAttribute',
    11040,
    'device: device, attr: CUgraphMem_attribute, value: reads void*',
    { client: 'the value has 64 bits', worker: 'the value has 64 bits' },
  ),
  local(
    'cuUserObjectCreate',
    11030,
    'object_out: writes CUuserObject*, ptr: keeps void*, destroy: CUhostFn, initialRefcount: uint, flags: uint',
  ),
  local('cuUserObjectRetain', 11030, 'object: CUuserObject, count: uint'),
  local('cuUserObjectRelease', 11030, 'object: CUuserObject, count: uint'),
  local('cuGraphRetainUserObject', 11030, 'graph: CUgraph, object: CUuserObject, count: uint, flags: uint'),
  local('cuGraphReleaseUserObject', 11030, 'graph: CUgraph, object: CUuserObject, count: uint'),
]);
