import { Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import type { Pool } from '../pool/create';
import { serverRows } from '../pool/live/rows';
import type { GpuRow, ServerRow } from '../pool/views';

const BYTES_PER_MIB = 1024 * 1024;

/**
 * /metrics: the pool under its own names (base units, as Prometheus asks for),
 * and each GPU under the names, units and labels that NVIDIA's DCGM exporter uses, so
 * that dashboards made for it work. A value that a device does not tell has no line.
 */
export function createMetrics(pool: Pool): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  poolGauges(pool, registry);
  gpuGauges(pool, registry);
  return registry;
}

function poolGauges(pool: Pool, registry: Registry): void {
  gauge(registry, 'sluice_servers', 'Servers of the pool by state.', ['state'], (set) => {
    for (const state of ['ready', 'cordoned', 'unreachable', 'joining']) {
      set({ state }, serverRows(pool.live).filter((server) => server.state === state).length);
    }
  });
  gauge(registry, 'sluice_allocations', 'Allocations that have not ended, by state.', ['state'], (set) => {
    for (const state of ['queued', 'granted', 'active', 'releasing']) {
      set({ state }, [...pool.live.allocations.values()].filter((record) => record.state === state).length);
    }
  });
  gauge(registry, 'sluice_tasks_running', 'Programs that run on GPUs of the pool.', [], (set) => {
    set({}, pool.live.allTasks().length);
  });
  gauge(registry, 'sluice_event_listeners', 'Open event streams.', [], (set) =>
    set({}, pool.listenerCount()),
  );
  gauge(registry, 'sluice_gpu_granted_bytes', 'Memory that allocations hold of a GPU.', GPU_LABELS, (set) => {
    for (const [server, gpu] of gpus(pool)) set(gpuLabels(server, gpu), gpu.grantedMib * BYTES_PER_MIB);
  });
}

function gpuGauges(pool: Pool, registry: Registry): void {
  for (const [name, help, value] of DCGM) {
    gauge(registry, name, help, GPU_LABELS, (set) => {
      for (const [server, gpu] of gpus(pool)) {
        const told = value(gpu);
        if (told !== null) set(gpuLabels(server, gpu), told);
      }
    });
  }
}

const DCGM: [name: string, help: string, value: (gpu: GpuRow) => number | null][] = [
  ['DCGM_FI_DEV_GPU_UTIL', 'GPU utilization (in %).', (gpu) => gpu.utilizationPercent],
  ['DCGM_FI_DEV_FB_USED', 'Framebuffer memory used (in MiB).', (gpu) => gpu.memoryUsedMib],
  ['DCGM_FI_DEV_FB_FREE', 'Framebuffer memory free (in MiB).', (gpu) => gpu.memoryFreeMib],
  ['DCGM_FI_DEV_FB_RESERVED', 'Framebuffer memory reserved (in MiB).', (gpu) => gpu.memoryReservedMib],
  ['DCGM_FI_DEV_POWER_USAGE', 'Power draw (in W).', (gpu) => gpu.powerWatts],
  ['DCGM_FI_DEV_GPU_TEMP', 'GPU temperature (in C).', (gpu) => gpu.temperatureCelsius],
];

const GPU_LABELS = ['gpu', 'UUID', 'device', 'modelName', 'Hostname'];

function gpuLabels(server: ServerRow, gpu: GpuRow): Record<string, string> {
  const index = String(gpu.index);
  return {
    gpu: index,
    UUID: gpu.uuid,
    device: `nvidia${index}`,
    modelName: gpu.name,
    Hostname: server.hostname,
  };
}

function gpus(pool: Pool): [ServerRow, GpuRow][] {
  return serverRows(pool.live).flatMap((server) =>
    server.gpus.map((gpu): [ServerRow, GpuRow] => [server, gpu]),
  );
}

/** A gauge that is read at each scrape; what is gone leaves no old value behind. */
function gauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
  read: (set: (labels: Record<string, string>, value: number) => void) => void,
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      read((labels, value) => this.set(labels, value));
    },
  });
}
