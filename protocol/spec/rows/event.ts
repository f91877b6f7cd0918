// Events.
import { asyncCall, local, sync, rows } from '../builders.js';

export const event = rows('event', [
  asyncCall('cuEventCreate', 2000, 'phEvent: new event, Flags: uint'),
  asyncCall('cuEventDestroy_v2', 4000, 'hEvent: free event'),
  local('cuEventDestroy', 2000, 'hEvent: free event', { as: 'cuEventDestroy_v2' }),
  local('cuEventRecord', 2000, 'hEvent: event, hStream: stream', { perThread: 'ptsz' }),
  asyncCall('cuEventRecordWithFlags', 11010, 'hEvent: event, hStream: stream, flags: uint', {
    perThread: 'ptsz',
    client: 'remembers which host tasks come before',
    worker: 'older drivers have the form without flags only',
  }),
  sync('cuEventQuery', 2000, 'hEvent: event', { reports: true }),
  sync('cuEventSynchronize', 2000, 'hEvent: event', {
    worker: 'waits, so that it must not hold up the calls of other threads',
    reports: true,
  }),
  sync('cuEventElapsedTime', 2000, 'pMilliseconds: out float, hStart: event, hEnd: event', {
    client: 'events of two servers have no common clock',
  }),
  local('cuEventElapsedTime_v2', 12080, 'pMilliseconds: out float, hStart: event, hEnd: event', {
    as: 'cuEventElapsedTime',
  }),
]);
