import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setServices, type Services } from '../api/services';
import { bootstrap, readOrCreateSecret, type FirstStart } from '../auth/bootstrap';
import { createAuth } from '../auth/create';
import { lockDataDir } from '../db/dataDirLock';
import { openDatabase } from '../db/open';
import type { Env } from '../env';
import { createLog } from '../log';
import { createPool } from '../pool/create';
import { createAgentEndpoint } from './agents';
import { listen } from './listen';
import { createMetrics } from './metrics';
import { createPages, noPages } from './pages';
import { createRoutes } from './routes';

/** A server that is serving. */
export interface RunningServer {
  url: string;
  firstStart: FirstStart | null;
  stop(): Promise<void>;
}

/**
 * Starts the control plane: data directory, port, database, identity, pool, and
 * then the paths. What was started is stopped again when a later step fails.
 *
 * @throws DATA_DIR_IN_USE, PORT_IN_USE, DATABASE_UNAVAILABLE, …
 */
export async function startServer(env: Env): Promise<RunningServer> {
  const undo: (() => void | Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    undo.push(lockDataDir(env.dataDir));
    const listener = await listen(env.host, env.port);
    undo.push(() => listener.close());
    const db = await openDatabase(env);
    undo.push(() => db.close());

    const secret = env.authSecret ?? readOrCreateSecret(env.dataDir);
    const auth = createAuth({ db, secret, baseUrl: env.publicUrl ?? listener.url });
    const firstStart = await bootstrap({
      db,
      auth,
      dataDir: env.dataDir,
      url: listener.url,
      credentialsFile: env.writeCredentials ? env.credentialsFile : null,
    });
    const version = readVersion(env.root);
    const pool = await createPool({ db, serverVersion: version });
    undo.push(() => pool.stop());

    const services: Services = { pool: pool.service, auth, version };
    setServices(services);
    const log = createLog('http');
    const agents = createAgentEndpoint(pool, auth, log);
    undo.push(() => agents.close());
    const pages = env.ui
      ? await createPages({ root: env.root, host: env.host, port: listener.port })
      : noPages;
    const isReady = (): Promise<boolean> =>
      db.ping().then(
        () => true,
        () => false,
      );
    const routes = createRoutes({
      services,
      metrics: createMetrics(pool),
      pages,
      publicUrl: env.publicUrl,
      isReady,
      log,
    });
    listener.serve(routes, (request, socket, head) => {
      if ((request.url ?? '').split('?', 1)[0] === '/agent') agents.upgrade(request, socket, head);
      else socket.destroy();
    });
    return { url: listener.url, firstStart, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function readVersion(root: string): string {
  const value: unknown = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  return typeof value === 'object' && value !== null && 'version' in value
    ? String(value.version)
    : 'unknown';
}
