import { Command } from 'commander';

/** All GPUs of the pool in the manner of nvidia-smi. */
export function smiCommand(): Command {
  return new Command('smi')
    .description('show every GPU of the pool with memory, load and the programs on it')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const { connectPool } = await import('../poolClient');
      const { print, printJson } = await import('../output');
      const { api } = connectPool();
      const [servers, tasks] = await Promise.all([
        api.servers.list.query(),
        api.tasks.list.query({ active: true }),
      ]);
      if (options.json === true) return printJson({ servers, tasks });
      const { smiTables } = await import('../smiTables');
      print(smiTables(servers, tasks, new Date()));
    });
}
