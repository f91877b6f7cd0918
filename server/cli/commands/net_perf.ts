import { Command } from 'commander';

const rounds = 20;

/** How long the network takes to each server's data plane. */
export function netPerfCommand(): Command {
  return new Command('net_perf')
    .alias('net-perf')
    .description("measure the network round trip from this machine to each server's data port")
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\nA round trip is one TCP connect, measured ${rounds} times per server. Times are in milliseconds.`,
    )
    .action(async (options: { json?: boolean }) => {
      const { connectPool } = await import('../poolClient');
      const { measureRoundTrip } = await import('../roundTrip');
      const { print, printJson, table } = await import('../output');
      const servers = (await connectPool().api.servers.list.query()).filter((server) => server.connected);
      if (servers.length === 0) {
        const { SluiceError } = await import('../../errors');
        throw new SluiceError('NO_SERVERS', 'No GPU server is connected.', { hint: 'See `sluice health`.' });
      }
      const results = [];
      // One after the other, so that the measurements do not disturb each other.
      for (const server of servers) {
        results.push({
          address: server.address,
          hostname: server.hostname,
          ...(await measureRoundTrip(server.address, rounds)),
        });
      }
      if (options.json === true) printJson(results);
      else {
        const text = (value: number | null) => (value === null ? null : value.toFixed(3));
        const rows = results.map((r) => [
          r.address,
          r.hostname,
          text(r.minMs),
          text(r.p50Ms),
          text(r.maxMs),
          r.error ?? '',
        ]);
        print(table(['Server', 'Host', 'min', 'p50', 'max', ''], rows));
      }
      if (results.some((result) => result.error !== null)) process.exitCode = 1;
    });
}
