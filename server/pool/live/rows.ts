import type { AllocationRecord } from '../../db/allocations';
import type { GpuRecord } from '../../db/servers';
import type { TaskRecord } from '../../db/tasks';
import { asState, holdsCapacity } from '../states';
import type { AllocationRow, GpuRow, ServerRow, ServerState, TaskEnd, TaskRow } from '../views';
import type { LivePool, LiveServer, LiveTask } from './live';
import { toMib } from './memory';

/** Servers in a fixed order (name, then id), without those that are gone and have no GPU left. */
export function serverRows(live: LivePool): ServerRow[] {
  return [...live.servers.values()]
    .filter((server) => server.link !== null || server.record.gpus.length > 0)
    .sort((a, b) => compare(a.record.hostname, b.record.hostname) || compare(a.record.id, b.record.id))
    .map((server) => serverRow(live, server));
}

export function serverRow(live: LivePool, server: LiveServer): ServerRow {
  const { record } = server;
  return {
    id: record.id,
    hostname: record.hostname,
    address: record.dataAddress,
    state: serverState(server),
    connected: server.link !== null,
    lastSeenAt: server.lastSeenAt,
    driverVersion: record.driverVersion,
    cudaVersion: record.cudaVersion,
    agentVersion: record.agentVersion,
    clockSkewMs: server.clockSkewMs,
    tls: record.tls,
    taskCount: live.tasksOfServer(record.id).length,
    problem: problemOf(server),
    gpus: record.gpus.map((gpu) => gpuRow(live, server, gpu)),
  };
}

export function serverState(server: LiveServer): ServerState {
  if (server.link === null) return 'unreachable';
  if (server.worker === 'down') return 'joining';
  return server.record.cordoned ? 'cordoned' : 'ready';
}

function problemOf(server: LiveServer): string | null {
  if (server.link === null) return 'The agent is not connected.';
  if (server.worker === 'down') return server.workerDetail ?? 'The worker does not run.';
  return null;
}

function gpuRow(live: LivePool, server: LiveServer, gpu: GpuRecord): GpuRow {
  const sample = server.samples.get(gpu.uuid)?.sample;
  const held = live.allocationsOfServer(server.record.id).flatMap((allocation) =>
    allocation.gpus
      .filter((part) => part.gpuUuid === gpu.uuid && part.provedFreeAt === null)
      .filter(() => holdsCapacity(asState(allocation.state)))
      .map((part) => ({ id: allocation.id, userEmail: allocation.userEmail, memoryMib: part.memoryMib })),
  );
  const tasks = live.tasksOfServer(server.record.id);
  return {
    uuid: gpu.uuid,
    index: gpu.index,
    name: gpu.name,
    serverId: server.record.id,
    computeCapability: gpu.computeCapability,
    software: gpu.software,
    memoryTotalMib: gpu.memoryTotalMib,
    memoryUsedMib: sample?.memoryUsedMib ?? null,
    memoryFreeMib: sample?.memoryFreeMib ?? null,
    memoryReservedMib: sample?.memoryReservedMib ?? null,
    grantedMib: held.reduce((sum, part) => sum + (part.memoryMib ?? gpu.memoryTotalMib), 0),
    utilizationPercent: sample?.utilizationPercent ?? null,
    powerWatts: sample?.powerWatts ?? null,
    temperatureCelsius: sample?.temperatureCelsius ?? null,
    health: gpuHealth(server, sample !== undefined),
    allocations: held,
    processes: (sample?.processes ?? []).map((process) => ({
      ...process,
      taskId: tasks.find((task) => task.workerPid === process.pid)?.id ?? null,
    })),
  };
}

function gpuHealth(server: LiveServer, sampled: boolean): GpuRow['health'] {
  if (server.link === null || !sampled) return 'unknown';
  return server.worker === 'up' ? 'ok' : 'unhealthy';
}

export function allocationRow(live: LivePool, record: AllocationRecord): AllocationRow {
  return {
    id: record.id,
    state: asState(record.state),
    version: record.version,
    userId: record.userId,
    userEmail: record.userEmail,
    purpose: record.purpose,
    gpus: record.gpus.map(({ gpuUuid, gpu, memoryMib }) => ({
      uuid: gpuUuid,
      serverId: gpu.serverId,
      serverAddress: live.servers.get(gpu.serverId)?.record.dataAddress ?? '',
      name: gpu.name,
      memoryMib,
      index: gpu.index,
    })),
    createdAt: record.createdAt.getTime(),
    leaseSeconds: record.leaseSeconds,
    leaseExpiresAt: record.leaseExpiresAt?.getTime() ?? null,
    endedAt: record.endedAt?.getTime() ?? null,
    reason: record.reason,
    sessions: live.tasksOfAllocation(record.id).length,
  };
}

export function liveTaskRow(live: LivePool, task: LiveTask): TaskRow {
  const { stats } = task;
  return {
    id: task.id,
    allocationId: task.allocationId,
    serverId: task.serverId,
    serverAddress: live.servers.get(task.serverId)?.record.dataAddress ?? '',
    command: task.command,
    user: task.user,
    clientHost: task.clientHost,
    clientPid: task.clientPid,
    clientAddress: task.clientAddress,
    gpus: stats?.gpus ?? [],
    usedMib: toMib((stats?.gpus ?? []).reduce((sum, gpu) => sum + gpu.usedBytes, 0)),
    peakMib: toMib(stats?.peakBytes ?? 0),
    calls: stats?.calls ?? 0,
    launches: stats?.launches ?? 0,
    roundTrips: stats?.roundTrips ?? 0,
    bytesIn: stats?.bytesIn ?? 0,
    bytesOut: stats?.bytesOut ?? 0,
    startedAt: task.startedAt,
    endedAt: null,
    how: null,
    detail: null,
  };
}

export function endedTaskRow(live: LivePool, task: TaskRecord): TaskRow {
  return {
    id: task.id,
    allocationId: task.allocationId,
    serverId: task.serverId,
    serverAddress: live.servers.get(task.serverId)?.record.dataAddress ?? '',
    command: task.command,
    user: task.user,
    clientHost: task.clientHost,
    clientPid: task.clientPid,
    clientAddress: task.clientAddress,
    gpus: [],
    usedMib: 0,
    peakMib: toMib(task.peakBytes),
    calls: task.calls,
    launches: task.launches,
    roundTrips: task.roundTrips,
    bytesIn: task.bytesIn,
    bytesOut: task.bytesOut,
    startedAt: task.startedAt.getTime(),
    endedAt: task.endedAt?.getTime() ?? null,
    how: asTaskEnd(task.how),
    detail: task.detail,
  };
}

const TASK_ENDS: readonly TaskEnd[] = ['closed', 'revoked', 'killed', 'crashed', 'refused'];

function asTaskEnd(value: string | null): TaskEnd | null {
  return TASK_ENDS.find((end) => end === value) ?? null;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
