import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { AuthService } from '../auth/service';
import { toSluiceError, type SluiceError } from '../errors';
import type { Logger } from '../log';
import type { AgentLink } from '../pool/live/live';
import type { Pool } from '../pool/create';

/** A host with 16 GPUs and hundreds of programs sends some 100 KiB. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** An agent that does not read is cut off rather than kept in memory. */
const MAX_UNSENT_BYTES = 16 * 1024 * 1024;
const TOKEN_CHECK_MS = 10_000;

/** The WebSocket side of /agent. */
export interface AgentEndpoint {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  close(): Promise<void>;
}

export function createAgentEndpoint(pool: Pool, auth: AuthService, log: Logger): AgentEndpoint {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  /** Open connections with the token each came with, to cut off those whose token is revoked. */
  const open = new Map<WebSocket, { link: AgentLink; tokenId: string }>();
  const timer = setInterval(() => void dropRevoked(open, auth, log), TOKEN_CHECK_MS);

  async function accept(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    try {
      const token = await auth.resolveAgent(request.headers.authorization ?? null);
      sockets.handleUpgrade(request, socket, head, (ws) => {
        const link = linkOf(ws);
        open.set(ws, { link, tokenId: token.tokenId });
        const identity = {
          ...token,
          address: request.socket.remoteAddress ?? null,
          isTokenValid: auth.isTokenValid,
        };
        const connection = pool.connectAgent(link, identity);
        ws.on('message', (data, binary) => {
          if (binary) link.refuse('AGENT_MESSAGE_INVALID', 'Messages are JSON text.');
          else connection.receive(data.toString());
        });
        ws.on('error', (error) => log.warn({ error: error.message }, 'a connection of an agent failed'));
        ws.on('close', () => {
          open.delete(ws);
          connection.closed();
        });
      });
    } catch (error) {
      const known = toSluiceError(error);
      if (known.code === 'INTERNAL') log.error({ error }, 'an agent could not be accepted');
      refuseUpgrade(socket, known);
    }
  }

  return {
    upgrade: (request, socket, head) => void accept(request, socket, head),
    async close() {
      clearInterval(timer);
      for (const ws of open.keys()) ws.close(1012, 'restarting');
      await new Promise<void>((resolve) => sockets.close(() => resolve()));
    },
  };
}

function linkOf(ws: WebSocket): AgentLink {
  const send: AgentLink['send'] = (message) => {
    if (ws.readyState !== WebSocket.OPEN) return;
    if (ws.bufferedAmount > MAX_UNSENT_BYTES) ws.terminate();
    else ws.send(JSON.stringify(message));
  };
  return {
    send,
    refuse(code, message) {
      if (ws.readyState !== WebSocket.OPEN) return;
      send({ type: 'refused', code, message });
      ws.close(1008, code);
      // A peer that does not answer the close is cut off.
      const timer = setTimeout(() => ws.terminate(), 1_000);
      ws.once('close', () => clearTimeout(timer));
    },
  };
}

async function dropRevoked(
  open: ReadonlyMap<WebSocket, { link: AgentLink; tokenId: string }>,
  auth: AuthService,
  log: Logger,
): Promise<void> {
  for (const { link, tokenId } of open.values()) {
    try {
      if (!(await auth.isTokenValid(tokenId)))
        link.refuse('TOKEN_INVALID', 'The token of this agent was revoked or expired.');
    } catch (error) {
      log.warn({ error }, 'the token of an agent could not be checked');
    }
  }
}

/** Before the upgrade there is no WebSocket to speak through: plain HTTP. */
function refuseUpgrade(socket: Duplex, error: SluiceError): void {
  const body = `${JSON.stringify({ error: error.toWire() })}\n`;
  socket.end(
    `HTTP/1.1 ${error.httpStatus} Refused\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
