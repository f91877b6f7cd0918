import { betterAuth } from 'better-auth';
import { prismaAdapter } from 'better-auth/adapters/prisma';
import type { PrismaClient } from '../db/client/client';
import { createLog } from '../log';

/** Set by our HTTP server from the socket; what a client sends under this name is dropped. */
export const CLIENT_ADDRESS_HEADER = 'x-sluice-client-address';

/** Sign-in with e-mail and password and a session cookie. Users are made by administrators, never by themselves. */
export function createBetterAuth(options: { prisma: PrismaClient; secret: string; baseUrl: string }) {
  const log = createLog('auth');
  return betterAuth({
    appName: 'Sluice',
    baseURL: options.baseUrl,
    basePath: '/api/auth',
    secret: options.secret,
    database: prismaAdapter(options.prisma, { provider: 'postgresql' }),
    emailAndPassword: { enabled: true, disableSignUp: true, minPasswordLength: 8, maxPasswordLength: 128 },
    user: {
      additionalFields: { role: { type: 'string', required: false, input: false, defaultValue: 'viewer' } },
    },
    session: { expiresIn: 7 * 86_400, updateAge: 86_400 },
    // The pages come from this very server, under whatever name the browser knows it.
    trustedOrigins: (request) => sameOrigin(request),
    rateLimit: {
      enabled: true,
      window: 60,
      max: 300,
      customRules: { '/sign-in/email': { window: 60, max: 10 } },
      storage: 'memory',
    },
    advanced: {
      cookiePrefix: 'sluice',
      ipAddress: { ipAddressHeaders: [CLIENT_ADDRESS_HEADER] },
    },
    telemetry: { enabled: false },
    logger: {
      level: 'warn',
      log: (level, message) => log[level === 'error' ? 'error' : 'warn']({ source: 'better-auth' }, message),
    },
  });
}

export type BetterAuth = ReturnType<typeof createBetterAuth>;

function sameOrigin(request: Request | undefined): string[] {
  const host = request?.headers.get('host');
  return host ? [`http://${host}`, `https://${host}`] : [];
}
