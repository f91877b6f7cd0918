import { Command } from 'commander';
import type { Finding } from '../../proxy/findings';

/** Looks closer at this machine than `health` does. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'check this machine and its way to the pool as a CUDA program sees them; for bug reports, with --json',
    )
    .argument('[program]', 'a CUDA program whose way to the driver library is to be checked')
    .option('--json', 'print JSON')
    .action(async (program: string | undefined, options: { json?: boolean }) => {
      const { credentialsFinding, nodeFinding, programFinding } = await import('../doctorFindings');
      const { healthFindings } = await import('../healthFindings');
      const { softwareFindings } = await import('../softwareFindings');
      const { tryPool } = await import('../poolRun');
      const { version } = await import('../version');
      const { printFindings } = await import('./health');
      const findings: Finding[] = [nodeFinding(), credentialsFinding()];
      if (program !== undefined) findings.push(await programFinding(program));
      findings.push(...(await healthFindings()));
      const tried = await tryPool();
      findings.push(...tried.findings, ...(await softwareFindings(tried.driverVersion)));
      const values = { commandVersion: version, node: process.versions.node, ...tried.values };
      process.exitCode = await printFindings(findings, options.json === true, values);
    });
}
