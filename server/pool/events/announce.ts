import type { AllocationRecord } from '../../db/allocations';
import type { Clock } from '../clock';
import type { LivePool } from '../live/live';
import { allocationRow, serverRow } from '../live/rows';
import type { TaskRow, TelemetryPoint } from '../views';
import type { EventBus } from './bus';

/** Collects changes for a moment and publishes each changed row once. */
export interface Announcer {
  server(id: string): void;
  /** With the GPUs' servers, whose rows show what is granted. */
  allocation(record: AllocationRecord): void;
  task(row: TaskRow): void;
  telemetry(uuid: string, point: TelemetryPoint): void;
  stop(): void;
}

export function createAnnouncer(bus: EventBus, live: LivePool, clock: Clock): Announcer {
  const servers = new Set<string>();
  const allocations = new Map<string, AllocationRecord>();
  const tasks = new Map<string, TaskRow>();
  const telemetry = new Map<string, TelemetryPoint>();
  let cancel: (() => void) | null = null;

  const soon = (): void => {
    cancel ??= clock.after(GATHER_MS, flush);
  };

  function flush(): void {
    cancel = null;
    const serverRows = [...servers]
      .flatMap((id) => live.servers.get(id) ?? [])
      .map((server) => serverRow(live, server));
    const allocationRows = [...allocations.values()].map((record) => allocationRow(live, record));
    const taskRows = [...tasks.values()];
    const series = [...telemetry].map(([uuid, point]) => ({ uuid, point }));
    servers.clear();
    allocations.clear();
    tasks.clear();
    telemetry.clear();
    if (allocationRows.length > 0) bus.publish({ kind: 'allocations', allocations: allocationRows });
    if (taskRows.length > 0) bus.publish({ kind: 'tasks', tasks: taskRows });
    if (serverRows.length > 0) bus.publish({ kind: 'servers', servers: serverRows });
    if (series.length > 0) bus.publish({ kind: 'telemetry', series });
  }

  return {
    server(id) {
      servers.add(id);
      soon();
    },
    allocation(record) {
      allocations.set(record.id, record);
      for (const { gpu } of record.gpus) servers.add(gpu.serverId);
      soon();
    },
    task(row) {
      tasks.set(`${row.serverId}/${row.id}`, row);
      servers.add(row.serverId);
      // The allocation's row counts its programs.
      const allocation = live.allocations.get(row.allocationId);
      if (allocation) allocations.set(allocation.id, allocation);
      soon();
    },
    telemetry(uuid, point) {
      telemetry.set(uuid, point);
      soon();
    },
    stop() {
      cancel?.();
      cancel = null;
    },
  };
}

/** Short enough to feel at once, long enough that one change of many rows is one event. */
const GATHER_MS = 50;
