// `npm run bench:proxy`: what a CUDA program gets through the proxy on loopback,
// beside the same program directly on the software GPU and beside raw TCP, all
// in one run and alternating, so that a busy machine is busy for all three.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { getEnv } from '../../env';
import { nativePaths } from '../../proxy/projectPaths';
import { LocalWorker } from './localWorker';
import {
  benchPrograms,
  measureFirstResult,
  measureProgram,
  measureRawTcp,
  softgpuUuid,
  type Setting,
} from './measure';
import { measureRun } from './measureRun';
import { summarize, type Round } from './report';
import { printTable } from './table';

const usage = `npm run bench:proxy -- [--tls] [--rounds N] [--json]
  --tls       encrypt the proxy's connection (default: off)
  --rounds N  how often everything is measured; the medians are shown (default 3)
  --json      print JSON instead of the table`;

const { values } = parseArgs({
  options: {
    tls: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const rounds = Number(values.rounds);
if (values.help) {
  console.log(usage);
} else if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`--rounds is "${values.rounds}": a whole number from 1 is needed.\n${usage}`);
  process.exitCode = 2;
} else {
  await run(rounds, values.tls, values.json);
}

async function run(roundCount: number, tls: boolean, json: boolean): Promise<void> {
  const native = nativePaths(getEnv().nativeDir);
  const programs = benchPrograms(native);
  const missing = [
    native.workerBinary,
    native.clientDriver,
    native.softgpuDriver,
    ...Object.values(programs),
  ].find((file) => !existsSync(file));
  if (missing !== undefined) {
    console.error(`${missing} is not there. Build it with \`npm run build:native\`.`);
    process.exitCode = 1;
    return;
  }

  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const softgpu = {
    SLUICE_SOFTGPU: '1x(memory=8GiB,cc=10.0,sms=16)',
    SLUICE_SOFTGPU_DIR: join(folder, 'softgpu'),
  };
  // One core for each side where there are two, for the proxy and for raw TCP alike.
  const cores = availableParallelism() >= 2 ? { client: 0, server: 1 } : null;
  const pinned = (core: number | undefined) => (core === undefined ? [] : ['taskset', '-c', String(core)]);
  const direct: Setting = {
    environment: { ...softgpu, LD_LIBRARY_PATH: dirname(native.softgpuDriver), SLUICE_GRANT: null },
    prefix: [],
  };
  let worker: LocalWorker | null = null;
  try {
    const uuid = await softgpuUuid(programs, direct);
    worker = await LocalWorker.start({
      native,
      driver: native.softgpuDriver,
      environment: softgpu,
      tls,
      folder,
      prefix: pinned(cores?.server),
    });
    const { environment } = await worker.grant([{ uuid, memoryMib: null }]);
    const proxied: Setting = { environment, prefix: pinned(cores?.client) };
    const measured: Round[] = [];
    for (let round = 1; round <= roundCount; round += 1) {
      if (!json) console.error(`round ${round} of ${roundCount}`);
      measured.push({
        rawTcp: await measureRawTcp(programs, cores),
        direct: {
          ...(await measureProgram(programs, direct)),
          firstResult: await measureFirstResult(programs, direct),
        },
        proxy: {
          ...(await measureProgram(programs, proxied)),
          firstResult: await measureFirstResult(programs, proxied),
        },
      });
    }
    const summary = { ...summarize(measured), runToFirstResult: await measureRun(programs) };
    if (json)
      console.log(JSON.stringify({ tls, rounds: roundCount, cores: availableParallelism(), ...summary }));
    else printTable(summary, tls, roundCount);
  } finally {
    await worker?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
