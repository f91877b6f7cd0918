import { X509Certificate, createPrivateKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { createServer } from 'node:tls';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ensureCertificate } from '@/server/proxy/certificate';
import { checkDataPlane } from '@/server/proxy/checks';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'sluice-certificate-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the certificate', () => {
  test('fits its private key, which nobody else reads', async () => {
    const made = await ensureCertificate(folder, 'gpu-host');
    const certificate = new X509Certificate(readFileSync(made.certificateFile));
    expect(certificate.checkPrivateKey(createPrivateKey(readFileSync(made.keyFile)))).toBe(true);
    expect(statSync(made.keyFile).mode & 0o777).toBe(0o600);
    expect(made.fingerprint).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test('stays the same', async () => {
    const first = await ensureCertificate(folder, 'gpu-host');
    expect(await ensureCertificate(folder, 'renamed-host')).toEqual(first);
  });

  test('is made anew when a file was cut short', async () => {
    const first = await ensureCertificate(folder, 'gpu-host');
    truncateSync(first.keyFile, 40);
    expect((await ensureCertificate(folder, 'gpu-host')).fingerprint).not.toBe(first.fingerprint);
  });
});

describe('the data plane check', () => {
  test('compares the certificate with the one expected', async () => {
    const made = await ensureCertificate(folder, 'gpu-host');
    const server = createServer({
      cert: readFileSync(made.certificateFile),
      key: readFileSync(made.keyFile),
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const check = (fingerprint: string | null) => checkDataPlane({ address, tls: true, fingerprint });
    expect(await check(made.fingerprint)).toMatchObject({ severity: 'ok' });
    expect(await check(null)).toMatchObject({ severity: 'ok' });
    expect(await check(`sha256:${'0'.repeat(64)}`)).toMatchObject({
      severity: 'fatal',
      detail: expect.stringContaining('certificate'),
    });
    server.close();
  });

  test('says when nothing answers', async () => {
    const finding = await checkDataPlane({ address: '127.0.0.1:1', tls: true, fingerprint: null });
    expect(finding).toMatchObject({ severity: 'fatal', detail: expect.stringContaining('ECONNREFUSED') });
  });
});
