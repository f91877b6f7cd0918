import { Command } from 'commander';
import type { AllocationRow } from '../rows';

/** Who has which GPU. */
export function allocationsCommand(): Command {
  return new Command('allocations')
    .description('show who has which GPU and until when')
    .option('-a, --all', 'also those that have ended')
    .option('--json', 'print JSON')
    .action(async (options: { all?: boolean; json?: boolean }) => {
      const { connectPool } = await import('../poolClient');
      const { print, printJson, table } = await import('../output');
      const rows = await connectPool().api.allocations.list.query(
        options.all === true ? {} : { active: true },
      );
      if (options.json === true) return printJson(rows);
      if (rows.length === 0) return print('No allocations.');
      const { duration } = await import('../output');
      const now = Date.now();
      const lease = (row: AllocationRow) => {
        if (row.endedAt !== null) return row.reason ?? '';
        return row.leaseExpiresAt === null ? 'no end' : `${duration(row.leaseExpiresAt - now)} left`;
      };
      const cells = rows.map((row) => [
        row.id,
        row.state,
        row.userEmail,
        row.gpus
          .map(
            (gpu) =>
              `${gpu.serverAddress}/${gpu.index} ${gpu.memoryMib === null ? 'whole' : `${gpu.memoryMib} MiB`}`,
          )
          .join(', '),
        row.sessions,
        duration(now - row.createdAt),
        lease(row),
      ]);
      print(table(['Allocation', 'State', 'User', 'GPUs', 'Programs', 'Age', 'Lease'], cells));
    });
}
