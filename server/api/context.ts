import type { Actor, Caller } from '../auth/service';
import { toTrpcError } from './mapErrors';
import { getServices, type Services } from './services';

/** What every procedure gets. */
export interface Context {
  services: Services;
  caller: Caller | null;
  /** Network address of the caller, for the audit log. */
  address: string | null;
}

/** Finds out who asks. @throws TRPCError with TOKEN_INVALID or TOKEN_KIND_WRONG as its SluiceError. */
export async function createContext(
  services: Services,
  headers: Headers,
  address: string | null,
): Promise<Context> {
  try {
    return { services, caller: await services.auth.resolveCaller(headers), address };
  } catch (error) {
    throw toTrpcError(error);
  }
}

/** For server components: the caller comes from the page request's headers. */
export async function createPageContext(headers: Headers): Promise<Context> {
  return createContext(getServices(), headers, headers.get('x-sluice-client-address'));
}

/** The caller as the audit log names them. */
export function actorOf(caller: Caller, address: string | null): Actor {
  return { kind: 'user', id: caller.userId, name: caller.email, role: caller.role, address };
}
