import { Command } from 'commander';
import type { HeldAllocation } from '../heldAllocation';
import type { PoolClient } from '../poolClient';

interface Options {
  readonly allocation?: string;
  readonly file?: string;
}

/** Runs a program on GPUs that are allocated already; they stay allocated afterwards. */
export function clientCommand(): Command {
  return new Command('client')
    .description('run a program on GPUs that request_gpus or the dashboard has allocated')
    .option('--allocation <id>', 'an allocation of yours, as the dashboard shows it')
    .option('-f, --file <file>', 'the file in which request_gpus keeps the allocation')
    .argument('<program...>', 'the program and its arguments, with or without -- before it')
    .passThroughOptions()
    .addHelpText(
      'after',
      '\nExamples:\n  sluice request_gpus -n 1 -m 2048\n  sluice client -- python3 train.py\n  sluice release_gpus',
    )
    .action(async (words: string[], options: Options) => {
      process.exitCode = await client(words, options);
    });
}

async function client(words: string[], options: Options): Promise<number> {
  const { watchSignals } = await import('../signals');
  const signals = watchSignals();
  const { prepareInvocation } = await import('../commandLine');
  const invocation = prepareInvocation(words);
  const { runProgram, signalStatus } = await import('../child');
  const grant =
    options.allocation === undefined ? await heldGrant(options.file) : await issuedGrant(options.allocation);
  if (signals.pending !== null) return signalStatus(signals.pending);
  return runProgram(invocation, grant, signals);
}

async function issuedGrant(id: string) {
  const { connectPool } = await import('../poolClient');
  const { grant } = await connectPool().api.allocations.grant.mutate({ id });
  return grant;
}

async function heldGrant(option: string | undefined) {
  const { heldFile, readHeld } = await import('../heldAllocation');
  const file = heldFile(option);
  const held = readHeld(file);
  const { connectPoolAt, errorCode } = await import('../poolClient');
  const problem = await endedReason(connectPoolAt(held.url), held).catch((error: unknown) => {
    // The GPU server serves a held allocation also while the control plane is away.
    if (errorCode(error) === 'CONTROL_PLANE_UNREACHABLE') return null;
    throw error;
  });
  if (problem === null) return held.grant;
  const { SluiceError } = await import('../../errors');
  throw new SluiceError('ALLOCATION_NOT_ACTIVE', problem, {
    hint: `Remove it with \`sluice release_gpus${option === undefined ? '' : ` -f ${option}`}\` and ask for a new one with \`sluice request_gpus\`.`,
  });
}

/** Why the held allocation cannot be used any more; null when it can. */
async function endedReason(pool: PoolClient, held: HeldAllocation): Promise<string | null> {
  const row = await pool.api.allocations.get.query({ id: held.allocation });
  if (row.state === 'active' || row.state === 'granted') return null;
  const reason = row.reason === null ? '' : ` (${row.reason})`;
  return `The allocation ${held.allocation} cannot be used any more: it is ${row.state}${reason}.`;
}
