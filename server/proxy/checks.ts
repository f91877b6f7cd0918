// Checks from the machine on which programs will run: can they load the driver
// library, and do they reach each server's data plane.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { childEnvironment } from '../env/child';
import type { Finding } from './findings';
import type { NativePaths } from './projectPaths';

// Runs in a process of its own: a library that crashes while it is loaded must not take the check along.
const probe = `
const koffi = require(process.argv[1]);
const version = Buffer.alloc(4);
const status = koffi.load(process.argv[2]).func('int cuDriverGetVersion(void*)')(version);
process.stdout.write(JSON.stringify({ status, version: version.readInt32LE() }));`;

/** Loads the client's libcuda.so.1 as a program would. */
export async function checkDriverLibrary(paths: NativePaths): Promise<Finding> {
  const base = { id: 'client.driver', title: 'Driver library for programs' };
  if (!existsSync(paths.clientDriver)) {
    return {
      ...base,
      severity: 'fatal',
      detail: `${paths.clientDriver} is not there.`,
      action: 'Build it with `npm run build:native`, or set SLUICE_NATIVE_DIR to a folder that has it.',
    };
  }
  const failure = await loadFailure(paths);
  if (failure === null)
    return { ...base, severity: 'ok', detail: `${paths.clientDriver} loads.`, action: null };
  return {
    ...base,
    severity: 'fatal',
    detail: `${paths.clientDriver} does not load: ${failure}`,
    action: 'Build it again on this machine with `npm run build:native`.',
  };
}

function loadFailure(paths: NativePaths): Promise<string | null> {
  const koffi = createRequire(import.meta.url).resolve('koffi');
  const env = childEnvironment({
    SLUICE_GRANT: null,
    SLUICE_GRANT_FILE: null,
    LD_LIBRARY_PATH: paths.clientLibraries,
  });
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['-e', probe, koffi, paths.clientDriver],
      { env, timeout: 10_000 },
      (error, stdout, stderr) => {
        if (error === null && stdout.startsWith('{')) return resolve(null);
        if (error?.signal) return resolve(`the loading process ended with ${error.signal}.`);
        resolve(stderr.split('\n').find((line) => line.includes('Error')) ?? 'no reason was given.');
      },
    );
  });
}

export interface DataPlaneTarget {
  readonly address: string;
  readonly tls: boolean;
  /** "sha256:…" to compare with; null: any certificate is accepted. */
  readonly fingerprint: string | null;
}

/** Connects to a server's data port and, with TLS, compares its certificate. */
export async function checkDataPlane(target: DataPlaneTarget, timeoutMs = 3000): Promise<Finding> {
  const base = { id: `dataplane.${target.address}`, title: `Data plane ${target.address}` };
  const startedAt = performance.now();
  try {
    const fingerprint = await reach(target, timeoutMs);
    const milliseconds = (performance.now() - startedAt).toFixed(1);
    if (fingerprint !== null && target.fingerprint !== null && fingerprint !== target.fingerprint) {
      return {
        ...base,
        severity: 'fatal',
        detail: `The certificate there is ${fingerprint}, but the control plane knows ${target.fingerprint}.`,
        action:
          'Something else answers at this address. Check SLUICE_DATA_ADDRESS of the agent and what lies between.',
      };
    }
    const security = target.tls ? 'TLS 1.3' : 'TCP, not encrypted';
    return { ...base, severity: 'ok', detail: `Reached in ${milliseconds} ms (${security}).`, action: null };
  } catch (error) {
    return {
      ...base,
      severity: 'fatal',
      detail: `Not reachable from here: ${error instanceof Error ? error.message : String(error)}`,
      action:
        'Check that the agent runs there, that a firewall lets this port through, and SLUICE_DATA_ADDRESS of the agent.',
    };
  }
}

/** Resolves when connected: with the certificate's fingerprint, or null without TLS. */
function reach(target: DataPlaneTarget, timeoutMs: number): Promise<string | null> {
  const { host, port } = splitAddress(target.address);
  return new Promise((resolve, reject) => {
    const socket = target.tls
      ? // Pinned by fingerprint above instead of by an authority; nothing is sent.
        connectTls({ host, port, rejectUnauthorized: false, minVersion: 'TLSv1.3' }, () =>
          done(peer(socket as TLSSocket)),
        )
      : connectTcp({ host, port }, () => done(null));
    const timer = setTimeout(() => fail(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
    const done = (fingerprint: string | null) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(fingerprint);
    };
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    socket.on('error', fail);
  });
}

function peer(socket: TLSSocket): string {
  return `sha256:${socket.getPeerCertificate().fingerprint256.replaceAll(':', '').toLowerCase()}`;
}

/** "host:port" or "[v6]:port". */
export function splitAddress(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) };
}
