import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadAgentId, takeDataDir } from '@/server/agent/identity';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'sluice-identity-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('the identity stays, and differs from folder to folder', () => {
  const other = mkdtempSync(join(tmpdir(), 'sluice-identity-'));
  const id = loadAgentId(folder);
  expect(id).toMatch(/^agent-[0-9a-f]{32}$/);
  expect(loadAgentId(folder)).toBe(id);
  expect(loadAgentId(other)).not.toBe(id);
  rmSync(other, { recursive: true });
});

test('its key is readable for its owner only', () => {
  loadAgentId(folder);
  expect(statSync(join(folder, 'identity-key.pem')).mode & 0o777).toBe(0o600);
});

test('a data folder belongs to one agent, and the second is told which process has it', async () => {
  await takeDataDir(folder);
  await expect(takeDataDir(folder)).rejects.toMatchObject({
    code: 'DATA_DIR_IN_USE',
    message: expect.stringContaining(`process ${process.pid}`),
  });
});
