import type { AgentToServer } from '../../../protocol/control/agentMessages';
import type { PoolContext } from '../context';
import type { LiveServer } from '../live/live';
import { liveTaskRow } from '../live/rows';

/** Newest samples of the server's own GPUs, and counters of its programs. */
export function receiveTelemetry(
  ctx: PoolContext,
  server: LiveServer,
  message: Extract<AgentToServer, { type: 'telemetry' }>,
): void {
  const now = ctx.clock.now();
  const mine = new Set(server.record.gpus.map((gpu) => gpu.uuid));
  for (const sample of message.gpus) {
    if (!mine.has(sample.uuid)) continue;
    server.samples.set(sample.uuid, { sample, at: now });
    ctx.announce.telemetry(sample.uuid, ctx.recorder.record(sample, now));
  }
  for (const stats of message.sessions) {
    const task = ctx.live.task(server.record.id, stats.id);
    if (!task) continue;
    const changed = JSON.stringify(task.stats) !== JSON.stringify(stats);
    task.stats = stats;
    if (changed) ctx.announce.task(liveTaskRow(ctx.live, task));
  }
  ctx.announce.server(server.record.id);
}

export function receiveHealth(
  ctx: PoolContext,
  server: LiveServer,
  message: Extract<AgentToServer, { type: 'health' }>,
): void {
  server.worker = message.worker;
  server.workerDetail = message.detail;
  ctx.announce.server(server.record.id);
  if (message.worker === 'up') ctx.capacity.changed();
}
