import { Command } from 'commander';
import { version } from '../version';

export function versionCommand(): Command {
  return new Command('version')
    .description('print the version of the command line')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const { print, printJson } = await import('../output');
      if (options.json === true) printJson({ version, node: process.versions.node });
      else print(`sluice ${version}`);
    });
}
