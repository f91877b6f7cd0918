// A first start makes an administrator, tokens and files that only their owner reads; later ones make nothing new.
import { mkdtempSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bootstrap, FIRST_ADMIN, readOrCreateSecret } from '@/server/auth/bootstrap';
import { createAuth } from '@/server/auth/create';
import type { AuthService } from '@/server/auth/service';
import type { Database } from '@/server/db/database';
import { openDatabase } from '@/server/db/open';

const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-auth-'));
const credentialsFile = path.join(dataDir, 'home', 'credentials.json');
const url = 'http://127.0.0.1:3000';
let db: Database;
let auth: AuthService;
beforeAll(async () => {
  db = await openDatabase({ root: process.cwd(), dataDir, databaseUrl: null });
  auth = createAuth({ db, secret: readOrCreateSecret(dataDir), baseUrl: url });
});
afterAll(async () => {
  await db.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const start = () => bootstrap({ db, auth, dataDir, url, credentialsFile });
const read = (name: string) => readFileSync(path.join(dataDir, name), 'utf8');

test('the first start', async () => {
  const first = await start();
  expect(first?.email).toBe(FIRST_ADMIN);
  expect(read('admin-password').trim()).toBe(first?.password);
  for (const file of ['admin-password', 'agent-token', 'auth-secret', 'home/credentials.json']) {
    expect(statSync(path.join(dataDir, file)).mode & 0o777, file).toBe(0o600);
  }
  const { token } = JSON.parse(readFileSync(credentialsFile, 'utf8')) as { token: string };
  const caller = await auth.resolveCaller(new Headers({ authorization: `Bearer ${token}` }));
  expect(caller).toMatchObject({ email: FIRST_ADMIN, role: 'admin', via: 'token' });
  expect(await auth.resolveAgent(`Bearer ${read('agent-token')}`)).toMatchObject({
    tokenName: 'agent of this machine',
  });
});

test('later starts make nothing', async () => {
  const before = [read('agent-token'), read('home/credentials.json'), read('auth-secret')];
  expect(await start()).toBeNull();
  expect([read('agent-token'), read('home/credentials.json'), readOrCreateSecret(dataDir)]).toEqual(before);
});

test.each(['agent-token', 'home/credentials.json'])(
  '%s is made again when it is gone or no longer good',
  async (name) => {
    unlinkSync(path.join(dataDir, name));
    await start();
    const made = read(name);
    writeFileSync(path.join(dataDir, name), 'nonsense');
    await start();
    expect(read(name)).not.toBe('nonsense');
    expect(read(name)).not.toBe(made);
  },
);

test('the last administrator stays one', async () => {
  const admin = (await auth.listUsers()).find((user) => user.email === FIRST_ADMIN);
  const actor = {
    kind: 'user',
    id: admin?.id ?? null,
    name: FIRST_ADMIN,
    role: 'admin',
    address: null,
  } as const;
  await expect(auth.setRole(actor, admin?.id ?? '', 'viewer')).rejects.toThrow(/only administrator/);
  const { user, password } = await auth.createUser(actor, {
    email: 'Two@Example.org',
    name: 'two',
    role: 'admin',
  });
  expect(user.email).toBe('two@example.org');
  expect(password?.length).toBeGreaterThan(15);
  expect((await auth.setRole(actor, admin?.id ?? '', 'viewer')).role).toBe('viewer');
});
