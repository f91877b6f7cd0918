import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { SluiceError } from '../errors';
import { answerJson } from './answers';

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;
type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** A port that is ours, first without anything behind it. */
export interface Listener {
  /** http://host:port under which this machine reaches it. */
  url: string;
  port: number;
  serve(onRequest: RequestHandler, onUpgrade: UpgradeHandler): void;
  close(): Promise<void>;
}

/**
 * Takes the port before anything else is started, so that a taken one is told at once.
 *
 * @throws PORT_IN_USE
 */
export async function listen(host: string, port: number): Promise<Listener> {
  let onRequest: RequestHandler = (_request, response) => {
    response.setHeader('retry-after', '1');
    answerJson(response, 503, { ready: false });
  };
  let onUpgrade: UpgradeHandler = (_request, socket) => {
    socket.end('HTTP/1.1 503 Starting\r\nretry-after: 1\r\nconnection: close\r\n\r\n');
  };
  const server = createServer((request, response) => onRequest(request, response));
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    onUpgrade(request, socket, head),
  );
  await bind(server, host, port);
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;

  return {
    url: `http://${reachable(host)}:${bound}`,
    port: bound,
    serve(request, upgrade) {
      onRequest = request;
      onUpgrade = upgrade;
    },
    close() {
      // Event streams would keep it open for ever.
      const timer = setTimeout(() => server.closeAllConnections(), 1_000);
      return new Promise((resolve) => {
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
        server.closeIdleConnections();
      });
    },
  };
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, host, port)));
    server.listen(port, host, resolve);
  });
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') {
    return new SluiceError('PORT_IN_USE', `Port ${port} is in use by another process.`, {
      hint: 'Stop that process, or set SLUICE_PORT to a free port.',
      cause: error,
    });
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'EACCES' || error.code === 'ENOTFOUND') {
    return new SluiceError(
      'ENVIRONMENT_INVALID',
      `This machine cannot listen on ${host}:${port} (${error.code}).`,
      {
        hint: 'Set SLUICE_HOST and SLUICE_PORT to an address and port that this user may use.',
        cause: error,
      },
    );
  }
  return error;
}

/** "Everywhere" is no address to connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
