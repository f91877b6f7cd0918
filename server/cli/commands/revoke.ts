import { Command, Option } from 'commander';
import { parseSeconds } from '../options';

/** Takes GPUs away from whoever has them. */
export function revokeCommand(): Command {
  return new Command('revoke')
    .description('end an allocation and the programs that use it')
    .argument('<allocation>', 'its id, as `sluice allocations` shows it')
    .option('--reason <text>', 'what the users of the programs are told', 'revoked by an operator')
    .addOption(
      new Option('--grace <time>', 'time that running programs are given, such as 30s').argParser(
        parseSeconds,
      ),
    )
    .option('--json', 'print JSON')
    .action(async (id: string, options: { reason: string; grace?: number; json?: boolean }) => {
      const { connectPool } = await import('../poolClient');
      const { print, printJson } = await import('../output');
      const row = await connectPool().api.allocations.revoke.mutate({
        id,
        reason: options.reason,
        ...(options.grace === undefined ? {} : { graceSeconds: options.grace }),
      });
      if (options.json === true) printJson(row);
      else print(`Allocation ${row.id} is ${row.state}.`);
    });
}
