// Rows of the API for tests of what commands print.
import type { GpuRow, ServerRow, TaskRow } from '@/server/cli/rows';

export function gpuRow(changes: Partial<GpuRow> = {}): GpuRow {
  return {
    uuid: 'GPU-00000000-0000-0000-0000-000000000000',
    index: 0,
    name: 'NVIDIA H200',
    serverId: 'agent-1',
    computeCapability: '9.0',
    software: false,
    memoryTotalMib: 16160,
    memoryUsedMib: 0,
    memoryFreeMib: 16160,
    memoryReservedMib: 0,
    grantedMib: 0,
    utilizationPercent: 0,
    powerWatts: 77.4,
    temperatureCelsius: 28,
    health: 'ok',
    allocations: [],
    processes: [],
    ...changes,
  };
}

export function serverRow(changes: Partial<ServerRow> = {}): ServerRow {
  return {
    id: 'agent-1',
    hostname: 'gpu1',
    address: '10.110.165.153:56001',
    state: 'ready',
    connected: true,
    lastSeenAt: 1,
    driverVersion: '590.48.01',
    cudaVersion: '13.1',
    agentVersion: '0.1.0',
    clockSkewMs: 0,
    tls: true,
    taskCount: 0,
    problem: null,
    gpus: [gpuRow()],
    ...changes,
  };
}

export function taskRow(changes: Partial<TaskRow> = {}): TaskRow {
  return {
    id: 's1',
    allocationId: 'al-1',
    serverId: 'agent-1',
    serverAddress: '10.110.165.153:56001',
    command: './matrix_mul 512',
    user: 'ann',
    clientHost: 'laptop',
    clientPid: 4711,
    clientAddress: null,
    gpus: [{ uuid: gpuRow().uuid, usedBytes: 300 * 1024 * 1024 }],
    usedMib: 300,
    peakMib: 300,
    calls: 1,
    launches: 1,
    roundTrips: 1,
    bytesIn: 1,
    bytesOut: 1,
    startedAt: 1,
    endedAt: null,
    how: null,
    detail: null,
    ...changes,
  };
}
