import { Command, Option } from 'commander';
import { addRequestOptions, parseSeconds, toRequest, type RequestOptions } from '../options';

interface Options extends RequestOptions {
  readonly lease: number;
}

const defaultLeaseSeconds = 60;

/** Allocates, runs one program, gives back. */
export function runCommand(): Command {
  return addRequestOptions(new Command('run'))
    .description('run a program with GPUs of the pool; its output and exit status are its own')
    .argument('<program...>', 'the program and its arguments, with or without -- before it')
    .addOption(
      new Option('--lease <time>', 'when this command is killed, the GPUs come back after this')
        .argParser(parseSeconds)
        .default(defaultLeaseSeconds, '60s'),
    )
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Examples:
  sluice run -n 1 -m 2048 -- python3 train.py --epochs 3
  sluice run -n 2 -p 0.5 ./matrix_mul
  sluice run -n 1 --filter device.name=H100 --timeout 5m -- ./job

Exit status: the program's; 128 + signal when a signal ended it; 127 or 126 when it is not there or not
executable; 1 when no GPU could be had; 2 for wrong options.`,
    )
    .action(async (words: string[], options: Options) => {
      process.exitCode = await run(words, options);
    });
}

async function run(words: string[], options: Options): Promise<number> {
  const { watchSignals } = await import('../signals');
  const signals = watchSignals();
  const { prepareInvocation } = await import('../commandLine');
  const invocation = prepareInvocation(words);
  const { connectPool } = await import('../poolClient');
  const { giveBack, keepLease } = await import('../lease');
  const { signalStatus, runProgram } = await import('../child');
  const { printRequested } = await import('../requested');
  const { note } = await import('../output');

  const pool = connectPool();
  const request = {
    ...toRequest(options),
    leaseSeconds: options.lease,
    purpose: words.join(' ').slice(0, 500),
  };
  const granted = await pool.api.allocations.request
    .mutate(request, { signal: signals.aborted })
    .catch((error: unknown) => {
      // The server gives back what it had taken when the request is dropped.
      if (signals.pending !== null) return null;
      throw error;
    });
  if (granted === null) return signalStatus(signals.pending);

  const lease = keepLease(pool, granted.allocation);
  try {
    if (signals.pending !== null) return signalStatus(signals.pending);
    printRequested(granted.grant);
    return await runProgram(invocation, granted.grant, signals);
  } finally {
    lease.stop();
    const problem = await giveBack(pool, granted.allocation.id);
    if (problem !== null) note(`sluice: ${problem}`);
  }
}
