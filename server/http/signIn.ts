import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthService } from '../auth/service';
import { SluiceError } from '../errors';
import { webHeaders } from './answers';

/** Hands a request under /api/auth to sign-in and its answer back. */
export async function handleSignIn(
  auth: AuthService,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = `http://${request.headers.host ?? 'localhost'}${request.url ?? '/'}`;
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  const answer = await auth.handleHttp(
    new Request(url, {
      method: request.method,
      headers: webHeaders(request),
      body: hasBody ? await readBody(request) : undefined,
    }),
  );
  for (const [name, value] of answer.headers) if (name !== 'set-cookie') response.setHeader(name, value);
  const cookies = answer.headers.getSetCookie();
  if (cookies.length > 0) response.setHeader('set-cookie', cookies);
  response.writeHead(answer.status);
  response.end(Buffer.from(await answer.arrayBuffer()));
}

/** Sign-in forms are small; more is somebody filling our memory. */
const MAX_BODY_BYTES = 64 * 1024;

async function readBody(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new SluiceError('INVALID_REQUEST', 'The request is too large.');
    parts.push(part);
  }
  return Buffer.concat(parts);
}
