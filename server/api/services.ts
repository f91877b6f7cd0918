import type { AuthService } from '../auth/service';
import type { PoolService } from '../pool/service';

/** The one set of services of this process. */
export interface Services {
  pool: PoolService;
  auth: AuthService;
  version: string;
}

declare global {
  // Next bundles its pages separately from the server, so a module-level
  // variable would exist twice; the global object exists once.
  var __sluice: Services | undefined;
}

/** The services for server components. @throws when the process is not the Sluice server. */
export function getServices(): Services {
  if (!globalThis.__sluice)
    throw new Error('The services are not started: pages are served by server/main.ts only.');
  return globalThis.__sluice;
}

/** Called once by server/main.ts. */
export function setServices(services: Services): void {
  globalThis.__sluice = services;
}
