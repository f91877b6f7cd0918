// NVML's answers as the control plane wants them: MiB, watts, and null for what
// is not told or cannot be true.
import { readFileSync } from 'node:fs';
import type { GpuInventory, GpuSample } from '../../../protocol/control/agentMessages';
import type { Device, DeviceProcess, MemoryInfo } from './library';

const bytesPerMib = 1024 * 1024;
// Beyond these, drivers have been seen to answer with sentinels instead of measurements.
const maxPowerWatts = 10_000;
const maxTemperatureCelsius = 200;

/** The part of Nvml that readings need. */
export interface NvmlReader {
  deviceCount(): number;
  device(index: number): Device | null;
  uuid(device: Device): string | null;
  deviceName(device: Device): string | null;
  driverVersion(): string | null;
  cudaVersion(): string | null;
  computeCapability(device: Device): string | null;
  pciBusId(device: Device): string | null;
  memory(device: Device): MemoryInfo | null;
  utilizationPercent(device: Device): number | null;
  powerMilliwatts(device: Device): number | null;
  temperatureCelsius(device: Device): number | null;
  processes(device: Device): DeviceProcess[] | null;
}

export interface Inventory {
  readonly driverVersion: string | null;
  readonly cudaVersion: string | null;
  readonly gpus: GpuInventory[];
}

/** The GPUs of this host. One that cannot be asked for its UUID is left out: nothing could be granted on it. */
export function readInventory(nvml: NvmlReader, software: boolean): Inventory {
  const gpus = Array.from({ length: nvml.deviceCount() }, (_, index): GpuInventory | null => {
    const device = nvml.device(index);
    const uuid = device === null ? null : nvml.uuid(device);
    if (device === null || uuid === null) return null;
    return {
      uuid,
      index,
      name: nvml.deviceName(device) ?? 'unknown GPU',
      memoryTotalMib: toMib(nvml.memory(device)?.totalBytes ?? null) ?? 0,
      computeCapability: nvml.computeCapability(device),
      pciBusId: nvml.pciBusId(device),
      software,
    };
  });
  return {
    driverVersion: nvml.driverVersion(),
    cudaVersion: nvml.cudaVersion(),
    gpus: gpus.filter((gpu) => gpu !== null),
  };
}

/** One sample of each GPU; a GPU that fell off the bus answers with nulls and does not spoil the others. */
export function readSamples(nvml: NvmlReader): GpuSample[] {
  return Array.from({ length: nvml.deviceCount() }, (_, index) => {
    const device = nvml.device(index);
    const uuid = device === null ? null : nvml.uuid(device);
    return device === null || uuid === null ? null : readSample(nvml, device, uuid);
  }).filter((sample) => sample !== null);
}

function readSample(nvml: NvmlReader, device: Device, uuid: string): GpuSample {
  const memory = nvml.memory(device);
  const power = nvml.powerMilliwatts(device);
  return {
    uuid,
    memoryTotalMib: toMib(memory?.totalBytes ?? null),
    memoryUsedMib: toMib(memory?.usedBytes ?? null),
    memoryFreeMib: toMib(memory?.freeBytes ?? null),
    memoryReservedMib: toMib(memory?.reservedBytes ?? null),
    utilizationPercent: within(nvml.utilizationPercent(device), 0, 100),
    powerWatts: within(power === null ? null : power / 1000, 0, maxPowerWatts),
    temperatureCelsius: within(nvml.temperatureCelsius(device), 0, maxTemperatureCelsius),
    processes: (nvml.processes(device) ?? []).map((process) => ({
      pid: process.pid,
      name: processName(process.pid),
      usedMib: toMib(process.usedBytes),
    })),
  };
}

/** Rounded down as nvidia-smi does. */
function toMib(bytes: number | null): number | null {
  return bytes === null ? null : Math.floor(bytes / bytesPerMib);
}

function within(value: number | null, least: number, most: number): number | null {
  return value !== null && value >= least && value <= most ? value : null;
}

/** The program's path as it was called; null when the process is gone or another's secret. */
function processName(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0]?.slice(0, 1024) || null;
  } catch {
    return null;
  }
}
