// The workers that a benchmark run uses, and how programs reach them and their drivers.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { NativePaths } from '../../proxy/projectPaths';
import { LocalWorker } from './localWorker';
import { firstUuid, type BenchPrograms, type Setting } from './measure';
import type { Route } from './runs';

export interface Routes {
  /** One core for each side where there are two; null where there are not. */
  readonly cores: { client: number; server: number } | null;
  direct(route: Route): Setting;
  remote(route: Route): Setting;
  /** A worker's grant as seen through another address, such as a relay's. */
  through(route: Route, address: string): Setting;
  address(route: Route): string;
  stop(): Promise<void>;
}

/** Starts a worker for each of `wanted`. */
export async function openRoutes(
  native: NativePaths,
  programs: BenchPrograms,
  wanted: readonly Route[],
  tls: boolean,
): Promise<Routes> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const cores = availableParallelism() >= 2 ? { client: 0, server: 1 } : null;
  const pinned = (core: number | undefined) => (core === undefined ? [] : ['taskset', '-c', String(core)]);
  const softgpu = {
    SLUICE_SOFTGPU: '1x(memory=8GiB,cc=10.0,sms=16)',
    SLUICE_SOFTGPU_DIR: join(folder, 'softgpu'),
  };
  const driverOf = (route: Route) => (route === 'softgpu' ? native.softgpuDriver : programs.noopDriver);
  const direct = (route: Route): Setting => ({
    environment: { ...softgpu, LD_LIBRARY_PATH: dirname(driverOf(route)), SLUICE_GRANT: null },
    prefix: pinned(cores?.client),
  });
  const workers = new Map<Route, { worker: LocalWorker; environment: Record<string, string | null> }>();
  const stop = async () => {
    await Promise.all([...workers.values()].map(({ worker }) => worker.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  const entry = (route: Route) => {
    const found = workers.get(route);
    if (found === undefined) throw new Error(`no worker was started for ${route}`);
    return found;
  };
  try {
    for (const route of wanted) {
      const own = join(folder, route);
      mkdirSync(own);
      const worker = await LocalWorker.start({
        native,
        driver: driverOf(route),
        environment: softgpu,
        tls: tls || route === 'noop-tls',
        folder: own,
        prefix: pinned(cores?.server),
      });
      // Kept before the grant, so that it is stopped when that fails.
      workers.set(route, { worker, environment: {} });
      const uuid = await firstUuid(programs, direct(route));
      const { environment } = await worker.grant([{ uuid, memoryMib: null }]);
      workers.set(route, { worker, environment });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const remote = (route: Route): Setting => ({
    environment: entry(route).environment,
    prefix: pinned(cores?.client),
  });
  return {
    cores,
    direct,
    remote,
    through(route, address) {
      const setting = remote(route);
      const grant =
        setting.environment.SLUICE_GRANT?.replaceAll(entry(route).worker.address, address) ?? null;
      return { ...setting, environment: { ...setting.environment, SLUICE_GRANT: grant } };
    },
    address: (route) => entry(route).worker.address,
    stop,
  };
}
