// NVML called from Node. Structures are laid out by hand in buffers: their sizes
// are part of NVML's ABI (x86-64), and an older library may lack a function.
import koffi, { type KoffiFunc } from 'koffi';

const SUCCESS = 0;
const ERROR_INSUFFICIENT_SIZE = 7;
const MEMORY_V2_BYTES = 40;
const PROCESS_BYTES = 24;
const PCI_BYTES = 68;
const PCI_BUS_ID_OFFSET = 36;
const TEMPERATURE_OF_GPU = 0;
const NOT_AVAILABLE_64 = 0xffff_ffff_ffff_ffffn;
const firstProcessCapacity = 64;
// A driver that keeps asking for more space would otherwise never let go.
const maxProcessCapacity = 65_536;

type NvmlFunction = KoffiFunc<(...args: unknown[]) => number>;

/** A GPU as NVML hands it out. */
export type Device = unknown;

export interface MemoryInfo {
  readonly totalBytes: number;
  readonly usedBytes: number;
  readonly freeBytes: number;
  /** null: the library is too old to tell. Then it is counted in usedBytes. */
  readonly reservedBytes: number | null;
}

export interface DeviceProcess {
  readonly pid: number;
  readonly usedBytes: number | null;
}

/** NVML said no to something without which nothing works. */
export class NvmlError extends Error {
  override name = 'NvmlError';
}

/** Every method but open and deviceCount answers null for what the device or driver does not tell. */
export class Nvml {
  private readonly functions = new Map<string, NvmlFunction | null>();

  private constructor(private readonly library: ReturnType<typeof koffi.load>) {}

  /** Loads and initialises the library. Throws NvmlError when it is not there or finds no driver. */
  static open(path: string): Nvml {
    let library: ReturnType<typeof koffi.load>;
    try {
      library = koffi.load(path);
    } catch (error) {
      throw new NvmlError(`${path}: ${error instanceof Error ? error.message : 'it cannot be loaded'}`);
    }
    const nvml = new Nvml(library);
    const status = nvml.call('nvmlInit_v2', 'int nvmlInit_v2()');
    if (status !== SUCCESS)
      throw new NvmlError(`nvmlInit_v2 of ${path} answered ${status ?? 'nothing: it has no such function'}`);
    return nvml;
  }

  deviceCount(): number {
    const count = Buffer.alloc(4);
    const status = this.call('nvmlDeviceGetCount_v2', 'int nvmlDeviceGetCount_v2(void*)', count);
    if (status !== SUCCESS) throw new NvmlError(`nvmlDeviceGetCount_v2 answered ${status}`);
    return count.readUInt32LE();
  }

  device(index: number): Device | null {
    const out: unknown[] = [null];
    const status = this.call(
      'nvmlDeviceGetHandleByIndex_v2',
      'int nvmlDeviceGetHandleByIndex_v2(uint32, _Out_ void**)',
      index,
      out,
    );
    return status === SUCCESS ? out[0] : null;
  }

  uuid(device: Device): string | null {
    return this.text('nvmlDeviceGetUUID', 96, device);
  }

  deviceName(device: Device): string | null {
    return this.text('nvmlDeviceGetName', 96, device);
  }

  driverVersion(): string | null {
    return this.text('nvmlSystemGetDriverVersion', 80);
  }

