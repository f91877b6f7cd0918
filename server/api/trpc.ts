// The ladder of procedures. Each step narrows the context:
// 1. publicProcedure: anybody.
// 2. authenticated: somebody is signed in or sent a good token; ctx.caller and ctx.actor are there.
// 3. viewer, user, operator, admin: authenticated with at least that role.
import { initTRPC } from '@trpc/server';
import superjson from 'superjson';
import { roleIncludes, type Role } from '../auth/roles';
import { SluiceError } from '../errors';
import { actorOf, type Context } from './context';
import { mapErrors, wireErrorOf } from './mapErrors';

const t = initTRPC.context<Context>().create({
  transformer: superjson,
  errorFormatter: ({ shape, error }) => ({
    ...shape,
    message: wireErrorOf(error).message,
    data: {
      code: shape.data.code,
      httpStatus: shape.data.httpStatus,
      path: shape.data.path,
      sluice: wireErrorOf(error),
    },
  }),
  sse: {
    // Below the client's limit, so that an idle stream is not taken for a dead one.
    ping: { enabled: true, intervalMs: 10_000 },
    client: { reconnectAfterInactivityMs: 25_000 },
  },
});

export const router = t.router;
export const createCallerFactory = t.createCallerFactory;

export const publicProcedure = t.procedure.use(async ({ next, path, type }) =>
  mapErrors(await next(), path, type),
);

export const authenticated = publicProcedure.use(({ ctx, next }) => {
  if (!ctx.caller) {
    throw new SluiceError('SIGN_IN_REQUIRED', 'Sign in first.', {
      hint: 'On the command line: `sluice login`, or set SLUICE_TOKEN.',
    });
  }
  return next({ ctx: { ...ctx, caller: ctx.caller, actor: actorOf(ctx.caller, ctx.address) } });
});

export const viewer = withRole('viewer');
export const user = withRole('user');
export const operator = withRole('operator');
export const admin = withRole('admin');

function withRole(needed: Role) {
  return authenticated.use(({ ctx, next }) => {
    if (!roleIncludes(ctx.caller.role, needed)) {
      throw new SluiceError(
        'ROLE_REQUIRED',
        `This needs the role "${needed}"; ${ctx.caller.email} is "${ctx.caller.role}".`,
        {
          hint: 'An administrator can change the role.',
        },
      );
    }
    return next();
  });
}
