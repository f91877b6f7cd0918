import { Command } from 'commander';
import type { Finding } from '../../proxy/findings';

/** Looks closer at this machine than `health` does. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('check this machine: Node.js, native libraries, credentials, and a program if one is named')
    .argument('[program]', 'a CUDA program whose way to the driver library is to be checked')
    .option('--json', 'print JSON')
    .action(async (program: string | undefined, options: { json?: boolean }) => {
      const { credentialsFinding, nodeFinding, programFinding } = await import('../doctorFindings');
      const { healthFindings } = await import('../healthFindings');
      const { printFindings } = await import('./health');
      const findings: Finding[] = [nodeFinding(), credentialsFinding()];
      if (program !== undefined) findings.push(await programFinding(program));
      findings.push(...(await healthFindings()));
      process.exitCode = await printFindings(findings, options.json === true);
    });
}
