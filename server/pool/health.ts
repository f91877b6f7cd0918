import type { PoolContext } from './context';
import type { LiveServer } from './live/live';
import { serverState } from './live/rows';
import type { HealthFinding, HealthReport } from './views';

/** What is well and what is not, as far as the control plane can tell. */
export async function healthReport(ctx: PoolContext): Promise<HealthReport> {
  const servers = [...ctx.live.servers.values()].filter((s) => s.link !== null || s.record.gpus.length > 0);
  const findings = [
    ok('control-plane', 'Control plane', `Version ${ctx.serverVersion} answers.`),
    await databaseFinding(ctx),
    ...poolFindings(servers),
    ...servers.map(serverFinding),
    ...stuckFindings(ctx),
  ];
  return { ok: findings.every((finding) => finding.severity !== 'fatal'), findings };
}

async function databaseFinding(ctx: PoolContext): Promise<HealthFinding> {
  const title = 'Database';
  try {
    await ctx.db.ping();
    return ok(
      'database',
      title,
      ctx.db.kind === 'embedded' ? 'The embedded database answers.' : 'PostgreSQL answers.',
    );
  } catch (error) {
    ctx.log.error({ error }, 'the database does not answer');
    return {
      id: 'database',
      severity: 'fatal',
      title,
      detail: 'The database does not answer; nothing can be allocated or released.',
      action: 'Look at the server log; check the disk or DATABASE_URL.',
    };
  }
}

function poolFindings(servers: LiveServer[]): HealthFinding[] {
  if (servers.some((server) => serverState(server) === 'ready')) return [];
  return [
    {
      id: 'pool',
      severity: 'fatal',
      title: 'Pool',
      detail: servers.length === 0 ? 'No GPU server has joined.' : 'No GPU server is ready.',
      action: servers.length === 0 ? 'Run `sluice agent` on a GPU host.' : 'See the servers below.',
    },
  ];
}

function serverFinding(server: LiveServer): HealthFinding {
  const { id, hostname, dataAddress, gpus } = server.record;
  const finding = { id: `server:${id}`, title: `Server ${hostname} [${dataAddress}]` };
  switch (serverState(server)) {
    case 'ready':
      return { ...finding, severity: 'ok', detail: `${gpus.length} GPUs, connected.`, action: null };
    case 'cordoned':
      return {
        ...finding,
        severity: 'warning',
        detail: 'Cordoned: it gets no new allocations.',
        action: 'Uncordon it.',
      };
    case 'joining':
      return {
        ...finding,
        severity: 'warning',
        detail: server.workerDetail ?? 'Its worker does not run.',
        action: 'Look at the log of `sluice agent` on that host.',
      };
    case 'unreachable':
      return {
        ...finding,
        severity: 'warning',
        detail: 'Its agent is not connected. Programs that run there go on.',
        action: 'Check that `sluice agent` runs on that host and reaches this address.',
      };
  }
}

/** Longer than any grace time and a worker's last second. */
const STUCK_MS = 30_000;

function stuckFindings(ctx: PoolContext): HealthFinding[] {
  return [...ctx.live.endings].flatMap(([id, ending]) => {
    const record = ctx.live.allocations.get(id);
    if (!record || ctx.clock.now() - ending.since < record.graceMs + STUCK_MS) return [];
    const gpus = record.gpus.map((held) => held.gpuUuid).join(', ');
    return [
      {
        id: `stuck:${id}`,
        severity: 'warning' as const,
        title: `Allocation ${id} does not come back`,
        detail: `${gpus} cannot be given out: ${ending.problem ?? 'the server has not proved it free yet'}.`,
        action: 'Look at the GPU host for processes that are left.',
      },
    ];
  });
}

function ok(id: string, title: string, detail: string): HealthFinding {
  return { id, severity: 'ok', title, detail, action: null };
}
