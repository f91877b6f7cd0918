// What `sluice doctor` finds out by using a GPU of the pool as a program would.
import { getEnv } from '../env';
import { runDoctor, type DoctorReport } from '../proxy/doctor';
import { nativePaths } from '../proxy/projectPaths';
import { sentences } from './failure';
import { giveBack, keepLease } from './lease';
import { connectPool, explain } from './poolClient';

// Two buffers of 64 MiB do not fit into less.
const memoryMib = 256;
const leaseSeconds = 60;

/** Allocates a little of one GPU, runs the checks on it, gives it back. Never rejects. */
export async function tryPool(): Promise<DoctorReport> {
  try {
    const pool = connectPool();
    const granted = await pool.api.allocations.request.mutate({
      gpus: 1,
      memoryMib,
      leaseSeconds,
      waitSeconds: 0,
      purpose: 'sluice doctor',
    });
    const lease = keepLease(pool, granted.allocation);
    try {
      return await runDoctor(nativePaths(getEnv().nativeDir), granted.grant);
    } finally {
      lease.stop();
      await giveBack(pool, granted.allocation.id);
    }
  } catch (error) {
    return {
      findings: [
        {
          id: 'doctor.allocation',
          severity: 'warning',
          title: `${memoryMib} MiB of a GPU to try`,
          detail: `Not to be had now: ${sentences(explain(error))}`,
          action:
            'The start of programs, round trip and bandwidth were not tried. Run `sluice doctor` again later.',
        },
      ],
      driverVersion: null,
      values: {},
    };
  }
}
