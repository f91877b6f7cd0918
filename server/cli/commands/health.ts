import { Command } from 'commander';
import type { Finding } from '../../proxy/findings';

/** What is well and what is not, of the pool and of this machine. */
export function healthCommand(): Command {
  return new Command('health')
    .description('check the control plane, each server, and whether this machine can use them')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExit status: 0 without a fatal finding, else 1.')
    .action(async (options: { json?: boolean }) => {
      const { healthFindings } = await import('../healthFindings');
      process.exitCode = await printFindings(await healthFindings(), options.json === true);
    });
}

/** Prints findings and answers the exit status. `values`: what else belongs into the JSON form. */
export async function printFindings(
  findings: readonly Finding[],
  json: boolean,
  values?: Readonly<Record<string, unknown>>,
): Promise<number> {
  const { isHealthy } = await import('../../proxy/findings');
  const { print, printJson } = await import('../output');
  const ok = isHealthy(findings);
  if (json) printJson({ ok, findings, ...(values && { values }) });
  else {
    for (const finding of findings) {
      print(`[${finding.severity.toUpperCase().padEnd(7)}] ${finding.title}: ${finding.detail}`);
      if (finding.action !== null) print(`${' '.repeat(10)}${finding.action}`);
    }
    const bad = findings.filter((finding) => finding.severity === 'fatal').length;
    print(ok ? 'No fatal findings.' : `${bad} fatal finding${bad === 1 ? '' : 's'}.`);
  }
  return ok ? 0 : 1;
}
