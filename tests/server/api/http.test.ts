// The server's paths over real HTTP: errors on the wire, sign-in, tokens, other sites, metrics, the event stream.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../pool/eventually';
import { startTestPool, type TestPool } from '../pool/testPool';

let it: TestPool;
beforeAll(async () => {
  it = await startTestPool();
});
afterAll(() => it.stop());

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${it.url}${path}`, { headers });
const as = (token: string) => ({ authorization: `Bearer ${token}` });
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${it.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

describe('errors of the API carry code, message and hint', () => {
  test.each([
    ['nobody', '/api/trpc/auth.me', () => ({}), 401, 'SIGN_IN_REQUIRED'],
    ['a wrong token', '/api/trpc/auth.me', () => as('sluice_user_wrong'), 401, 'TOKEN_INVALID'],
    ["an agent's token", '/api/trpc/auth.me', () => as(it.agentToken), 403, 'TOKEN_KIND_WRONG'],
    ['a role too low', '/api/trpc/users.list', () => as(it.tokens.user), 403, 'ROLE_REQUIRED'],
    ['a procedure that is not there', '/api/trpc/no.such', () => as(it.tokens.user), 404, 'INVALID_REQUEST'],
    ['a wrong input', '/api/trpc/servers.get', () => as(it.tokens.user), 400, 'INVALID_REQUEST'],
  ])('%s', async (_, path, headers, status, code) => {
    const response = await get(path, headers());
    expect(response.status).toBe(status);
    const body = (await response.json()) as { error: { json: { data: { sluice: unknown } } } };
    expect(body.error.json.data.sluice).toMatchObject({ code, message: expect.stringMatching(/\w/) });
    expect(JSON.stringify(body)).not.toContain('stack');
  });
});

test('a wrong field is named', async () => {
  const response = await post('/api/trpc/allocations.request', { json: { gpus: 0 } }, as(it.tokens.user));
  expect(await response.text()).toMatch(/gpus: must be at least 1/);
});

describe('sign-in', () => {
  const signIn = (password: string, headers = {}) =>
    post(
      '/api/auth/sign-in/email',
      { email: 'operator@example.org', password },
      { origin: it.url, ...headers },
    );

  test('gives a session cookie that the API takes', async () => {
    const response = await signIn('a good password');
    expect(response.status).toBe(200);
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(/HttpOnly.*SameSite=Lax/);
    const me = await get('/api/trpc/auth.me', { cookie: cookie.split(';')[0] ?? '' });
    expect(await me.text()).toMatch(/"role":"operator"/);
  });

  test('nobody makes a user for themself', async () => {
    const body = { email: 'me@example.org', password: 'a good password', name: 'me' };
    expect((await post('/api/auth/sign-up/email', body, { origin: it.url })).ok).toBe(false);
  });

  test('a request of another site with the cookie is refused', async () => {
    const response = await post('/api/trpc/tokens.create', {}, { origin: 'http://evil.example' });
    expect(response.status).toBe(403);
    expect(await response.text()).toMatch(/ORIGIN_REFUSED/);
  });

  test('is slowed down after ten attempts in a minute', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 12; i += 1) statuses.push((await signIn('wrong')).status);
    expect(statuses.at(-1)).toBe(429);
    expect(statuses).not.toContain(200);
  });
});

test('a revoked or expired token is refused like an unknown one', async () => {
  const userId = it.users.user.id ?? '';
  const expired = await it.auth.createToken(it.users.user, {
    name: 'short',
    kind: 'user',
    userId,
    expiresAt: it.clock.now() + 1000,
  });
  expect((await get('/api/trpc/auth.me', as(expired.token))).status).toBe(200);
  it.clock.advance(2_000);
  const afterwards = await (await get('/api/trpc/auth.me', as(expired.token))).text();
  expect(afterwards).toBe(await (await get('/api/trpc/auth.me', as('unknown'))).text());
});

test('tokens are stored as hashes only', async () => {
  const rows = await it.db.queries.$queryRaw<{ text: string }[]>`SELECT t::text AS text FROM api_token t`;
  expect(rows.some((row) => row.text.includes(it.tokens.user))).toBe(false);
});

test('/metrics: values are those of the API, and what is not told has no line', async () => {
  const agent = await it.agent();
  agent.sample([{ utilizationPercent: 37, memoryUsedMib: 100 }]);
  await eventually(
    () => it.pool.service.getServer(agent.id).gpus[0]?.utilizationPercent,
    (value) => value === 37,
  );
  const text = await (await get('/metrics')).text();
  const uuid = agent.gpus[0]?.uuid ?? '';
  const lines = text.split('\n').filter((line) => line.includes(uuid));
  expect(lines.find((line) => line.startsWith('DCGM_FI_DEV_GPU_UTIL{'))).toMatch(/ 37$/);
  expect(lines.find((line) => line.startsWith('DCGM_FI_DEV_FB_USED{'))).toMatch(/ 100$/);
  expect(lines.some((line) => line.startsWith('DCGM_FI_DEV_POWER_USAGE{'))).toBe(false);
  expect(text).toMatch(/^sluice_servers\{state="ready"\} \d+$/m);
});

test.each([
  ['/healthz', 200],
  ['/readyz', 200],
  ['/agent', 426],
  ['/', 404],
])('%s answers %i', async (path, status) => {
  const response = await get(path);
  expect(response.status).toBe(status);
  expect(response.headers.get('x-frame-options')).toBe('DENY');
});

describe('the event stream', () => {
  /** Reads events until `enough`. */
  async function read(
    query: string,
    enough: (text: string) => boolean,
    meanwhile: () => void = () => undefined,
  ) {
    const abort = new AbortController();
    const response = await fetch(`${it.url}/api/trpc/events.stream${query}`, {
      headers: as(it.tokens.viewer),
      signal: abort.signal,
    });
    let text = '';
    const decoder = new TextDecoder();
    const reader = response.body?.getReader();
    while (reader && !enough(text)) {
      const { value, done } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
      meanwhile();
    }
    abort.abort();
    return { text, response };
  }
  const lastId = (text: string) => [...text.matchAll(/^id: (\S+)$/gm)].at(-1)?.[1] ?? '';
  const resume = (id: string) =>
    `?input=${encodeURIComponent(JSON.stringify({ json: { lastEventId: id } }))}`;

  test('starts with everything, is not to be buffered, and tells changes', async () => {
    const agent = await it.agent();
    const { text, response } = await read(
      '',
      (all) => all.includes('"kind":"servers"'),
      () => {
        agent.sample();
        setImmediate(() => it.clock.advance(50));
      },
    );
    expect(response.headers.get('cache-control')).toMatch(/no-transform/);
    expect(text).toMatch(/"kind":"resync"/);
    expect(text).toContain(agent.id);
  });

  test('goes on after the last id, and gives everything anew when that is too old', async () => {
    const first = await read('', (all) => all.includes('"kind":"resync"') && lastId(all) !== '');
    const agent = await it.agent();
    it.clock.advance(50);
    const resumed = await read(resume(lastId(first.text)), (all) => all.includes(agent.id));
    expect(resumed.text).not.toMatch(/"kind":"resync"/);
    const stale = await read(resume('another-start.5'), (all) => lastId(all) !== '');
    expect(stale.text).toMatch(/"kind":"resync"/);
  });
});
