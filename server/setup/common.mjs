// Paths, the error that ends a setup with one sentence, and commands with their output kept.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const dataDir = resolve(root, process.env.SLUICE_DATA_DIR || '.sluice');

/** Ends the setup with its message as the only output: what was wrong and what to do. */
export class SetupError extends Error {}

/**
 * Runs a command in the project's root. Its output is shown only when it fails.
 * @param {string} what the step's name for the error
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, hint?: string }} [options]
 */
export async function runStep(what, command, args, options = {}) {
  const startedAt = Date.now();
  const output = [];
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  const code = await new Promise((settle) => {
    child.on('error', (error) => {
      output.push(Buffer.from(`${error.message}\n`));
      settle(-1);
    });
    child.on('close', settle);
  });
  if (code !== 0) {
    process.stderr.write(Buffer.concat(output));
    throw new SetupError(
      `${what} failed (${command} ${args.join(' ')}). ${options.hint ?? 'The output above says why.'}`,
    );
  }
  const seconds = (Date.now() - startedAt) / 1000;
  if (seconds > 1) console.log(`sluice: ${what} took ${seconds.toFixed(0)} s`);
  return Buffer.concat(output).toString();
}

/**
 * Runs `build` only when the content of `inputs` (files or folders under the root) differs from what the
 * stamp file recorded after the last successful build, or when `output` is gone.
 */
export async function whenStale(stampFile, inputs, output, build) {
  const hash = createHash('sha256').update(process.version);
  for (const input of inputs) hashPath(hash, join(root, input));
  const digest = hash.digest('hex');
  const stamp = join(root, stampFile);
  if (existsSync(join(root, output)) && existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  await build();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, digest);
}

function hashPath(hash, path) {
  if (!existsSync(path)) return;
  if (statSync(path).isFile()) {
    hash.update(path.slice(root.length)).update(readFileSync(path));
    return;
  }
  for (const name of readdirSync(path).sort()) hashPath(hash, join(path, name));
}
