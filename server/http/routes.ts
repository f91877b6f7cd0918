import type { IncomingMessage, ServerResponse } from 'node:http';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';
import type { Registry } from 'prom-client';
import { createContext } from '../api/context';
import { appRouter } from '../api/root';
import type { Services } from '../api/services';
import { toSluiceError } from '../errors';
import type { Logger } from '../log';
import {
  answerError,
  answerJson,
  refuseOtherOrigin,
  setSecurityHeaders,
  stampAddress,
  webHeaders,
} from './answers';
import type { PageHandler } from './pages';
import { handleSignIn } from './signIn';

export interface RouteOptions {
  services: Services;
  metrics: Registry;
  pages: PageHandler;
  publicUrl: string | null;
  /** The database answers and the state is loaded. */
  isReady(): Promise<boolean>;
  log: Logger;
}

/** Which part of the server answers which path. */
export function createRoutes(
  options: RouteOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  const trpc = createHTTPHandler({
    basePath: '/api/trpc/',
    router: appRouter,
    createContext: ({ req }) =>
      createContext(
        options.services,
        webHeaders(req),
        req.socket.remoteAddress?.replace(/^::ffff:/, '') ?? null,
      ),
    maxBodySize: 1024 * 1024,
  });

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request);
    if (path === '/healthz') return answerJson(response, 200, { ok: true });
    if (path === '/readyz') return answerReady(options, response);
    if (path === '/metrics') return answerMetrics(options.metrics, response);
    if (path === '/agent')
      return answerJson(response, 426, { error: 'Agents connect here with a WebSocket.' });
    if (path.startsWith('/api/trpc/')) {
      refuseOtherOrigin(request, options.publicUrl);
      return trpc(request, response);
    }
    if (path.startsWith('/api/auth/')) return handleSignIn(options.services.auth, request, response);
    return options.pages(request, response);
  }

  return (request, response) => {
    stampAddress(request);
    setSecurityHeaders(response);
    route(request, response).catch((error: unknown) => {
      const known = toSluiceError(error);
      if (known.code === 'INTERNAL') options.log.error({ error, path: pathOf(request) }, 'a request failed');
      answerError(response, known);
    });
  };
}

/** Without the query, which may hold what should not be in a log. */
function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/';
}

async function answerReady(options: RouteOptions, response: ServerResponse): Promise<void> {
  const ready = await options.isReady();
  answerJson(response, ready ? 200 : 503, { ready });
}

async function answerMetrics(metrics: Registry, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': metrics.contentType });
  response.end(await metrics.metrics());
}
