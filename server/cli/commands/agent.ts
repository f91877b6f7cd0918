import { Command } from 'commander';
import { version } from '../version';

interface Options {
  readonly dataDir?: string;
  readonly tokenFile?: string;
  readonly keepWorker?: boolean;
}

/** Runs the daemon of a GPU host. */
export function agentCommand(): Command {
  return new Command('agent')
    .description('run the daemon of a GPU host: lends its GPUs to the pool')
    .option('--data-dir <folder>', 'where it keeps its key, certificate and logs')
    .option('--token-file <file>', 'file with the agent token; SLUICE_TOKEN otherwise')
    .option('--keep-worker', 'when it stops, leave the worker and its programs running for the next agent')
    .addHelpText(
      'after',
      `
Environment: SLUICE_URL (the control plane), SLUICE_DATA_PORT (56001), SLUICE_DATA_ADDRESS (host:port that
clients are told), SLUICE_DRIVER, SLUICE_SOFTGPU, SLUICE_TLS=off for trusted networks.`,
    )
    .action(async (options: Options) => {
      const { runAgent } = await import('../../agent/runAgent');
      await runAgent({
        version,
        dataDir: options.dataDir ?? null,
        tokenFile: options.tokenFile ?? null,
        keepWorker: options.keepWorker === true,
      });
    });
}

/** The process in which the agent calls NVML; not for people. */
export function samplerCommand(): Command {
  return new Command('nvml-sampler')
    .argument('<library>')
    .argument('<kind>')
    .action(async (library: string, kind: string) => {
      const { serveSamples } = await import('../../agent/nvml/samplerProcess');
      serveSamples(library, kind === 'software');
    });
}
