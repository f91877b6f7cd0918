import { Command } from 'commander';

/** Gives back what request_gpus holds. */
export function releaseGpusCommand(): Command {
  return new Command('release_gpus')
    .alias('release-gpus')
    .description('give back the GPUs that request_gpus holds')
    .option('-f, --file <file>', 'the file in which request_gpus keeps the allocation')
    .action(async (options: { file?: string }) => {
      const { forgetHeld, heldFile, readHeld } = await import('../heldAllocation');
      const file = heldFile(options.file);
      const held = readHeld(file);
      const { connectPoolAt, errorCode } = await import('../poolClient');
      const { giveBack } = await import('../lease');
      const { note } = await import('../output');
      const pool = connectPoolAt(held.url);
      const row = await pool.api.allocations.get.query({ id: held.allocation }).catch((error: unknown) => {
        if (errorCode(error) === 'ALLOCATION_NOT_FOUND') return null;
        throw error;
      });
      if (row === null || row.endedAt !== null) {
        forgetHeld(file);
        note(
          `sluice: the allocation ${held.allocation} had ended already (${row?.reason ?? row?.state ?? 'the server does not know it'}).`,
        );
        return;
      }
      const problem = await giveBack(pool, held.allocation);
      if (problem === null) return forgetHeld(file);
      const { CliFailure } = await import('../failure');
      throw new CliFailure(problem, 'Try again, or see `sluice allocations`.');
    });
}
