import { SluiceError } from '../errors';
import type { Prisma, PrismaClient } from './client/client';

/** Queries inside or outside a transaction. */
export type Queries = Prisma.TransactionClient;

export interface Database {
  readonly kind: 'embedded' | 'postgres';
  readonly queries: Queries;
  /**
   * The client itself, for libraries that need one (better-auth).
   */
  readonly prisma: PrismaClient;
  /**
   * Runs `work` in a transaction that no other change of the pool overlaps,
   * in this process or in another replica. When it returns, the changes are durable.
   *
   * @throws what `work` throws (nothing is changed then), or DATABASE_UNAVAILABLE.
   */
  exclusive<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

interface DatabaseOptions {
  kind: Database['kind'];
  verifyCommits: boolean;
  close: () => Promise<void>;
}

export function createDatabase(prisma: PrismaClient, options: DatabaseOptions): Database {
  // One at a time in this process before the database is asked, so that a
  // hundred waiting requests do not each hold a connection.
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;

  return {
    kind: options.kind,
    queries: prisma,
    prisma,
    exclusive(work) {
      const turn = last.then(() => {
        if (closed) throw new SluiceError('DATABASE_UNAVAILABLE', 'The server is shutting down.');
        return runExclusive(prisma, options.verifyCommits, work);
      });
      last = turn.catch(() => undefined);
      return turn;
    },
    async ping() {
      await prisma.$queryRaw`SELECT 1`;
    },
    async close() {
      closed = true;
      await last;
      await options.close();
    },
  };
}

async function runExclusive<Result>(
  prisma: PrismaClient,
  verifyCommits: boolean,
  work: (queries: Queries) => Promise<Result>,
): Promise<Result> {
  let transactionId: string | null = null;
  const result = await prisma.$transaction(
    async (queries) => {
      await queries.$executeRaw`SELECT pg_advisory_xact_lock(${POOL_LOCK}::bigint)`;
      const value = await work(queries);
      if (verifyCommits) transactionId = await currentTransaction(queries);
      return value;
    },
    { maxWait: 30_000, timeout: 30_000 },
  );
  if (transactionId !== null) await confirmCommitted(prisma, transactionId);
  return result;
}

/** null when nothing was written, so that there is nothing to confirm. */
async function currentTransaction(queries: Queries): Promise<string | null> {
  const rows = await queries.$queryRaw<
    { id: string | null }[]
  >`SELECT pg_current_xact_id_if_assigned()::text AS id`;
  return rows[0]?.id ?? null;
}

async function confirmCommitted(prisma: PrismaClient, transactionId: string): Promise<void> {
  const rows = await prisma.$queryRaw<{ status: string | null }[]>`
    SELECT pg_xact_status(${transactionId}::text::xid8) AS status`;
  if (rows[0]?.status !== 'committed') {
    throw new SluiceError(
      'DATABASE_UNAVAILABLE',
      'The database could not write the change; nothing was changed.',
      {
        hint: 'Is the disk full?',
      },
    );
  }
}

const POOL_LOCK = 7_301_002;
