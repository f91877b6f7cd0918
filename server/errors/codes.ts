// Every error code of the product, in one table. server/errors/README.md lists
// exactly these; a test compares the two. A retired code moves to
// retiredCodes below and is never used again for something else.

/** What the edges need to know about a code. `trpc` is the name tRPC uses for the HTTP status. */
export interface ErrorCodeInfo {
  readonly http: number;
  readonly trpc:
    | 'BAD_REQUEST'
    | 'UNAUTHORIZED'
    | 'FORBIDDEN'
    | 'NOT_FOUND'
    | 'CONFLICT'
    | 'PRECONDITION_FAILED'
    | 'TOO_MANY_REQUESTS'
    | 'CLIENT_CLOSED_REQUEST'
    | 'SERVICE_UNAVAILABLE'
    | 'GATEWAY_TIMEOUT'
    | 'INTERNAL_SERVER_ERROR';
  /** When it is thrown, and what the caller should do. */
  readonly doc: string;
}

export const errorCodes = {
  // Requests and identity
  INVALID_REQUEST: info(
    400,
    'BAD_REQUEST',
    'A field is missing or has a wrong value. Correct it and send it again.',
  ),
  SIGN_IN_REQUIRED: info(
    401,
    'UNAUTHORIZED',
    'Nobody is signed in and no token was sent. Sign in, or set SLUICE_TOKEN.',
  ),
  TOKEN_INVALID: info(401, 'UNAUTHORIZED', 'The token is unknown, revoked or expired. Make a new one.'),
  TOKEN_KIND_WRONG: info(
    403,
    'FORBIDDEN',
    'The token is of another kind than this place needs (user or agent).',
  ),
  ROLE_REQUIRED: info(403, 'FORBIDDEN', 'The role of the caller does not allow this. Ask an administrator.'),
  ORIGIN_REFUSED: info(403, 'FORBIDDEN', 'A browser sent the request from another site.'),
  RATE_LIMITED: info(429, 'TOO_MANY_REQUESTS', 'Too many attempts. Wait as long as the message says.'),
  REQUEST_ABORTED: info(
    499,
    'CLIENT_CLOSED_REQUEST',
    'The caller went away before the answer; what it asked for was given back.',
  ),

  // Things that are not there
  ALLOCATION_NOT_FOUND: info(404, 'NOT_FOUND', 'No allocation has this id.'),
  SERVER_NOT_FOUND: info(404, 'NOT_FOUND', 'No server of the pool has this id or address.'),
  TOKEN_NOT_FOUND: info(404, 'NOT_FOUND', 'No API token has this id.'),
  USER_NOT_FOUND: info(404, 'NOT_FOUND', 'No user has this id or e-mail address.'),

  // Allocating
  NO_SERVERS: info(
    503,
    'SERVICE_UNAVAILABLE',
    'No GPU server is connected. Start an agent, or wait until one is back.',
  ),
  GPU_COUNT_UNAVAILABLE: info(409, 'CONFLICT', 'No server has as many GPUs as asked for. Ask for fewer.'),
  GPU_MEMORY_UNAVAILABLE: info(409, 'CONFLICT', 'No GPU has as much memory as asked for. Ask for less.'),
  GPU_BUSY: info(409, 'CONFLICT', 'GPUs that would fit exist but are taken now. Wait, or ask for less.'),
  FILTER_UNKNOWN: info(400, 'BAD_REQUEST', 'A filter key or its value is not understood.'),
  FILTER_UNMATCHED: info(409, 'CONFLICT', 'No GPU of the pool matches the filters.'),
  GRANT_FAILED: info(
    503,
    'SERVICE_UNAVAILABLE',
    'The server with the GPU refused to prepare it; the allocation was given back.',
  ),
  GRANT_TIMEOUT: info(
    504,
    'GATEWAY_TIMEOUT',
    'The server with the GPU did not answer in time; the allocation was given back.',
  ),
  SERVER_UNREACHABLE: info(
    503,
    'SERVICE_UNAVAILABLE',
    'The server with the GPU is not connected now. Try again when it is back.',
  ),
  ALLOCATION_NOT_ACTIVE: info(409, 'CONFLICT', 'The allocation is ending or has ended. Ask for a new one.'),
  STALE_VERSION: info(409, 'CONFLICT', 'The allocation changed since the caller read it. Read it again.'),

  // Agents
  AGENT_MESSAGE_INVALID: info(
    400,
    'BAD_REQUEST',
    'An agent sent a message that does not fit the protocol; its connection is closed.',
  ),
  AGENT_PROTOCOL_MISMATCH: info(
    409,
    'PRECONDITION_FAILED',
    'Agent and control plane speak different protocol versions. Update the side named.',
  ),
  AGENT_IDENTITY_TAKEN: info(
    409,
    'CONFLICT',
    'Another agent already has this identity or one of these GPUs.',
  ),

  // The machine that runs a command
  CONTROL_PLANE_UNREACHABLE: info(
    503,
    'SERVICE_UNAVAILABLE',
    'The control plane does not answer at SLUICE_URL.',
  ),
  TOKEN_MISSING: info(
    401,
    'UNAUTHORIZED',
    'No token is configured for the command line. Run `sluice login` or set SLUICE_TOKEN.',
  ),
  GRANT_INVALID: info(400, 'BAD_REQUEST', 'SLUICE_GRANT or the file in SLUICE_GRANT_FILE is not a grant.'),
  NATIVE_MISSING: info(
    500,
    'INTERNAL_SERVER_ERROR',
    'The native libraries or the worker are not built. Run `npm start` once.',
  ),
  DRIVER_UNUSABLE: info(
    500,
    'INTERNAL_SERVER_ERROR',
    'The CUDA driver library cannot be loaded on this machine.',
  ),
  WORKER_FAILED: info(
    503,
    'SERVICE_UNAVAILABLE',
    'The worker of a GPU server could not be started or stopped answering.',
  ),

  // Running a server
  ENVIRONMENT_INVALID: info(500, 'INTERNAL_SERVER_ERROR', 'An environment variable has a wrong value.'),
  PORT_IN_USE: info(500, 'INTERNAL_SERVER_ERROR', 'The port is taken by another process. Set SLUICE_PORT.'),
  DATA_DIR_IN_USE: info(500, 'INTERNAL_SERVER_ERROR', 'Another server already runs on this data directory.'),
  DATABASE_UNAVAILABLE: info(
    503,
    'SERVICE_UNAVAILABLE',
    'The database does not answer. Nothing was changed.',
  ),
  MIGRATION_CHANGED: info(
    500,
    'INTERNAL_SERVER_ERROR',
    'A migration that was already applied has different text now.',
  ),
  DATABASE_NEWER: info(
    500,
    'INTERNAL_SERVER_ERROR',
    'The database was written by a newer version of the product.',
  ),
  INTERNAL: info(
    500,
    'INTERNAL_SERVER_ERROR',
    'Something that should not happen did. The log has the details under the same request id.',
  ),
} as const satisfies Record<string, ErrorCodeInfo>;

export type ErrorCode = keyof typeof errorCodes;

/** Codes that older versions used. They stay here so that none is ever given a second meaning. */
export const retiredCodes: readonly string[] = [];

function info(http: number, trpc: ErrorCodeInfo['trpc'], doc: string): ErrorCodeInfo {
  return { http, trpc, doc };
}
