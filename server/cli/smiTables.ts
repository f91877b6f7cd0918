// The tables of `sluice smi`: one box per server with its GPUs, then the running programs.
import { version } from './version';
import type { GpuRow, ServerRow, TaskRow } from './rows';

const width = 89;
const cells = [41, 24, 22] as const;
const bytesPerMib = 1024 * 1024;

/** The whole text; unknown values are N/A, never 0. */
export function smiTables(servers: readonly ServerRow[], tasks: readonly TaskRow[], now: Date): string {
  return [
    now.toString().replace(/ GMT.*/, ''),
    ...servers.map(serverTable),
    processTable(servers, tasks),
  ].join('\n');
}

function serverTable(server: ServerRow, index: number): string {
  const rule = columnsRule('-');
  const state = server.connected ? server.state : 'unreachable';
  const title = [
    `SLUICE ${version}`,
    `Driver Version: ${server.driverVersion ?? 'N/A'}`,
    `CUDA Version: ${server.cudaVersion ?? 'N/A'}`,
  ];
  return [
    fullRule('-'),
    fullRow(columns(title, [34, 32, 21])),
    fullRow(` Server ${index}: ${server.hostname} [${server.address}]  ${state}`),
    rule,
    row([' GPU  Name                       Compute', ' UUID', ' Tasks']),
    row(['      Temp              Power', '           Memory-Usage', ' GPU-Util']),
    columnsRule('='),
    ...server.gpus.flatMap((gpu) => [...gpuRows(gpu, server.connected), rule]),
    ...(server.gpus.length === 0 ? [row([' no GPU', '', '']), rule] : []),
  ].join('\n');
}

function gpuRows(gpu: GpuRow, connected: boolean): string[] {
  // What an unreachable server said last is not what is true now.
  const live = <Value>(value: Value | null) => (connected ? value : null);
  const name = ` ${String(gpu.index).padStart(3)}  ${gpu.name.slice(0, 26).padEnd(26)} ${(gpu.computeCapability ?? 'N/A').padStart(7)}`;
  const temperature = unit(live(gpu.temperatureCelsius), 'C').padStart(5);
  const power = unit(live(gpu.powerWatts === null ? null : Math.round(gpu.powerWatts)), 'W').padStart(8);
  const used = unit(live(gpu.memoryUsedMib), 'MiB');
  const memory = `${used} / ${gpu.memoryTotalMib}MiB`;
  const tasks = gpu.processes.filter((process) => process.taskId !== null).length;
  return [
    row([name, ` ${gpu.uuid.slice(0, 21)}…`, String(live(tasks) ?? 'N/A').padStart(21)]),
    row([
      `     ${temperature}             ${power}`,
      memory.padStart(23),
      unit(live(gpu.utilizationPercent), '%').padStart(21),
    ]),
  ];
}

function processTable(servers: readonly ServerRow[], tasks: readonly TaskRow[]): string {
  const gpuOf = new Map<string, string>();
  servers.forEach((server, index) =>
    server.gpus.forEach((gpu) => gpuOf.set(gpu.uuid, `${index}:${gpu.index}`)),
  );
  const own = tasks.flatMap((task) =>
    task.gpus.map((gpu) =>
      processRow(
        gpuOf.get(gpu.uuid) ?? '?',
        `${task.user}@${task.clientHost}`,
        String(task.clientPid),
        task.command,
        Math.ceil(gpu.usedBytes / bytesPerMib),
      ),
    ),
  );
  // Programs that the pool did not start use memory too.
  const foreign = servers.flatMap((server) =>
    server.gpus.flatMap((gpu) =>
      gpu.processes
        .filter((process) => process.taskId === null)
        .map((process) =>
          processRow(
            gpuOf.get(gpu.uuid) ?? '?',
            server.hostname,
            String(process.pid),
            process.name ?? 'N/A',
            process.usedMib,
          ),
        ),
    ),
  );
  const lines = [...own, ...foreign];
  return [
    '',
    fullRule('-'),
    fullRow(' Processes:'),
    fullRow(`  GPU   ${'User@Host'.padEnd(24)} ${'PID'.padStart(8)}   ${'Program'.padEnd(28)} GPU Memory`),
    fullRule('='),
    ...(lines.length === 0 ? [fullRow('  No running programs found')] : lines),
    fullRule('-'),
  ].join('\n');
}

function processRow(gpu: string, who: string, pid: string, program: string, usedMib: number | null): string {
  const memory = unit(usedMib, 'MiB').padStart(10);
  return fullRow(
    `  ${gpu.padEnd(5)} ${cut(who, 24).padEnd(24)} ${pid.padStart(8)}   ${cut(program, 28).padEnd(28)} ${memory}`,
  );
}

function unit(value: number | null, name: string): string {
  return value === null ? 'N/A' : `${value}${name}`;
}

/** Control characters in a program's name would break the table or the terminal. */
function cut(text: string, length: number): string {
  const clean = text.replace(/\p{Cc}/gu, ' ');
  return clean.length <= length ? clean : `${clean.slice(0, length - 1)}…`;
}

function columns(texts: readonly string[], widths: readonly number[]): string {
  return ` ${texts.map((text, at) => text.padEnd(widths[at] ?? 0)).join('')}`;
}

function row(texts: readonly [string, string, string]): string {
  return `|${texts.map((text, at) => text.slice(0, cells[at]).padEnd(cells[at] ?? 0)).join('|')}|`;
}

function columnsRule(character: '-' | '='): string {
  const edge = character === '-' ? '+' : '|';
  return `${edge}${cells.map((size) => character.repeat(size)).join('+')}${edge}`;
}

function fullRow(text: string): string {
  return `|${text.slice(0, width).padEnd(width)}|`;
}

function fullRule(character: '-' | '='): string {
  const edge = character === '-' ? '+' : '|';
  return `${edge}${character.repeat(width)}${edge}`;
}
