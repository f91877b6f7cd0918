// Which driver the sessions of this host load, and which NVML goes with it.
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Env } from '../env';
import { SluiceError } from '../errors';
import type { NativePaths } from '../proxy/projectPaths';
import { Sampler, type SamplerSource } from './nvml/sampler';
import type { Inventory } from './nvml/reading';

const defaultSoftgpu = '2x(memory=8GiB,cc=10.0,sms=16)';

// By folder and not by soname: LD_LIBRARY_PATH of whoever starts the agent may
// lead to the client library, which is no driver.
const nvidiaFolders = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/usr/local/nvidia/lib64',
  '/usr/lib/wsl/lib',
  '/run/nvidia/driver/usr/lib/x86_64-linux-gnu',
  '/run/nvidia/driver/usr/lib64',
];

export interface Driver {
  /** libcuda.so.1 for the worker. */
  readonly library: string;
  readonly software: boolean;
  /** Variables that the driver reads. */
  readonly environment: Readonly<Record<string, string>>;
  readonly sampler: Sampler;
  readonly inventory: Inventory;
}

/**
 * SLUICE_DRIVER, else software GPUs when SLUICE_SOFTGPU asks for them, else NVIDIA's driver when it has a GPU,
 * else software GPUs. Throws DRIVER_UNUSABLE when the one chosen has no GPU.
 */
export async function chooseDriver(env: Env, paths: NativePaths, dataDir: string): Promise<Driver> {
  if (env.driver !== null) {
    const library = resolve(env.driver);
    return open(library, sourceBeside(env, library, paths, dataDir));
  }
  if (env.softgpu === null) {
    const nvidia = await findNvidia();
    if (nvidia !== null) return nvidia;
  }
  return open(paths.softgpuDriver, softgpuSource(env, paths.softgpuNvml, dataDir));
}

async function findNvidia(): Promise<Driver | null> {
  for (const folder of nvidiaFolders) {
    const library = join(folder, 'libcuda.so.1');
    const nvml = join(folder, 'libnvidia-ml.so.1');
    if (!existsSync(library) || !existsSync(nvml)) continue;
    try {
      return await open(library, { library: nvml, software: false, environment: {} });
    } catch {
      // A driver package without a GPU or without its kernel module: not usable here.
    }
  }
  return null;
}

async function open(library: string, source: SamplerSource): Promise<Driver> {
  for (const file of [library, source.library]) {
    if (!existsSync(file)) {
      throw new SluiceError('DRIVER_UNUSABLE', `There is no driver at ${file}.`, {
        hint: 'Run `npm run build:native` for the software GPU, or set SLUICE_DRIVER to the path of a libcuda.so.1.',
      });
    }
  }
  const sampler = new Sampler(source);
  try {
    const inventory = await sampler.inventory();
    if (inventory.gpus.length === 0) throw new Error('it has no GPU');
    return { library, software: source.software, environment: source.environment, sampler, inventory };
  } catch (error) {
    sampler.stop();
    const reason = error instanceof Error ? error.message : String(error);
    throw new SluiceError('DRIVER_UNUSABLE', `The driver ${library} cannot be used: ${reason}.`, {
      hint: 'Check SLUICE_DRIVER and SLUICE_SOFTGPU.',
      cause: error,
    });
  }
}

function sourceBeside(env: Env, driver: string, paths: NativePaths, dataDir: string): SamplerSource {
  if (driver === paths.softgpuDriver) return softgpuSource(env, paths.softgpuNvml, dataDir);
  const folders = [dirname(driver), ...nvidiaFolders];
  const library = folders.map((folder) => join(folder, 'libnvidia-ml.so.1')).find((file) => existsSync(file));
  return { library: library ?? join(dirname(driver), 'libnvidia-ml.so.1'), software: false, environment: {} };
}

function softgpuSource(env: Env, library: string, dataDir: string): SamplerSource {
  const folder = env.softgpuDir ?? join(dataDir, 'softgpu');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    library,
    software: true,
    environment: { SLUICE_SOFTGPU: env.softgpu ?? defaultSoftgpu, SLUICE_SOFTGPU_DIR: folder },
  };
}
