// Pools that are set up otherwise, and what is said when one cannot be set up.
import { createServer, type AddressInfo } from 'node:net';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleForTests } from './bundles';
import { holderProgram, isAlive } from './holder';
import { freePort, startPool, type Pool } from './pool';
import { WatchedProcess } from './processes';

describe('without TLS', () => {
  let pool: Pool;
  beforeAll(async () => {
    pool = await startPool({ gpus: '1x(memory=1GiB,cc=8.0,sms=4)', env: { SLUICE_TLS: 'off' } });
  });
  afterAll(() => pool?.stop());

  test('programs run', async () => {
    expect(await pool.sluice(['run', '--', holderProgram(), '100', 'quit'])).toMatchObject({ exitCode: 0 });
  });

  test('health says that the data plane is open', async () => {
    expect(String((await pool.sluice(['health'])).stdout)).toMatch(/Data plane .* not encrypted/);
  });

  test('the GPU is what SLUICE_SOFTGPU describes', async () => {
    const [server] = JSON.parse(String((await pool.sluice(['list_gpus', '--json'])).stdout));
    expect(server.gpus).toMatchObject([{ memoryTotalMib: 1024, computeCapability: '8.0', software: true }]);
  });
});

describe('a pool without a GPU server', () => {
  let pool: Pool;
  let folder: string;
  beforeAll(async () => {
    pool = await startPool({ agent: false });
    folder = mkdtempSync(join(tmpdir(), 'sluice-agent-'));
  });
  afterAll(async () => {
    await pool?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function agent(
    name: string,
    token: string,
    more: { env?: Record<string, string>; args?: string[] } = {},
  ): Promise<WatchedProcess> {
    writeFileSync(join(folder, `${name}.token`), token);
    const args = [
      'agent',
      '--data-dir',
      join(folder, name),
      '--token-file',
      join(folder, `${name}.token`),
      ...(more.args ?? []),
    ];
    const { sluice } = await bundleForTests();
    const port = String(await freePort());
    return WatchedProcess.start(name, process.execPath, [sluice, ...args], {
      ...pool.env,
      SLUICE_DATA_PORT: port,
      ...more.env,
    });
  }

  async function agentToken(): Promise<string> {
    return String((await pool.sluice(['tokens', 'create', '--agent', 'a host'])).stdout);
  }

  test('list_gpus and run say so', async () => {
    expect(await pool.sluice(['list_gpus'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/No GPU server has joined.*sluice agent/),
    });
    expect(await pool.sluice(['run', 'true'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/No GPU server/),
    });
  });

  test('health is not good', async () => {
    expect((await pool.sluice(['health'])).exitCode).toBe(1);
  });

  test('an agent with a wrong token says what to do, and joins when the file has a good one', async () => {
    const joining = await agent('late', 'wrong');
    await joining.line(/server refused the token.*SLUICE_TOKEN or --token-file/);
    writeFileSync(join(folder, 'late.token'), await agentToken());
    await joining.line(/^agent connected/);
    await joining.end('SIGTERM');
  });

  test('a second agent on the same folder is told which process has it', async () => {
    const token = await agentToken();
    const first = await agent('twice', token);
    await first.line(/^agent connected/);
    const second = await agent('twice', token);
    await second.line(new RegExp(`^sluice: An agent already runs on .*twice \\(process ${first.pid}\\)`));
    await first.end('SIGTERM');
  });

  test('an agent whose data port is taken says which', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const blocked = await agent('blocked', await agentToken(), { env: { SLUICE_DATA_PORT: String(port) } });
    await blocked.line(new RegExp(`^sluice: The data port ${port} on 127.0.0.1 .*SLUICE_DATA_PORT`));
    other.close();
  });

  const workerOf = (name: string) => {
    const { pid } = JSON.parse(readFileSync(join(folder, name, 'worker.json'), 'utf8')) as { pid: number };
    return pid;
  };

  test('SIGTERM ends the worker too', async () => {
    const stopped = await agent('stopped', await agentToken());
    await stopped.line(/^agent connected/);
    await stopped.end('SIGTERM');
    expect(isAlive(workerOf('stopped'))).toBe(false);
  });

  test('unless it is to be kept', async () => {
    const stopped = await agent('kept', await agentToken(), { args: ['--keep-worker'] });
    await stopped.line(/^agent connected/);
    await stopped.end('SIGTERM');
    expect(isAlive(workerOf('kept'))).toBe(true);
    process.kill(workerOf('kept'), 'SIGKILL');
  });
});
