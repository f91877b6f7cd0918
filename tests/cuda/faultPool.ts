// A worker behind a relay, and the program that the fault tests let break.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { LocalWorker } from '../../server/benchmarks/proxy/localWorker';
import { benchPrograms } from '../../server/benchmarks/proxy/measure';
import { startRelay, type Relay } from '../../server/benchmarks/proxy/relay';
import { native, start, type Running } from './programs';
import { WorkerEvents } from './worker';

export const activities = ['idle', 'launch', 'copy_to', 'copy_back', 'synchronize', 'callback'] as const;
export type Activity = (typeof activities)[number];

const program = join(native.workerBinary, '../../tests/faults/program');
const { deviceQuery, relay: relayProgram } = benchPrograms(native);

/** null: the programs are built; else what is missing. */
export const missing = [program, relayProgram].find((file) => !existsSync(file)) ?? null;

export interface FaultPool {
  worker: LocalWorker;
  events: WorkerEvents;
  readonly relay: Relay;
  /** Starts the program through the relay and waits until it is at it. */
  begin(activity: Activity | 'illegal', seconds: number): Promise<Running>;
  /** The worker is killed and another one, which grants the same, listens on its address. */
  reboot(): Promise<void>;
  stop(): Promise<void>;
}

/** `keepaliveMs`: how soon both sides notice silence; null: as in use. */
export async function startFaultPool(keepaliveMs: number | null): Promise<FaultPool> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-faults-'));
  const keepalive = { SLUICE_KEEPALIVE_MS: keepaliveMs === null ? null : String(keepaliveMs) };
  const environment = {
    ...keepalive,
    SLUICE_SOFTGPU: '1x(memory=1GiB,cc=10.0,sms=16)',
    SLUICE_SOFTGPU_DIR: join(folder, 'softgpu'),
  };
  const query = await start(deviceQuery, [], {
    ...environment,
    LD_LIBRARY_PATH: dirname(native.softgpuDriver),
  }).done;
  const [uuid = ''] = /GPU-[0-9a-f-]{36}/.exec(query.stdout) ?? [];
  const open = (listen?: string) =>
    LocalWorker.start({
      native,
      driver: native.softgpuDriver,
      environment,
      tls: true,
      folder,
      ...(listen === undefined ? {} : { listen }),
    });
  const worker = await open();
  const gpus = [{ uuid, memoryMib: 512 }];
  const { grant, environment: granted } = await worker.grant(gpus);
  const relay = await startRelay(relayProgram, worker.address, {
    roundTripMicroseconds: 0,
    gigabitsPerSecond: 0,
  });
  const variables = {
    ...granted,
    ...keepalive,
    SLUICE_GRANT: granted.SLUICE_GRANT?.replaceAll(worker.address, relay.address) ?? null,
  };
  const pool: FaultPool = {
    worker,
    events: new WorkerEvents(worker),
    relay,
    async begin(activity, seconds) {
      const running = start(program, [activity, String(seconds)], variables);
      await running.printed('ready');
      return running;
    },
    async reboot() {
      const { address, child } = pool.worker;
      child.kill('SIGKILL');
      pool.worker = await open(address);
      pool.events = new WorkerEvents(pool.worker);
      await pool.worker.grantAgain(grant, gpus);
    },
    async stop() {
      await relay.stop();
      await pool.worker.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return pool;
}
