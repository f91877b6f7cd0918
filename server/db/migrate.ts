import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { SluiceError } from '../errors';

/** One connection on which scripts run; both databases give one. */
export interface MigrationConnection {
  /** Runs a script of several statements, without parameters. */
  script(sql: string): Promise<void>;
  rows(sql: string, parameters?: unknown[]): Promise<Record<string, unknown>[]>;
}

export interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

/**
 * Brings the database to the newest schema: applies the migrations it lacks,
 * in order, all in one transaction, so that a crash leaves it as it was.
 *
 * @returns the names that were applied.
 * @throws SluiceError MIGRATION_CHANGED, DATABASE_NEWER.
 */
export async function migrate(connection: MigrationConnection, migrations: Migration[]): Promise<string[]> {
  await connection.script('BEGIN');
  try {
    // Two replicas that start at once: the second waits and then finds nothing to do.
    await connection.rows('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await connection.script(CREATE_TABLE);
    const applied = await connection.rows('SELECT name, checksum FROM schema_migration ORDER BY name');
    const missing = missingMigrations(migrations, applied);
    for (const migration of missing) {
      await connection.script(migration.sql);
      await connection.rows('INSERT INTO schema_migration (name, checksum) VALUES ($1, $2)', [
        migration.name,
        migration.checksum,
      ]);
    }
    await connection.script('COMMIT');
    return missing.map((migration) => migration.name);
  } catch (error) {
    await connection.script('ROLLBACK');
    throw error;
  }
}

/** Reads <n>_<name>.sql from a folder, in order of name. */
export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((name) => {
      const sql = readFileSync(path.join(folder, name), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}

function missingMigrations(migrations: Migration[], applied: Record<string, unknown>[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const { name, checksum } of applied) {
    const migration = known.get(String(name));
    if (!migration) {
      throw new SluiceError(
        'DATABASE_NEWER',
        `The database has the migration ${String(name)}, which this version does not know.`,
        {
          hint: 'Start the version that wrote it, or a newer one.',
        },
      );
    }
    if (migration.checksum !== checksum) {
      throw new SluiceError(
        'MIGRATION_CHANGED',
        `The migration ${migration.name} was applied with different text.`,
        {
          hint: 'Restore the file; put changes into a new migration.',
        },
      );
    }
  }
  const done = new Set(applied.map((row) => String(row.name)));
  return migrations.filter((migration) => !done.has(migration.name));
}

const MIGRATION_LOCK = 7_301_001;

const CREATE_TABLE = `
  CREATE TABLE IF NOT EXISTS schema_migration (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    "appliedAt" timestamptz(3) NOT NULL DEFAULT now()
  )`;
