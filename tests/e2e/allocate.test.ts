// The main job seen from the browser: sign in, allocate a GPU by hand, watch a program use it, revoke it.
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startPool, type Pool } from '../integration/pool';
import { browserMissing, launchBrowser, openPage, signIn } from './browser';

if (browserMissing) console.warn(browserMissing);

const LIVE_MS = 20_000;

describe.skipIf(browserMissing)('an administrator and a program', () => {
  let pool: Pool;
  let browser: Browser;
  let page: Page;
  let faults: string[];
  let allocationId = '';
  let program: ReturnType<Pool['sluice']>;

  const gpuCard = (index: number) => page.getByRole('region', { name: `GPU ${index}`, exact: true });
  // Until the new page is there the old one can still be clicked, and both list allocations.
  const openFromSidebar = async (name: string) => {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
  };
  const memoryUsed = async (index: number) => {
    const label = await gpuCard(index)
      .getByRole('img', { name: /^Memory:/ })
      .getAttribute('aria-label');
    return label?.split(',')[0] ?? '';
  };

  beforeAll(async () => {
    pool = await startPool({ ui: true });
    browser = await launchBrowser();
    ({ page, faults } = await openPage(browser));
  });
  afterAll(async () => {
    program?.kill('SIGKILL');
    await browser?.close();
    await pool?.stop();
  });

  // Each step goes on from where the one before left the page.
  let broken = false;
  beforeEach((context) => context.skip(broken, 'a step before failed'));
  afterEach(async (context) => {
    if (context.task.result?.state !== 'fail') return;
    broken = true;
    await page.screenshot({ path: 'test-results/allocate.png' });
  });

  test('nobody gets in without the password, and the refusal is a sentence', async () => {
    await page.goto(`${pool.url}/servers`);
    await page.waitForURL(/\/sign-in\?next=%2Fservers$/);
    await signIn(page, pool.adminEmail, 'not the password');
    await page.getByText('No account has this e-mail address and password.').waitFor();
    await signIn(page, pool.adminEmail, pool.adminPassword);
    await page.getByRole('heading', { name: 'Servers', level: 1 }).waitFor();
    await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
  });

  test('the server and its two GPUs are there', async () => {
    const row = page.getByRole('table', { name: 'Servers' }).getByRole('row').nth(1);
    await row.getByText('ready').waitFor();
    await row.getByRole('link').click();
    await gpuCard(0).waitFor();
    await gpuCard(1).getByText('Nobody holds it.').waitFor();
    expect(await memoryUsed(1)).toBe('Memory: 0 MiB used');
    await gpuCard(1).getByText('/ 8.0 GiB').waitFor();
  });

  test('what cannot be had is said before it is asked for', async () => {
    await gpuCard(1).getByRole('link', { name: 'Allocate' }).click();
    await page.getByText('MiB', { exact: true }).click();
    const amount = page.getByLabel('MiB on each GPU');
    await amount.fill('9000');
    await page.getByText('The largest GPU has 8.0 GiB. Ask for 8192 MiB or less.').waitFor();
    await page.getByRole('button', { name: 'Allocate' }).click();
    await page.getByText('9000 MiB per GPU are asked for').waitFor();
    await amount.fill('2048');
    await page.getByText('The marked GPU would be taken.').waitFor();
  });

  test('an allocation by hand leads to the command that uses it', async () => {
    await page.getByLabel(/^Purpose/).fill('seen by a browser');
    await page.getByRole('button', { name: 'Allocate' }).click();
    await page.waitForURL(/\/allocations\/(?!new)[^/]+$/);
    allocationId = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await page.getByText(`bin/sluice client --allocation ${allocationId} -- <program>`).waitFor();
    await page.getByText('seen by a browser').waitFor();
  });

  test('the program shows up with its memory, and the chart moves', async () => {
    const matrixMul = join(pool.env.SLUICE_NATIVE_DIR ?? '', 'samples/matrix_mul');
    // Three matrices of 1 MiB each: the smallest use that the pool's whole MiB show.
    const command = [matrixMul, '--size', '512', '--seconds', '600'];
    program = pool.sluice(['client', '--allocation', allocationId, '--', ...command]);
    const row = page.getByRole('table', { name: 'Tasks' }).getByRole('row').filter({ hasText: 'matrix_mul' });
    await row.getByText('running').waitFor();

    await row.getByRole('link', { name: /GPU 1$/ }).click();
    await gpuCard(1).getByText('matrix_mul').waitFor();
    await expect.poll(() => memoryUsed(1), { timeout: LIVE_MS }).not.toBe('Memory: 0 MiB used');
    await gpuCard(1)
      .getByRole('img', { name: /now [1-9]\d* %$/ })
      .waitFor({ timeout: LIVE_MS });

    await openFromSidebar('Overview');
    const chart = page
      .getByRole('region', { name: /^Utilization of the pool/ })
      .locator('.recharts-area-area');
    const before = await chart.first().getAttribute('d');
    await expect.poll(() => chart.first().getAttribute('d'), { timeout: LIVE_MS }).not.toBe(before);
    await page
      .getByTestId('pool-utilization')
      .filter({ hasText: /^[1-9]\d* % now$/ })
      .waitFor({ timeout: LIVE_MS });
  });

  test('a revocation ends the program at once, with the reason, and proves the GPU free', async () => {
    await openFromSidebar('Allocations');
    await page
      .getByRole('row')
      .filter({ hasText: 'seen by a browser' })
      .getByRole('button', { name: 'Revoke' })
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('This program ends:').waitFor();
    await dialog.getByText('matrix_mul').waitFor();
    await dialog.getByLabel('Reason').fill('The GPU is needed for the demonstration');

    const asked = Date.now();
    await dialog.getByRole('button', { name: 'Revoke and end 1 program' }).click();
    const ended = await program;
    const tookMs = Date.now() - asked;

    expect(ended.exitCode).not.toBe(0);
    const sentences = String(ended.stderr)
      .split('\n')
      .filter((line) => line.includes('needed for the demonstration'));
    expect(sentences, `stderr: ${String(ended.stderr)}`).toHaveLength(1);
    expect(tookMs).toBeLessThan(2000);

    await dialog.getByText(/is free again$/).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    await openFromSidebar('Servers');
    await page.getByRole('table', { name: 'Servers' }).getByRole('row').nth(1).getByRole('link').click();
    await gpuCard(1).getByText('Nobody holds it.').waitFor();
    await expect.poll(() => memoryUsed(1), { timeout: LIVE_MS }).toBe('Memory: 0 MiB used');

    await openFromSidebar('Tasks');
    await page.getByText('Finished', { exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'matrix_mul' }).getByText('revoked').waitFor();
  });

  test('a restart of the server is told, and the page follows again without a reload', async () => {
    await page.evaluate(() => document.body.setAttribute('data-not-reloaded', ''));
    const restarted = pool.restartServer();
    await page
      .getByRole('status')
      .filter({ hasText: /^.?\s*not live since \d\d:\d\d:\d\d$/ })
      .waitFor();
    await restarted;
    await page.getByRole('status').filter({ hasText: /live$/ }).waitFor({ timeout: 60_000 });
    expect(await page.locator('body[data-not-reloaded]').count()).toBe(1);
    await openFromSidebar('GPUs');
    await expect
      .poll(() => page.getByRole('img', { name: /^Utilization over the last 5 minutes/ }).count())
      .toBe(2);
  });

  test('nothing went wrong inside the page', () => {
    expect(faults).toEqual([]);
  });
});
