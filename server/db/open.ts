import path from 'node:path';
import type { Env } from '../env';
import type { Database } from './database';
import { openEmbedded } from './embedded';
import { readMigrations } from './migrate';
import { openPostgres } from './postgres';

/** The database of this installation: PostgreSQL when DATABASE_URL is set, the embedded one otherwise. */
export function openDatabase(env: Pick<Env, 'root' | 'dataDir' | 'databaseUrl'>): Promise<Database> {
  const migrations = readMigrations(path.join(env.root, 'prisma', 'migrations'));
  return env.databaseUrl ? openPostgres(env.databaseUrl, migrations) : openEmbedded(env.dataDir, migrations);
}
