import { list as auditList } from './audit/list';
import { me } from './auth/me';
import { get as allocationGet } from './allocations/get';
import { grant } from './allocations/grant';
import { list as allocationList } from './allocations/list';
import { release } from './allocations/release';
import { renew } from './allocations/renew';
import { request } from './allocations/request';
import { revoke as revokeAllocation } from './allocations/revoke';
import { stream } from './events/stream';
import { report } from './health/report';
import { cordon } from './servers/cordon';
import { get as serverGet } from './servers/get';
import { list as serverList } from './servers/list';
import { list as taskList } from './tasks/list';
import { pool } from './telemetry/pool';
import { recent } from './telemetry/recent';
import { create as tokenCreate } from './tokens/create';
import { list as tokenList } from './tokens/list';
import { revoke as revokeToken } from './tokens/revoke';
import { createCallerFactory, router } from './trpc';
import { create as userCreate } from './users/create';
import { list as userList } from './users/list';
import { setRole } from './users/setRole';

/** Names only; what a procedure does is in its file. */
export const appRouter = router({
  allocations: router({
    list: allocationList,
    get: allocationGet,
    request,
    grant,
    renew,
    release,
    revoke: revokeAllocation,
  }),
  audit: router({ list: auditList }),
  auth: router({ me }),
  events: router({ stream }),
  health: router({ report }),
  servers: router({ list: serverList, get: serverGet, cordon }),
  tasks: router({ list: taskList }),
  telemetry: router({ recent, pool }),
  tokens: router({ list: tokenList, create: tokenCreate, revoke: revokeToken }),
  users: router({ list: userList, create: userCreate, setRole }),
});

export type AppRouter = typeof appRouter;

/** For server components: calls procedures without HTTP, through the same ladder. */
export const createCaller = createCallerFactory(appRouter);
