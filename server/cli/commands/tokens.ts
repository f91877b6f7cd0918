import { Command, Option } from 'commander';
import { parseSeconds } from '../options';

/** API tokens: for people's command lines and for agents. */
export function tokensCommand(): Command {
  return new Command('tokens')
    .description('make, list and revoke API tokens')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeTokenCommand());
}

function createCommand(): Command {
  return new Command('create')
    .description('make a token; its secret is shown this once')
    .argument('<name>', 'what it is for')
    .option('--agent', 'for an agent on a GPU host instead of for a person')
    .addOption(
      new Option('--expires <time>', 'how long it is valid, such as 12h or 30d').argParser(parseSeconds),
    )
    .option('--json', 'print JSON')
    .action(async (name: string, options: { agent?: boolean; expires?: number; json?: boolean }) => {
      const { connectPool } = await import('../poolClient');
      const { note, print, printJson } = await import('../output');
      const created = await connectPool().api.tokens.create.mutate({
        name,
        kind: options.agent === true ? 'agent' : 'user',
        expiresAt: options.expires === undefined ? null : Date.now() + options.expires * 1000,
      });
      if (options.json === true) return printJson(created);
      note('Keep it: it is not shown again.');
      print(created.token);
    });
}

function listCommand(): Command {
  return new Command('list')
    .description('list tokens, without their secrets')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const { connectPool } = await import('../poolClient');
      const { print, printJson, table } = await import('../output');
      const rows = await connectPool().api.tokens.list.query();
      if (options.json === true) return printJson(rows);
      const day = (at: number | null) =>
        at === null ? 'never' : new Date(at).toISOString().slice(0, 16).replace('T', ' ');
      const cells = rows.map((row) => [
        row.id,
        row.name,
        row.kind,
        day(row.createdAt),
        day(row.lastUsedAt),
        day(row.expiresAt),
      ]);
      print(
        rows.length === 0
          ? 'No tokens.'
          : table(['Id', 'Name', 'Kind', 'Created (UTC)', 'Last used', 'Expires'], cells),
      );
    });
}

function revokeTokenCommand(): Command {
  return new Command('revoke')
    .description('make a token invalid at once')
    .argument('<id>', 'its id, as `sluice tokens list` shows it')
    .action(async (id: string) => {
      const { connectPool } = await import('../poolClient');
      const { print } = await import('../output');
      const row = await connectPool().api.tokens.revoke.mutate({ id });
      print(`Token ${row.id} (${row.name}) is revoked.`);
    });
}
