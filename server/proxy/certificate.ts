// The agent's own TLS certificate. Clients pin its fingerprint, which travels in
// the grant, so no authority signs it and its names do not matter.
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificate {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** "sha256:" and 64 hex digits: SHA-256 of the certificate's DER form. */
  readonly fingerprint: string;
}

const validDays = 3650;
// A new one is made this long before the end, so that no grant outlives its certificate.
const renewBeforeMs = 30 * 86_400_000;

/** The certificate in `folder`, made when there is none that fits its key and is valid for another month. */
export async function ensureCertificate(folder: string, hostname: string): Promise<Certificate> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const certificateFile = join(folder, 'tls-cert.pem');
  const keyFile = join(folder, 'tls-key.pem');
  if (!isUsable(certificateFile, keyFile)) await create(certificateFile, keyFile, hostname);
  return { certificateFile, keyFile, fingerprint: certificateFingerprint(readFileSync(certificateFile)) };
}

/** Fingerprint of a certificate in PEM or DER form. */
export function certificateFingerprint(certificate: string | Buffer): string {
  return `sha256:${new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase()}`;
}

function isUsable(certificateFile: string, keyFile: string): boolean {
  if (!existsSync(certificateFile) || !existsSync(keyFile)) return false;
  try {
    const certificate = new X509Certificate(readFileSync(certificateFile));
    const fits = certificate.checkPrivateKey(createPrivateKey(readFileSync(keyFile)));
    return fits && Date.parse(certificate.validTo) - Date.now() > renewBeforeMs;
  } catch {
    return false; // A file cut short by a full disk, for one: a new pair replaces it.
  }
}

async function create(certificateFile: string, keyFile: string, hostname: string): Promise<void> {
  const { generate } = await import('selfsigned');
  const now = Date.now();
  const pair = await generate([{ name: 'commonName', value: hostname.slice(0, 64) }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    // A host whose clock is a little behind must still accept it.
    notBeforeDate: new Date(now - 86_400_000),
    notAfterDate: new Date(now + validDays * 86_400_000),
  });
  // The key goes first: a crash in between leaves a pair that does not fit, which is made anew.
  writeAside(keyFile, pair.private);
  writeAside(certificateFile, pair.cert);
}

function writeAside(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
