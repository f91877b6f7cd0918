// `npm run bench:proxy`: what a CUDA program gets through the proxy on loopback, beside the same program
// directly on the same driver and beside raw TCP, all in one run and alternating, so that a busy machine is
// busy for all three.
import { existsSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { getEnv } from '../../env';
import { nativePaths } from '../../proxy/projectPaths';
import { benchPrograms } from './measure';
import { measureRun } from './measureRun';
import { measureRows } from './measureRows';
import { measureLinks, printLinks } from './links';
import { lineOf } from './report';
import { rows } from './rows';
import { printTable } from './table';

const usage = `npm run bench:proxy -- [--tls] [--rounds N] [--only ROW] [--json FILE]
  --tls        encrypt the proxy's connections (default: off; the rows about TLS always use it)
  --rounds N   how often everything is measured; medians are shown (default 3)
  --only ROW   one row only: ${[...new Set(rows.map(({ id }) => id)), 'links'].join(', ')}
  --json FILE  write the figures to FILE as well; - for standard output instead of the table`;

const { values } = parseArgs({
  options: {
    tls: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const rounds = Number(values.rounds);
const only = values.only ?? null;
const known = only === null || only === 'links' || rows.some(({ id }) => id === only);
if (values.help) {
  console.log(usage);
} else if (!Number.isInteger(rounds) || rounds < 1 || !known) {
  console.error(
    known ? `--rounds is "${values.rounds}": a whole number from 1 is needed.` : `There is no row "${only}".`,
  );
  console.error(usage);
  process.exitCode = 2;
} else {
  await run();
}

async function run(): Promise<void> {
  const native = nativePaths(getEnv().nativeDir);
  const programs = benchPrograms(native);
  const missing = [
    native.workerBinary,
    native.clientDriver,
    native.softgpuDriver,
    ...Object.values(programs),
  ].find((file) => !existsSync(file));
  if (missing !== undefined) {
    console.error(`${missing} is not there. Build it with \`npm run build:native\`.`);
    process.exitCode = 1;
    return;
  }
  const say = (text: string) => values.json !== '-' && console.error(text);
  const measured =
    only === 'links'
      ? new Map<string, number[]>()
      : await measureRows({ native, programs, rounds, only, tls: values.tls, say });
  const lines = rows
    .flatMap((row) => lineOf(row, measured) ?? [])
    .filter(({ id }) => only === null || id === only);
  const links =
    only === null || only === 'links' ? await measureLinks(native, programs, values.tls, say) : [];
  const sluiceRun =
    only === null ? await measureRun(programs) : { milliseconds: null, reason: 'not asked for' };
  const cores = availableParallelism();
  const result = JSON.stringify({ tls: values.tls, rounds, cores, rows: lines, links, sluiceRun }, null, 2);
  if (values.json === '-') return console.log(result);
  if (values.json !== undefined) writeFileSync(values.json, `${result}\n`);
  printTable(lines, sluiceRun, [
    `Loopback, TLS ${values.tls ? 'on' : 'off'}, random data, medians of ${rounds} rounds. The driver does nothing unless the row says otherwise.`,
    cores >= 2
      ? 'Client and worker are bound to one core each, raw TCP alike.'
      : 'This machine has one core: nothing is bound, and both sides share it.',
  ]);
  printLinks(links);
}
