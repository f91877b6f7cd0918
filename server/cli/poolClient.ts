// The control plane's API for commands. Its types come from the server's router; nothing of the server runs here.
import { TRPCClientError, createTRPCClient, httpBatchLink } from '@trpc/client';
import superjson from 'superjson';
import type { AppRouter } from '../api/root';
import { SluiceError, isErrorCode } from '../errors';
import { needCredentials } from './credentials';
import { CliFailure } from './failure';

export interface PoolClient {
  readonly url: string;
  readonly api: ReturnType<typeof createTRPCClient<AppRouter>>;
}

type Authorization = { readonly token: string } | { readonly cookie: string };

/** The pool of the configured server. Calls throw what `explain` understands. */
export function connectPool(): PoolClient {
  const { url, token } = needCredentials();
  return poolClient(url, { token });
}

/** As connectPool, for something that came from the server at `url`. Throws CliFailure when another is configured. */
export function connectPoolAt(url: string): PoolClient {
  const pool = connectPool();
  if (pool.url === url) return pool;
  throw new CliFailure(
    `The allocation belongs to the Sluice server at ${url}, but the one configured is ${pool.url}.`,
    `Set SLUICE_URL=${url}.`,
  );
}

/** A pool client for an address and a proof of who calls. */
export function poolClient(url: string, authorization: Authorization): PoolClient {
  const headers =
    'token' in authorization
      ? { authorization: `Bearer ${authorization.token}` }
      : { cookie: authorization.cookie, origin: new URL(url).origin };
  const link = httpBatchLink({
    url: `${url}/api/trpc`,
    transformer: superjson,
    headers,
    fetch: (input, init) => fetchApi(url, input, init),
  });
  return { url, api: createTRPCClient<AppRouter>({ links: [link] }) };
}

/** Any error of an API call as a SluiceError: what the server said, or why it could not say anything. */
export function explain(error: unknown): unknown {
  if (!(error instanceof TRPCClientError)) return error;
  if (error.cause instanceof SluiceError) return error.cause;
  const said: unknown = (error.data as { sluice?: unknown } | undefined)?.sluice;
  if (isWireError(said)) {
    const code = isErrorCode(said.code) ? said.code : 'INTERNAL';
    return new SluiceError(code, said.message, {
      hint: ownHints[code] ?? said.hint ?? hints[code] ?? null,
      cause: error,
    });
  }
  return new SluiceError(
    'CONTROL_PLANE_UNREACHABLE',
    `The answer is not that of a Sluice server: ${error.message}.`,
    {
      hint: 'Check SLUICE_URL, and that the server is of the same version as this command (`sluice version`).',
      cause: error,
    },
  );
}

/** The code of an API call's error; null when it is another kind of error. */
export function errorCode(error: unknown): string | null {
  const explained = explain(error);
  return explained instanceof SluiceError ? explained.code : null;
}

/** What to do on the command line where that is something else than elsewhere. */
const ownHints: Partial<Record<string, string>> = {
  TOKEN_INVALID: 'Run `sluice login`, or set SLUICE_TOKEN to a valid token.',
};

/** What to do where the server does not say it. */
const hints: Partial<Record<string, string>> = {
  GPU_COUNT_UNAVAILABLE: 'See `sluice list_gpus` and ask for fewer with -n.',
  GPU_MEMORY_UNAVAILABLE: 'See `sluice list_gpus` and ask for less with -m or -p.',
  GPU_BUSY: 'See `sluice list_gpus`, ask for less, or wait for it with --timeout SECONDS.',
  NO_SERVERS: 'Start an agent on a GPU host with `sluice agent`, and see `sluice health`.',
  SERVER_UNREACHABLE: 'See `sluice health`.',
};

async function fetchApi(
  url: string,
  input: Parameters<typeof fetch>[0] | URL,
  init?: unknown,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(input, init as RequestInit);
  } catch (error) {
    if ((init as RequestInit | undefined)?.signal?.aborted === true) throw error;
    throw new SluiceError(
      'CONTROL_PLANE_UNREACHABLE',
      `The Sluice server at ${url} does not answer (${networkReason(error)}).`,
      {
        hint: 'Start one with `npm start` or `sluice server`, or set SLUICE_URL to the address of one that runs.',
        cause: error,
      },
    );
  }
  if (response.headers.get('content-type')?.includes('json') !== true) {
    throw new SluiceError(
      'CONTROL_PLANE_UNREACHABLE',
      `What answers at ${url} is not a Sluice server (HTTP status ${response.status}).`,
      {
        hint: 'Set SLUICE_URL to the address of a Sluice server.',
      },
    );
  }
  return response;
}

function networkReason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null;
  if (cause instanceof Error)
    return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
  return error instanceof Error ? error.message : String(error);
}

function isWireError(value: unknown): value is { code: string; message: string; hint: string | null } {
  return typeof value === 'object' && value !== null && 'code' in value && 'message' in value;
}
