import { Command } from 'commander';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Runs the control plane in this process. */
export function serverCommand(): Command {
  return new Command('server')
    .description('run the control plane: dashboard, API, pool service')
    .action(async () => {
      const entry = join(dirname(fileURLToPath(import.meta.url)), 'server.mjs');
      if (!existsSync(entry)) {
        const { SluiceError } = await import('../../errors');
        throw new SluiceError('NATIVE_MISSING', `The control plane is not built: there is no ${entry}.`, {
          hint: 'Build it with `npm run build`.',
        });
      }
      await import(pathToFileURL(entry).href);
    });
}
