import type { IncomingMessage, ServerResponse } from 'node:http';
import { CLIENT_ADDRESS_HEADER } from '../auth/betterAuth';
import { SluiceError, type WireError } from '../errors';

/** Answers plain HTTP with an error in the shape that all of the product's interfaces use. */
export function answerError(response: ServerResponse, error: SluiceError): void {
  answerJson(response, error.httpStatus, { error: error.toWire() } satisfies { error: WireError });
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) {
    response.end();
    return;
  }
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(`${JSON.stringify(body)}\n`);
}

/**
 * Notes the peer's address in a header of our own, for rate limits and the
 * audit log. What a client sends under that name is overwritten.
 */
export function stampAddress(request: IncomingMessage): string {
  const address = request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? 'unknown';
  request.headers[CLIENT_ADDRESS_HEADER] = address;
  return address;
}

/** Node's headers as the web's. */
export function webHeaders(request: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (name.startsWith(':') || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
  }
  return headers;
}

/**
 * A browser names the site a request comes from. Another site's is refused, so
 * that it cannot act with the cookie of somebody who is signed in here.
 *
 * @throws ORIGIN_REFUSED
 */
export function refuseOtherOrigin(request: IncomingMessage, publicUrl: string | null): void {
  const { origin, host } = request.headers;
  if (origin === undefined || request.method === 'GET' || request.method === 'HEAD') return;
  const allowed = new Set([host, publicUrl === null ? undefined : new URL(publicUrl).host]);
  if (URL.canParse(origin) && allowed.has(new URL(origin).host)) return;
  throw new SluiceError('ORIGIN_REFUSED', 'The request comes from another site.', {
    hint: 'Open the dashboard under its own address, or set SLUICE_PUBLIC_URL.',
  });
}

/** For every answer: no sniffing, no framing, no address of ours in links to others. */
export function setSecurityHeaders(response: ServerResponse): void {
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('x-frame-options', 'DENY');
  response.setHeader('referrer-policy', 'same-origin');
  response.setHeader(
    'content-security-policy',
    "frame-ancestors 'none'; base-uri 'self'; form-action 'self'; object-src 'none'",
  );
}
