import { homedir, userInfo } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { SluiceError } from '../errors';

/**
 * The environment of this process as typed values, parsed once. This module is
 * the only reader of process.env in server code.
 *
 * @throws SluiceError ENVIRONMENT_INVALID naming every variable that is wrong.
 */
export function getEnv(): Env {
  cached ??= parseEnv(process.env);
  return cached;
}

/** Parses a set of variables; an empty value counts as missing. */
export function parseEnv(source: Readonly<Record<string, string | undefined>>): Env {
  const present = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== ''));
  const parsed = variables.safeParse(present);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new SluiceError('ENVIRONMENT_INVALID', `The environment is not usable: ${wrong.join('; ')}.`);
  }
  return shape(parsed.data);
}

const port = z.coerce.number('must be a port number').int().min(1).max(65535);
const flag = z
  .enum(['1', '0', 'true', 'false', 'on', 'off', 'yes', 'no'])
  .transform((value) => TRUE.has(value));
const TRUE = new Set(['1', 'true', 'on', 'yes']);

const variables = z.object({
  SLUICE_ROOT: z.string().optional(),
  SLUICE_HOST: z.string().default('127.0.0.1'),
  SLUICE_PORT: port.default(3000),
  SLUICE_PUBLIC_URL: z.url().optional(),
  SLUICE_DATA_DIR: z.string().default('.sluice'),
  SLUICE_UI: flag.default(true),
  SLUICE_AUTH_SECRET: z.string().min(32, 'must have at least 32 characters').optional(),
  SLUICE_WRITE_CREDENTIALS: flag.default(false),
  SLUICE_CREDENTIALS: z.string().optional(),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must start with postgresql://')
    .optional(),

  SLUICE_URL: z.url().optional(),
  SLUICE_TOKEN: z.string().optional(),
  SLUICE_TOKEN_FILE: z.string().optional(),
  SLUICE_GRANT: z.string().optional(),
  SLUICE_GRANT_FILE: z.string().optional(),

  SLUICE_DATA_PORT: port.default(56001),
  SLUICE_DATA_ADDRESS: z.string().optional(),
  SLUICE_TLS: flag.default(true),
  SLUICE_SOFTGPU: z.string().optional(),
  SLUICE_SOFTGPU_DIR: z.string().optional(),
  SLUICE_DRIVER: z.string().optional(),
  SLUICE_NATIVE_DIR: z.string().optional(),

  SLUICE_LOG: z.enum(['error', 'warn', 'info', 'debug']).default('info'),
  SLUICE_COMMIT: z.string().optional(),
  NODE_ENV: z.string().optional(),
  NO_COLOR: z.string().optional(),
  LD_LIBRARY_PATH: z.string().optional(),
  XDG_CONFIG_HOME: z.string().optional(),
  HOME: z.string().optional(),
  USER: z.string().optional(),
});

/** Absolute paths, parsed switches, and defaults that depend on other variables. */
function shape(v: z.infer<typeof variables>) {
  const root = path.resolve(v.SLUICE_ROOT ?? process.cwd());
  const home = v.HOME ?? homedir();
  return {
    /** The project's root: migrations, the built UI and the native build are found from here. */
    root,
    host: v.SLUICE_HOST,
    port: v.SLUICE_PORT,
    /** How browsers reach this server, when that is not host and port (a proxy in front). */
    publicUrl: v.SLUICE_PUBLIC_URL ?? null,
    dataDir: path.resolve(root, v.SLUICE_DATA_DIR),
    ui: v.SLUICE_UI,
    authSecret: v.SLUICE_AUTH_SECRET ?? null,
    writeCredentials: v.SLUICE_WRITE_CREDENTIALS,
    /** The command line's stored URL and token. */
    credentialsFile:
      v.SLUICE_CREDENTIALS ??
      path.join(v.XDG_CONFIG_HOME ?? path.join(home, '.config'), 'sluice', 'credentials.json'),
    databaseUrl: v.DATABASE_URL ?? null,

    /** SLUICE_URL as set; null when the stored credentials or the default decide. */
    urlOverride: v.SLUICE_URL ?? null,
    url: v.SLUICE_URL ?? 'http://127.0.0.1:3000',
    token: v.SLUICE_TOKEN ?? null,
    tokenFile: v.SLUICE_TOKEN_FILE ?? null,
    grant: v.SLUICE_GRANT ?? null,
    grantFile: v.SLUICE_GRANT_FILE ?? null,

    dataPort: v.SLUICE_DATA_PORT,
    dataAddress: v.SLUICE_DATA_ADDRESS ?? null,
    tls: v.SLUICE_TLS,
    softgpu: v.SLUICE_SOFTGPU ?? null,
    softgpuDir: v.SLUICE_SOFTGPU_DIR ?? null,
    driver: v.SLUICE_DRIVER ?? null,
    nativeDir: path.resolve(root, v.SLUICE_NATIVE_DIR ?? 'native/build'),

    logLevel: v.SLUICE_LOG,
    commit: v.SLUICE_COMMIT ?? null,
    production: v.NODE_ENV === 'production',
    noColor: v.NO_COLOR !== undefined,
    /** The caller's library path, to which the client libraries are prepended. */
    libraryPath: v.LD_LIBRARY_PATH ?? null,
    home,
    user: v.USER ?? userInfo().username,
  } as const;
}

export type Env = ReturnType<typeof shape>;

let cached: Env | undefined;
