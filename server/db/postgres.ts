import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { SluiceError } from '../errors';
import { PrismaClient } from './client/client';
import { createDatabase, type Database } from './database';
import { migrate, type Migration } from './migrate';

/**
 * Opens a PostgreSQL server.
 *
 * @throws SluiceError DATABASE_UNAVAILABLE when it does not answer.
 */
export async function openPostgres(url: string, migrations: Migration[]): Promise<Database> {
  await migrateOver(url, migrations);
  // Times are stored and read as UTC whatever the server's own zone is.
  const prisma = new PrismaClient({
    adapter: new PrismaPg({ connectionString: url, options: '-c timezone=UTC', max: 10 }),
  });
  return createDatabase(prisma, {
    kind: 'postgres',
    verifyCommits: false,
    close: () => prisma.$disconnect(),
  });
}

async function migrateOver(url: string, migrations: Migration[]): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
  } catch (error) {
    throw new SluiceError(
      'DATABASE_UNAVAILABLE',
      `The database in DATABASE_URL does not answer: ${describe(error)}.`,
      {
        cause: error,
        hint: 'Check that PostgreSQL runs and that host, user and password are right.',
      },
    );
  }
  try {
    await migrate(
      {
        script: async (sql) => void (await client.query(sql)),
        rows: async (sql, parameters) => (await client.query<Record<string, unknown>>(sql, parameters)).rows,
      },
      migrations,
    );
  } finally {
    await client.end();
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