  /** The newest CUDA that the driver supports, such as "13.0". */
  cudaVersion(): string | null {
    const version = this.uint32('nvmlSystemGetCudaDriverVersion_v2');
    return version === null ? null : `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
  }

  /** Such as "10.0". */
  computeCapability(device: Device): string | null {
    const out = [Buffer.alloc(4), Buffer.alloc(4)] as const;
    const name = 'nvmlDeviceGetCudaComputeCapability';
    if (this.call(name, `int ${name}(void*, void*, void*)`, device, ...out) !== SUCCESS) return null;
    return `${out[0].readInt32LE()}.${out[1].readInt32LE()}`;
  }

  pciBusId(device: Device): string | null {
    const out = Buffer.alloc(PCI_BYTES);
    if (
      this.call('nvmlDeviceGetPciInfo_v3', 'int nvmlDeviceGetPciInfo_v3(void*, void*)', device, out) !==
      SUCCESS
    )
      return null;
    return untilZero(out.subarray(PCI_BUS_ID_OFFSET)) || null;
  }

  memory(device: Device): MemoryInfo | null {
    const out = Buffer.alloc(MEMORY_V2_BYTES);
    out.writeUInt32LE(MEMORY_V2_BYTES | (2 << 24)); // NVML checks size and version before it fills the rest.
    if (
      this.call('nvmlDeviceGetMemoryInfo_v2', 'int nvmlDeviceGetMemoryInfo_v2(void*, void*)', device, out) ===
      SUCCESS
    ) {
      return memoryInfo({
        total: toBytes(out, 8),
        reserved: toBytes(out, 16),
        free: toBytes(out, 24),
        used: toBytes(out, 32),
      });
    }
    if (
      this.call('nvmlDeviceGetMemoryInfo', 'int nvmlDeviceGetMemoryInfo(void*, void*)', device, out) !==
      SUCCESS
    )
      return null;
    return memoryInfo({
      total: toBytes(out, 0),
      reserved: null,
      free: toBytes(out, 8),
      used: toBytes(out, 16),
    });
  }

  /** Share of the last sample period in which a kernel ran. */
  utilizationPercent(device: Device): number | null {
    const out = Buffer.alloc(8);
    const name = 'nvmlDeviceGetUtilizationRates';
    return this.call(name, `int ${name}(void*, void*)`, device, out) === SUCCESS ? out.readUInt32LE() : null;
  }

  powerMilliwatts(device: Device): number | null {
    return this.uint32('nvmlDeviceGetPowerUsage', device);
  }

  temperatureCelsius(device: Device): number | null {
    const out = Buffer.alloc(4);
    const status = this.call(
      'nvmlDeviceGetTemperature',
      'int nvmlDeviceGetTemperature(void*, int, void*)',
      device,
      TEMPERATURE_OF_GPU,
      out,
    );
    return status === SUCCESS ? out.readUInt32LE() : null;
  }

  /** Processes with a CUDA context on the device. */
  processes(device: Device): DeviceProcess[] | null {
    const name = 'nvmlDeviceGetComputeRunningProcesses_v3';
    for (let capacity = firstProcessCapacity; capacity <= maxProcessCapacity; capacity *= 4) {
      const count = Buffer.alloc(4);
      count.writeUInt32LE(capacity);
      const out = Buffer.alloc(capacity * PROCESS_BYTES);
      const status = this.call(name, `int ${name}(void*, void*, void*)`, device, count, out);
      if (status === ERROR_INSUFFICIENT_SIZE) continue;
      if (status !== SUCCESS) return null;
      return Array.from({ length: Math.min(count.readUInt32LE(), capacity) }, (_, index) => ({
        pid: out.readUInt32LE(index * PROCESS_BYTES),
        usedBytes: toBytes(out, index * PROCESS_BYTES + 8),
      }));
    }
    return null;
  }

  private text(name: string, bytes: number, ...device: [Device?]): string | null {
    const out = Buffer.alloc(bytes);
    const signature = `int ${name}(${device.length > 0 ? 'void*, ' : ''}void*, uint32)`;
    return this.call(name, signature, ...device, out, bytes) === SUCCESS ? untilZero(out) : null;
  }

  private uint32(name: string, ...device: [Device?]): number | null {
    const out = Buffer.alloc(4);
    const signature = `int ${name}(${device.length > 0 ? 'void*, ' : ''}void*)`;
    return this.call(name, signature, ...device, out) === SUCCESS ? out.readUInt32LE() : null;
  }

  /** The function's status; null when the library has no such function. */
  private call(name: string, signature: string, ...args: unknown[]): number | null {
    let callable = this.functions.get(name);
    if (callable === undefined) {
      callable = this.find(signature);
      this.functions.set(name, callable);
    }
    return callable === null ? null : callable(...args);
  }

  private find(signature: string): NvmlFunction | null {
    try {
      return this.library.func(signature) as NvmlFunction;
    } catch {
      return null;
    }
  }
}

type Figures = Record<'total' | 'reserved' | 'free' | 'used', number | null>;

/** null when the device has no memory of its own to tell about. */
function memoryInfo({ total, reserved, free, used }: Figures): MemoryInfo | null {
  if (total === null || free === null || used === null) return null;
  return { totalBytes: total, reservedBytes: reserved, freeBytes: free, usedBytes: used };
}

function toBytes(buffer: Buffer, at: number): number | null {
  const value = buffer.readBigUInt64LE(at);
  return value === NOT_AVAILABLE_64 ? null : Number(value);
}

function untilZero(buffer: Buffer): string {
  const end = buffer.indexOf(0);
  return buffer.toString('utf8', 0, end === -1 ? buffer.length : end);
}
