// A pool without servers: every page says what to do next, and the command that it shows adds the first server.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort, startPool, type Pool } from '../integration/pool';
import { browserMissing, launchBrowser, openPage, signIn } from './browser';

if (browserMissing) console.warn(browserMissing);

const PHONE = { width: 390, height: 844 };

describe.skipIf(browserMissing)('a pool without servers', () => {
  let pool: Pool;
  let browser: Browser;
  let page: Page;
  let faults: string[];
  let agent: ReturnType<Pool['sluice']> | undefined;
  const agentDir = mkdtempSync(join(tmpdir(), 'sluice-first-server-'));

  beforeAll(async () => {
    pool = await startPool({ ui: true, agent: false });
    browser = await launchBrowser();
    ({ page, faults } = await openPage(browser));
    await page.goto(`${pool.url}/sign-in`);
    await signIn(page, pool.adminEmail, pool.adminPassword);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });
  afterAll(async () => {
    agent?.kill('SIGTERM');
    await agent;
    await browser?.close();
    await pool?.stop();
    rmSync(agentDir, { recursive: true, force: true });
  });

  test.each([
    ['/', 'The pool has no servers yet'],
    ['/servers', 'The pool has no servers yet'],
    ['/gpus', 'The pool has no servers yet'],
    ['/allocations', 'Nobody holds a GPU now'],
    ['/allocations?show=ended', 'No allocation has ended yet'],
    ['/allocations/new', 'No server of the pool is ready.'],
    ['/tasks', 'No program uses the pool now'],
    ['/tasks?show=finished', 'No program has finished yet'],
    ['/health', 'Control plane'],
    ['/servers/none', 'No server of the pool has this id'],
    ['/allocations/none', 'There is no allocation'],
    ['/nothing/here', 'There is no page at this address'],
  ])('%s says “%s”, and fits a phone', async (path, words) => {
    await page.goto(pool.url + path);
    await page.getByText(words).first().waitFor();
    await page.setViewportSize(PHONE);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.width);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test('the theme that was chosen stays', async () => {
    const isDark = () => page.evaluate(() => document.documentElement.classList.contains('dark'));
    for (const [name, dark] of [
      ['Dark', true],
      ['Light', false],
    ] as const) {
      await page.goto(pool.url);
      await page.getByRole('button', { name: /^Theme/ }).click();
      await page.getByRole('menuitemradio', { name }).click();
      expect(await isDark()).toBe(dark);
      await page.reload();
      expect(await isDark()).toBe(dark);
    }
  });

  test('the command on the page adds the first server, which appears by itself', async () => {
    await page.goto(pool.url);
    await page.getByRole('button', { name: 'Make a token for a server' }).click();
    const command = (await page.locator('code').filter({ hasText: 'bin/sluice agent' }).textContent()) ?? '';
    const [, url, token] = /^SLUICE_URL=(\S+) SLUICE_TOKEN=(\S+) bin\/sluice agent$/.exec(command) ?? [];
    expect(url).toBe(pool.url);

    agent = pool.sluice(['agent', '--data-dir', agentDir], {
      env: {
        ...pool.env,
        SLUICE_TOKEN: token,
        SLUICE_DATA_PORT: String(await freePort()),
        SLUICE_SOFTGPU: '1x(memory=2GiB,cc=10.0,sms=4)',
      },
    });
    await page.getByText('2.0 GiB in all').waitFor();
    await page.getByRole('link', { name: /^1\s*GPU$/ }).waitFor();
  });

  test('after signing out the pages are closed', async () => {
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.waitForURL(/\/sign-in$/);
    await page.goto(`${pool.url}/gpus`);
    await page.waitForURL(/\/sign-in\?next=%2Fgpus$/);
  });

  test('nothing went wrong inside the pages', () => {
    expect(faults).toEqual([]);
  });
});
