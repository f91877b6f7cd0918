// kill -9 of the control plane in the middle of work: afterwards every allocation that was
// acknowledged is there, none is doubled, and programs have run on.
import { createTRPCClient, httpLink } from '@trpc/client';
import superjson from 'superjson';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AppRouter } from '@/server/api/root';
import { eventually } from './eventually';
import { ScriptedAgent } from './scriptedAgent';
import { createServerProcess, type ServerProcess } from './serverProcess';

const ROUNDS = 3;
const WORKERS = 8;
const MEMORY_MIB = 8192;

let server: ServerProcess;
beforeAll(async () => {
  server = await createServerProcess();
  await server.start();
});
afterAll(() => server.stop());

test('nothing is lost or doubled', async () => {
  const agent = await ScriptedAgent.connect({
    url: server.url,
    token: server.agentToken(),
    gpus: [
      { uuid: 'GPU-a', memoryTotalMib: MEMORY_MIB },
      { uuid: 'GPU-b', memoryTotalMib: MEMORY_MIB },
    ],
  });
  const api = createTRPCClient<AppRouter>({
    links: [
      httpLink({
        url: `${server.url}/api/trpc`,
        transformer: superjson,
        headers: { authorization: `Bearer ${server.userToken()}` },
      }),
    ],
  });
  const program = await api.allocations.request.mutate({ gpus: 1, memoryMib: 1000 });
  const session = agent.startSession(program.allocation.id);
  const acknowledged = new Set([program.allocation.id]);

  for (let round = 0; round < ROUNDS; round += 1) {
    const load = startLoad(api, acknowledged);
    // In the middle of it: after a few were granted, at no particular point of any of them.
    await load.granted(5 + round * 3);
    await server.kill('SIGKILL');
    await load.stop();
    await server.start();
    await agent.untilClosed();
    await agent.connect();

    // What it held must be what the server has; what the server does not have is gone here too.
    const rows = await eventually(
      () => api.allocations.list.query({ active: true }),
      (all) => all.every((row) => row.state === 'active' || row.state === 'granted'),
    );
    const ids = new Set(rows.map((row) => row.id));
    expect([...acknowledged].filter((id) => !ids.has(id))).toEqual([]);
    const grants = agent.received.filter((message) => message.type === 'grants').at(-1);
    expect(new Set(grants?.grants.map((grant) => grant.allocationId))).toEqual(ids);
    expect(ids.size).toBe(rows.length);
    for (const uuid of ['GPU-a', 'GPU-b']) {
      const parts = rows.flatMap((row) => row.gpus).filter((gpu) => gpu.uuid === uuid);
      expect(parts.reduce((sum, part) => sum + (part.memoryMib ?? MEMORY_MIB), 0)).toBeLessThanOrEqual(
        MEMORY_MIB,
      );
    }
    // The program was never disturbed.
    expect(
      agent.received.filter((m) => m.type === 'end' && m.allocationId === program.allocation.id),
    ).toEqual([]);
    expect(await api.tasks.list.query({ active: true })).toMatchObject([{ id: session.id, endedAt: null }]);

    for (const row of rows) {
      if (row.id === program.allocation.id) continue;
      await api.allocations.release.mutate({ id: row.id });
      acknowledged.delete(row.id);
    }
    await eventually(
      () => api.allocations.list.query({ active: true }),
      (all) => all.length === 1,
    );
  }
  expect(await server.kill('SIGTERM')).toBe(0);
});

type Api = ReturnType<typeof createTRPCClient<AppRouter>>;

/** Clients that allocate and release as fast as they can until they are stopped; errors are the server's death. */
function startLoad(api: Api, acknowledged: Set<string>) {
  let stopping = false;
  let count = 0;
  const waiting = new Set<() => void>();
  const work = async (): Promise<void> => {
    while (!stopping) {
      try {
        const { allocation } = await api.allocations.request.mutate({
          gpus: 1,
          memoryMib: 700,
          waitSeconds: 1,
        });
        acknowledged.add(allocation.id);
        count += 1;
        for (const look of [...waiting]) look();
        if (count % 2 === 0) {
          // From here on it may be there or not, whatever becomes of the answer.
          acknowledged.delete(allocation.id);
          await api.allocations.release.mutate({ id: allocation.id });
        }
      } catch {
        if (!stopping) await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  };
  const workers = Array.from({ length: WORKERS }, work);
  return {
    granted: (goal: number) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (count >= goal) resolve();
        };
        waiting.add(look);
        look();
      }),
    async stop() {
      stopping = true;
      await Promise.all(workers);
    },
  };
}
