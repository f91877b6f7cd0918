// The command line `sluice`. Commands load what they need only when they run.
import { Command, CommanderError } from 'commander';
import { agentCommand, samplerCommand } from './commands/agent';
import { allocationsCommand } from './commands/allocations';
import { clientCommand } from './commands/client';
import { doctorCommand } from './commands/doctor';
import { healthCommand } from './commands/health';
import { listGpusCommand } from './commands/list_gpus';
import { loginCommand } from './commands/login';
import { netPerfCommand } from './commands/net_perf';
import { releaseGpusCommand } from './commands/release_gpus';
import { requestGpusCommand } from './commands/request_gpus';
import { revokeCommand } from './commands/revoke';
import { runCommand } from './commands/run';
import { serverCommand } from './commands/server';
import { smiCommand } from './commands/smi';
import { tokensCommand } from './commands/tokens';
import { versionCommand } from './commands/version';
import { CliFailure, exitStatus, sentences } from './failure';
import { version } from './version';

async function main(): Promise<void> {
  const program = new Command('sluice')
    .description('Lends the GPUs of many servers over the network to unmodified CUDA programs.')
    .version(`sluice ${version}`, '-V, --version')
    .enablePositionalOptions()
    .addHelpText(
      'after',
      '\nThe control plane is found by SLUICE_URL and SLUICE_TOKEN, or as `sluice login` stored it.',
    );
  const commands = [
    runCommand(),
    requestGpusCommand(),
    clientCommand(),
    releaseGpusCommand(),
    listGpusCommand(),
    smiCommand(),
    healthCommand(),
    netPerfCommand(),
    doctorCommand(),
    allocationsCommand(),
    revokeCommand(),
    tokensCommand(),
    loginCommand(),
    serverCommand(),
    agentCommand(),
    versionCommand(),
  ];
  for (const command of commands) program.addCommand(command);
  program.addCommand(samplerCommand(), { hidden: true });
  for (const command of [program, ...commands, ...commands.flatMap((entry) => entry.commands)]) {
    command.exitOverride().configureOutput({
      outputError: (text, write) => write(text.replace(/^error: /, 'sluice: ').replace(/\n(?=.)/g, ' ')),
    });
  }
  await program.parseAsync();
}

main().catch(async (error: unknown) => {
  if (error instanceof CommanderError) {
    // Commander has said it already; its own status for wrong options is 1, which means "failed" here.
    process.exitCode = error.exitCode === 0 ? 0 : exitStatus.usage;
    return;
  }
  const { explain } = await import('./poolClient');
  process.stderr.write(`sluice: ${sentences(explain(error))}\n`);
  process.exitCode = error instanceof CliFailure ? error.exitCode : exitStatus.failed;
});
