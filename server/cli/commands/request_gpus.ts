import { Command, Option } from 'commander';
import { addRequestOptions, parseCount, parseSeconds, toRequest, type RequestOptions } from '../options';

interface Options extends RequestOptions {
  readonly file?: string;
  readonly lease: number;
  readonly json?: boolean;
}

const defaultLeaseSeconds = 8 * 3600;

/** Allocates and keeps the allocation in a file for `client` and `release_gpus`. */
export function requestGpusCommand(): Command {
  return addRequestOptions(new Command('request_gpus').alias('request-gpus'))
    .description('allocate GPUs and hold them for several `sluice client` commands')
    .argument('[count]', 'number of GPUs, as -n')
    .option('-f, --file <file>', 'where to keep the allocation')
    .addOption(
      new Option('--lease <time>', 'how long to hold them when nothing uses them, such as 30m or 8h')
        .argParser(parseSeconds)
        .default(defaultLeaseSeconds, '8h'),
    )
    .option('--json', 'print the allocation as JSON')
    .action(async (count: string | undefined, options: Options) => request(count, options));
}

async function request(count: string | undefined, options: Options): Promise<void> {
  const { heldFile, writeHeld } = await import('../heldAllocation');
  const { existsSync } = await import('node:fs');
  const { CliFailure } = await import('../failure');
  const file = heldFile(options.file);
  if (existsSync(file)) {
    throw new CliFailure(
      `An allocation is held already, in ${file}.`,
      'Give it back with `sluice release_gpus`, or keep this one elsewhere with -f FILE.',
    );
  }
  const { connectPool } = await import('../poolClient');
  const { giveBack } = await import('../lease');
  const { printRequested } = await import('../requested');
  const pool = connectPool();
  const gpus = count === undefined ? options.gpus : parseCount(count);
  const { allocation, grant } = await pool.api.allocations.request.mutate({
    ...toRequest(options),
    gpus,
    leaseSeconds: options.lease,
    purpose: 'sluice request_gpus',
  });
  try {
    writeHeld(file, { url: pool.url, allocation: allocation.id, grant });
  } catch (error) {
    await giveBack(pool, allocation.id);
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliFailure(
      `The allocation could not be kept: ${reason}.`,
      'It was given back. Name another file with -f.',
    );
  }
  printRequested(grant);
  const { print, printJson } = await import('../output');
  if (options.json === true) printJson({ allocation, file });
  else print(`Allocation ${allocation.id} is held in ${file}`);
}
