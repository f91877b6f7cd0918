// The figure that needs a whole pool: from `sluice run` to the first completed launch.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../proxy/projectPaths';
import { measureFirstLaunch, type BenchPrograms } from './measure';

export interface RunFigure {
  /** Median of five runs: command line, allocation, program, kernel, result. null: not measured. */
  readonly milliseconds: number | null;
  /** Why it was not measured. */
  readonly reason: string | null;
}

/** Measures against the pool that this user's credentials name, as `sluice run` would use it. */
export async function measureRun(programs: BenchPrograms): Promise<RunFigure> {
  const sluice = join(projectRoot(), '.build/sluice.mjs');
  if (!existsSync(sluice)) return { milliseconds: null, reason: `${sluice} is not built (npm run build)` };
  const prefix = [process.execPath, sluice, 'run', '-n', '1', '-m', '512', '--'];
  try {
    return { milliseconds: await measureFirstLaunch(programs, { environment: {}, prefix }), reason: null };
  } catch (error) {
    const said = error instanceof Error ? error.message.split('failed: ').at(-1) : String(error);
    return { milliseconds: null, reason: `no pool was reached (npm start runs one): ${said}` };
  }
}
