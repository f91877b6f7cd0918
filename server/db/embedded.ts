import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { PrismaPGlite } from 'pglite-prisma-adapter';
import { SluiceError } from '../errors';
import { PrismaClient } from './client/client';
import { createDatabase, type Database } from './database';
import { migrate, type Migration } from './migrate';

/**
 * Opens the embedded PostgreSQL in `<dataDir>/database`, making it first when
 * there is none. The caller holds the lock of the data directory.
 *
 * @throws SluiceError DATABASE_UNAVAILABLE when it cannot be opened.
 */
export async function openEmbedded(dataDir: string, migrations: Migration[]): Promise<Database> {
  const folder = path.join(dataDir, 'database');
  removeHalfMade(dataDir);
  if (!existsSync(folder)) await initialise(dataDir, folder);
  const pglite = await open(folder);
  await migrate(
    {
      script: async (sql) => void (await pglite.exec(sql)),
      rows: async (sql, parameters) => (await pglite.query<Record<string, unknown>>(sql, parameters)).rows,
    },
    migrations,
  );
  const prisma = new PrismaClient({ adapter: new PrismaPGlite(pglite) });
  return createDatabase(prisma, {
    kind: 'embedded',
    // The adapter takes a failed COMMIT for a good one, so the outcome is asked for.
    verifyCommits: true,
    close: async () => {
      await prisma.$disconnect();
      await pglite.close();
    },
  });
}

/** Made aside and renamed: a crash in the middle leaves no half-made database under the final name. */
async function initialise(dataDir: string, folder: string): Promise<void> {
  const aside = path.join(dataDir, `${HALF_MADE}${process.pid}`);
  const pglite = await open(aside);
  await pglite.close();
  renameSync(aside, folder);
}

async function open(folder: string): Promise<PGlite> {
  try {
    const pglite = await PGlite.create(folder);
    await pglite.exec(`SET TIME ZONE 'UTC'`);
    return pglite;
  } catch (error) {
    throw new SluiceError('DATABASE_UNAVAILABLE', `The embedded database in ${folder} cannot be opened.`, {
      cause: error,
      hint: 'Is the disk full, or the folder not writable? Nothing was changed.',
    });
  }
}

function removeHalfMade(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith(HALF_MADE)) rmSync(path.join(dataDir, name), { recursive: true, force: true });
  }
}

const HALF_MADE = 'database.new-';
