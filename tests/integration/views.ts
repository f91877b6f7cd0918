// What the command line shows of a pool, read for tests.
import type { AllocationRow, ServerRow, TaskRow } from '@/server/cli/rows';
import type { Pool } from './pool';

export async function servers(pool: Pool): Promise<ServerRow[]> {
  return json<ServerRow[]>(pool, ['list_gpus', '--json']);
}

export async function tasks(pool: Pool): Promise<TaskRow[]> {
  return (await json<{ tasks: TaskRow[] }>(pool, ['smi', '--json'])).tasks;
}

/** Allocations that have not ended. */
export async function allocations(pool: Pool): Promise<AllocationRow[]> {
  return json<AllocationRow[]>(pool, ['allocations', '--json']);
}

export async function listGpus(pool: Pool): Promise<string[]> {
  return String((await pool.sluice(['list_gpus'])).stdout).split('\n');
}

async function json<Value>(pool: Pool, args: readonly string[]): Promise<Value> {
  const { stdout, stderr, exitCode } = await pool.sluice(args);
  if (exitCode !== 0) throw new Error(`sluice ${args.join(' ')}: ${String(stderr)}`);
  return JSON.parse(String(stdout)) as Value;
}
