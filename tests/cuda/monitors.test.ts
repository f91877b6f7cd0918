// Programs that users watch GPUs with, on the client's libnvidia-ml.so.1: they see the granted GPUs, the memory
// that was granted, and what runs on them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../server/proxy/projectPaths';
import { samplesFolder, start, type Running } from './programs';
import { startPool, type TestPool } from './worker';

const tools = join(process.env.SLUICE_MONITORS || join(projectRoot(), '.toolchains/monitors'), 'bin');
const missing = existsSync(join(tools, 'nvitop'))
  ? null
  : 'nvitop and gpustat are not installed: tests/cuda/toolchain/fetchMonitors.sh';

if (missing) console.warn(`The tests of monitors are skipped: ${missing}`);

describe.skipIf(missing)('monitors see the granted GPUs', () => {
  let pool: TestPool;
  let environment: Readonly<Record<string, string | null>>;
  let program: Running;

  beforeAll(async () => {
    pool = await startPool('2x(memory=8GiB,cc=10.0,sms=16)');
    const gpus = pool.uuids.map((uuid, index) => ({ uuid, memoryMib: index === 0 ? 2048 : 1024 }));
    environment = (await pool.worker.grant(gpus)).environment;
    program = start(join(samplesFolder, 'matrix_mul'), ['--size', '512', '--seconds', '120'], environment);
    const session = await pool.events.sessionOf(program.pid);
    await pool.events.statsOf(session.id, ({ gpus: use }) => (use[0]?.usedBytes ?? 0) > 2 ** 20);
  });
  afterAll(async () => {
    program?.kill('SIGKILL');
    await program?.done;
    await pool?.stop();
  });

  const run = async (tool: string, ...parameters: string[]) => {
    const outcome = await start(join(tools, tool), parameters, { ...environment, TERM: 'xterm' }).done;
    expect(outcome, outcome.stderr).toMatchObject({ code: 0, signal: null });
    return outcome.stdout;
  };

  it('gpustat', async () => {
    const answer = JSON.parse(await run('gpustat', '--json')) as { gpus: Record<string, unknown>[] };
    expect(answer.gpus.map((gpu) => gpu.uuid)).toEqual(pool.uuids);
    expect(answer.gpus.map((gpu) => gpu['memory.total'])).toEqual([2048, 1024]);
    expect(answer.gpus.map((gpu) => gpu['memory.used'])).toEqual([3, 0]);
    expect(answer.gpus[0]?.['utilization.gpu']).toBeGreaterThan(0);
    expect(answer.gpus.map((gpu) => gpu['temperature.gpu'])).toEqual([null, null]);
    expect(answer.gpus[0]?.processes).toMatchObject([{ pid: program.pid, command: 'matrix_mul' }]);
    expect(answer.gpus[1]?.processes).toEqual([]);
  });

  it('nvitop', async () => {
    const screen = await run('nvitop', '--once', '--ascii');
    expect(screen).toContain('3.00MiB / 2048MiB');
    expect(screen).toContain('0B / 1024MiB');
    expect(screen).toContain(String(program.pid));
  });

  it('pynvml, each of whose functions answers or says that it cannot', async () => {
    const script = `
import pynvml, inspect
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
answered = []
for name, function in inspect.getmembers(pynvml, inspect.isfunction):
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    if not name.startswith('nvmlDeviceGet') or len(needed) != 1:
        continue
    try:
        function(handle)
        answered.append(name)
    except (pynvml.NVMLError, TypeError, AttributeError, ValueError):
        pass
print(len(answered), 'nvmlDeviceGetMemoryInfo' in answered, 'nvmlDeviceGetUtilizationRates' in answered)
pynvml.nvmlShutdown()
`;
    const [count, memory, utilization] = (await run('python', '-c', script)).trim().split(' ');
    expect(Number(count)).toBeGreaterThan(10);
    expect([memory, utilization]).toEqual(['True', 'True']);
  });
});
