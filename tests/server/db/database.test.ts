// The embedded database: started aside, locked, migrated once, and whole after kill -9.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lockDataDir } from '@/server/db/dataDirLock';
import type { Database } from '@/server/db/database';
import { openEmbedded } from '@/server/db/embedded';
import { readMigrations } from '@/server/db/migrate';
import { openDatabase } from '@/server/db/open';

const folder = (): string => mkdtempSync(path.join(tmpdir(), 'sluice-db-'));
const migrations = readMigrations('prisma/migrations');

let dataDir: string;
let db: Database;
beforeAll(async () => {
  dataDir = folder();
  db = await openDatabase({ root: process.cwd(), dataDir, databaseUrl: null });
});
afterAll(async () => {
  await db.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const write: Database['exclusive'] = (work) => db.exclusive(work);

describe('migrations', () => {
  test('the tables are what schema.prisma says', async () => {
    const rows = await db.queries.$queryRaw<{ table: string; column: string; nullable: string }[]>`
      SELECT table_name AS "table", column_name AS "column", is_nullable AS nullable
      FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'schema_migration'`;
    const inDatabase = rows.map((row) => `${row.table}.${row.column}${row.nullable === 'YES' ? '?' : ''}`);
    expect(inDatabase.sort()).toEqual(columnsOfSchema().sort());
  });

  test.each([
    ['changed text', [{ ...first(), checksum: 'other' }], 'MIGRATION_CHANGED'],
    ['a database of a newer version', [], 'DATABASE_NEWER'],
  ])('%s is refused', async (_, known, code) => {
    const copy = folder();
    await db.ping();
    cpSync(path.join(dataDir, 'database'), path.join(copy, 'database'), { recursive: true });
    await expect(openEmbedded(copy, known)).rejects.toMatchObject({ code });
    rmSync(copy, { recursive: true });
  });

  test('a migration that fails leaves nothing behind', async () => {
    const copy = folder();
    cpSync(path.join(dataDir, 'database'), path.join(copy, 'database'), { recursive: true });
    const broken = {
      name: '0002_broken.sql',
      sql: 'CREATE TABLE half (id int); SELECT broken;',
      checksum: 'x',
    };
    await expect(openEmbedded(copy, [...migrations, broken])).rejects.toThrow(/broken/);
    const again = await openEmbedded(copy, migrations);
    expect(await again.queries.$queryRaw`SELECT to_regclass('half')::text AS half`).toEqual([{ half: null }]);
    await again.close();
    rmSync(copy, { recursive: true });
  });
});

test('what a crash left of a first start is cleared away', async () => {
  const copy = folder();
  mkdirSync(path.join(copy, 'database.new-1'));
  writeFileSync(path.join(copy, 'database.new-1', 'PG_VERSION'), 'half');
  const fresh = await openEmbedded(copy, migrations);
  await fresh.close();
  expect(readdirSync(copy)).toEqual(['database']);
  rmSync(copy, { recursive: true });
});

describe('the exclusive section', () => {
  test('no two overlap', async () => {
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 20 }, () =>
        write(async (queries) => {
          inside += 1;
          most = Math.max(most, inside);
          await queries.$queryRaw`SELECT 1`;
          inside -= 1;
        }),
      ),
    );
    expect(most).toBe(1);
  });

  test('what throws changes nothing, and the next one works', async () => {
    const token = { id: 'x', name: 'x', kind: 'user', hash: 'h', prefix: 'p' };
    const failing = write(async (queries) => {
      await queries.apiToken.create({ data: token });
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await db.queries.apiToken.count()).toBe(0);
    await write((queries) => queries.apiToken.create({ data: token }));
    expect(await db.queries.apiToken.count()).toBe(1);
  });
});

describe('what the database itself refuses', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['changing the audit log', () => db.queries.$executeRaw`UPDATE audit_event SET action = 'x'`],
    ['emptying it', () => db.queries.$executeRaw`DELETE FROM audit_event`],
    [
      'an allocation that is releasing to nowhere',
      () => db.queries
        .$executeRaw`INSERT INTO allocation (id, state, version, "userEmail", "storedKey", "leaseSeconds", "createdAt")
        VALUES ('a', 'releasing', 1, 'u', ${'a'.repeat(64)}, 60, now())`,
    ],
  ])('%s', async (_, attempt) => {
    await db.queries.$executeRaw`INSERT INTO audit_event (at, "actorKind", "actorName", action, subject)
      VALUES (now(), 'system', 's', 'a', 's')`;
    await expect(attempt()).rejects.toThrow();
  });
});

describe('the lock of the data directory', () => {
  test('names the process that holds it, and is given back', () => {
    const dir = folder();
    const unlock = lockDataDir(dir);
    expect(() => lockDataDir(dir)).toThrow(`already running on ${dir} (pid ${process.pid})`);
    unlock();
    lockDataDir(dir)();
    rmSync(dir, { recursive: true });
  });

  test.each([
    ['a process that is gone', () => JSON.stringify({ pid: spawnSync('true').pid, startedAt: 'boot/1' })],
    ['a pid that somebody else has now', () => JSON.stringify({ pid: process.pid, startedAt: 'boot/1' })],
    ['half a file', () => '{"pid":'],
  ])('of %s is taken over', (_, content) => {
    const dir = folder();
    writeFileSync(path.join(dir, 'server.lock'), content());
    lockDataDir(dir)();
    expect(existsSync(path.join(dir, 'server.lock'))).toBe(false);
    rmSync(dir, { recursive: true });
  });
});

function first() {
  const [migration] = migrations;
  if (!migration) throw new Error('there are no migrations');
  return migration;
}

/** "table.column", with a question mark when it may be null, of every scalar field in schema.prisma. */
function columnsOfSchema(): string[] {
  const text = readFileSync('prisma/schema.prisma', 'utf8');
  const models = [...text.matchAll(/^model (\w+) \{\n(.*?)^\}/gms)];
  const names = new Set(models.map(([, name]) => name));
  return models.flatMap(([, , body = '']) => {
    const table = /@@map\("(\w+)"\)/.exec(body)?.[1];
    return [...body.matchAll(/^ {2}(\w+)\s+(\w+)(\[\])?(\?)?/gm)]
      .filter(([, , type]) => !names.has(type))
      .map(([, field, , , optional]) => `${table}.${field}${optional ?? ''}`);
  });
}
