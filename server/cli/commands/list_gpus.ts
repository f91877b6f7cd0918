import { Command } from 'commander';
import type { ServerRow } from '../rows';

/** The pool, one line per server and GPU. */
export function listGpusCommand(): Command {
  return new Command('list_gpus')
    .alias('list-gpus')
    .description('show the servers of the pool, their GPUs and the free memory')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const { connectPool } = await import('../poolClient');
      const { print, printJson } = await import('../output');
      const servers = await connectPool().api.servers.list.query();
      if (options.json === true) return printJson(servers);
      if (servers.length === 0) {
        const { SluiceError } = await import('../../errors');
        throw new SluiceError('NO_SERVERS', 'No GPU server has joined the pool.', {
          hint: 'Start an agent on a GPU host with `sluice agent`.',
        });
      }
      print(servers.map(serverLines).join('\n'));
    });
}

/** Bitfusion's format, which scripts parse. */
export function serverLines(server: ServerRow, index: number): string {
  const head = `- server ${index} [${server.address}]`;
  if (!server.connected) return `${head}: unreachable`;
  const cordoned = server.state === 'cordoned' ? ' (cordoned)' : '';
  const gpus = server.gpus.map(
    (gpu) => `|- GPU ${gpu.index}: free memory ${freeMib(gpu)} MiB / ${gpu.memoryTotalMib} MiB`,
  );
  return [`${head}: running ${server.taskCount} tasks${cordoned}`, ...gpus].join('\n');
}

/** What a new allocation can have: neither granted to somebody nor in use by something else. */
export function freeMib(gpu: ServerRow['gpus'][number]): number {
  const ungranted = gpu.memoryTotalMib - gpu.grantedMib;
  return Math.max(0, Math.floor(Math.min(ungranted, gpu.memoryFreeMib ?? ungranted)));
}
