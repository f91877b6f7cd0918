// Options that several commands share, and what is accepted as their values.
import { InvalidArgumentError, Option, type Command } from 'commander';

/** A request for GPUs as it was typed. */
export interface RequestOptions {
  readonly gpus: number;
  readonly partial?: number;
  readonly memory?: number;
  readonly server_list?: string[];
  readonly serverList?: string[];
  readonly filter: { key: string; value: string }[];
  readonly timeout?: number;
}

/** Adds -n -p -m -l --filter --timeout. */
export function addRequestOptions(command: Command): Command {
  return command
    .addOption(new Option('-n, --gpus <count>', 'number of GPUs').argParser(parseCount).default(1))
    .addOption(
      new Option('-p, --partial <fraction>', "share of each GPU's memory, above 0 up to 1")
        .argParser(parseFraction)
        .conflicts('memory'),
    )
    .addOption(new Option('-m, --memory <MiB>', 'memory on each GPU').argParser(parseMib))
    .addOption(
      new Option(
        '-l, --server_list <servers>',
        'only these servers: host:port, separated by "," or ";"',
      ).argParser(parseServers),
    )
    .addOption(new Option('--server-list <servers>').argParser(parseServers).hideHelp())
    .addOption(
      new Option('--filter <key=value>', 'only GPUs that match; may be repeated')
        .argParser<{ key: string; value: string }[]>((text, former) => [...(former ?? []), parseFilter(text)])
        .default([], 'none'),
    )
    .addOption(
      new Option('--timeout <seconds>', 'how long to wait for busy GPUs; also 5m, 2h').argParser(
        parseSeconds,
      ),
    );
}

/** The options as the API takes them. */
export function toRequest(options: RequestOptions) {
  const serverList = options.server_list ?? options.serverList;
  return {
    gpus: options.gpus,
    ...(options.memory === undefined ? {} : { memoryMib: options.memory }),
    ...(options.partial === undefined ? {} : { fraction: options.partial }),
    ...(serverList === undefined ? {} : { serverList }),
    ...(options.filter.length === 0 ? {} : { filters: options.filter }),
    ...(options.timeout === undefined ? {} : { waitSeconds: options.timeout }),
  };
}

export function parseCount(text: string): number {
  const count = wholeNumber(text);
  if (count === null || count < 1) throw new InvalidArgumentError('A whole number of GPUs from 1 is needed.');
  return count;
}

export function parseFraction(text: string): number {
  const fraction = /^\d*\.?\d+$/.test(text) ? Number(text) : NaN;
  if (!(fraction > 0 && fraction <= 1))
    throw new InvalidArgumentError('A share above 0 up to 1 is needed, such as 0.5.');
  return fraction;
}

export function parseMib(text: string): number {
  const mib = wholeNumber(text);
  if (mib === null || mib < 1)
    throw new InvalidArgumentError('A whole number of MiB from 1 is needed, such as 2048.');
  return mib;
}

export function parseServers(text: string): string[] {
  const servers = text
    .split(/[,;]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const wrong = servers.find((entry) => !/^.+:\d{1,5}$/.test(entry));
  if (servers.length === 0 || wrong !== undefined) {
    throw new InvalidArgumentError(
      `Servers are needed as host:port, such as 10.0.0.5:56001${wrong === undefined ? '' : `; "${wrong}" is not`}.`,
    );
  }
  return servers;
}

export function parseFilter(text: string): { key: string; value: string } {
  const at = text.indexOf('=');
  const key = text.slice(0, Math.max(0, at)).trim();
  const value = text.slice(at + 1).trim();
  if (key === '' || value === '')
    throw new InvalidArgumentError('A filter is needed as key=value, such as device.name=H100.');
  return { key, value };
}

/** Seconds from "90", "90s", "5m", "2h" or "1d". */
export function parseSeconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(text);
  if (match === null)
    throw new InvalidArgumentError('A time in seconds is needed, such as 90, 90s, 5m or 2h.');
  const unit = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 }[match[2] ?? ''] ?? 1;
  return Number(match[1]) * unit;
}

function wholeNumber(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
