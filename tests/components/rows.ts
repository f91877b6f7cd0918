// Rows as the API answers them, for the tests of what the dashboard makes of them.
import type { AllocationRow, GpuRow, ServerRow, TaskRow } from '@/components/trpc/types';

export function gpuRow(changes: Partial<GpuRow> = {}): GpuRow {
  return {
    uuid: 'GPU-a',
    index: 0,
    name: 'NVIDIA H100 80GB HBM3',
    serverId: 's1',
    computeCapability: '9.0',
    software: false,
    memoryTotalMib: 81_559,
    memoryUsedMib: 0,
    memoryFreeMib: 80_948,
    memoryReservedMib: 611,
    grantedMib: 0,
    utilizationPercent: 0,
    powerWatts: null,
    temperatureCelsius: null,
    health: 'ok',
    allocations: [],
    processes: [],
    ...changes,
  };
}

export function serverRow(id: string, gpus: GpuRow[], changes: Partial<ServerRow> = {}): ServerRow {
  return {
    id,
    hostname: `host-${id}`,
    address: `${id}:56001`,
    state: 'ready',
    connected: true,
    lastSeenAt: 0,
    driverVersion: '13.0',
    cudaVersion: '13.0',
    agentVersion: '0.1.0',
    clockSkewMs: 0,
    tls: true,
    taskCount: 0,
    problem: null,
    gpus,
    ...changes,
  };
}

/** Holds `memoryMib` of a GPU for somebody; null holds the whole. */
export function held(gpu: GpuRow, memoryMib: number | null, id = 'a1'): GpuRow {
  return {
    ...gpu,
    grantedMib: gpu.grantedMib + (memoryMib ?? gpu.memoryTotalMib),
    allocations: [...gpu.allocations, { id, userEmail: 'alice@example.org', memoryMib }],
  };
}

export function taskRow(changes: Partial<TaskRow> = {}): TaskRow {
  return {
    id: '1',
    allocationId: 'a1',
    serverId: 's1',
    serverAddress: 's1:56001',
    command: './matrix_mul',
    user: 'alice',
    clientHost: 'ws-1',
    clientPid: 42,
    clientAddress: null,
    gpus: [{ uuid: 'GPU-a', usedBytes: 0 }],
    usedMib: 0,
    peakMib: 0,
    calls: 0,
    launches: 0,
    roundTrips: 0,
    bytesIn: 0,
    bytesOut: 0,
    startedAt: 0,
    endedAt: null,
    how: null,
    detail: null,
    ...changes,
  };
}

export function allocationRow(changes: Partial<AllocationRow> = {}): AllocationRow {
  return {
    id: 'a1',
    state: 'active',
    version: 2,
    userId: 'u1',
    userEmail: 'alice@example.org',
    purpose: null,
    gpus: [],
    createdAt: 0,
    leaseSeconds: 60,
    leaseExpiresAt: 60_000,
    endedAt: null,
    reason: null,
    sessions: 0,
    ...changes,
  };
}
