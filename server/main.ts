import { getEnv } from './env';
import { isSluiceError } from './errors';
import { startServer } from './http/start';
import { createLog } from './log';

/** The control plane as a process: `ready <url>` on stdout once it serves; SIGTERM and SIGINT stop it. */
async function main(): Promise<void> {
  const server = await startServer(getEnv());
  stopOnSignals(server.stop);
  if (server.firstStart) {
    const { email, password, passwordFile } = server.firstStart;
    process.stdout.write(`first administrator: ${email}, password: ${password} (kept in ${passwordFile})\n`);
  }
  process.stdout.write(`ready ${server.url}\n`);
}

function stopOnSignals(stop: () => Promise<void>): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    // A second Ctrl-C means now.
    if (stopping) process.exit(1);
    stopping = true;
    createLog('main').info({ signal }, 'stopping');
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        createLog('main').error({ error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

main().catch((error: unknown) => {
  if (isSluiceError(error)) {
    process.stderr.write(`${error.message}${error.hint ? ` ${error.hint}` : ''}\n`);
    if (error.cause !== undefined) createLog('main').debug({ error: error.cause }, error.message);
  } else {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  }
  process.exit(1);
});
