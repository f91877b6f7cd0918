import pino, { type Logger } from 'pino';
import { getEnv } from '../env';

export type { Logger };

/**
 * The log of one part of the product ("pool", "agent", …): JSON lines on
 * stderr, so that stdout stays free for what a command prints. The level is SLUICE_LOG.
 */
export function createLog(part: string): Logger {
  root ??= pino(
    {
      base: null,
      level: getEnv().logLevel,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: pino.stdSerializers.err },
      redact: { paths: REDACTED, censor: '[redacted]' },
    },
    pino.destination({ fd: 2, sync: true }),
  );
  return root.child({ part });
}

/** Fields that may hold something secret, at the top level and one level down. */
const REDACTED = ['secret', 'token', 'password', 'storedKey', 'authorization', 'cookie'].flatMap((name) => [
  name,
  `*.${name}`,
]);

let root: Logger | undefined;
