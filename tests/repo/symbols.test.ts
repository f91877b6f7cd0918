// The spec against NVIDIA's own list of the driver API, where its headers are installed: every function of cuda.h
// is there, every versioned entry of cudaTypedefs.h resolves to a symbol of that version, and the built client
// library exports all of them, with and without suffix.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { spec } from '@/protocol/spec';
import { nativePaths, projectRoot } from '@/server/proxy/projectPaths';

const headers = join(projectRoot(), '.toolchains/cuda/cuda13/nvidia/cu13/include');
const client = nativePaths(null).clientDriver;
const NEWEST = 13000;

const exported = spec.flatMap(({ symbol, perThread }) =>
  perThread ? [symbol, `${symbol}_${perThread}`] : [symbol],
);
const text = (name: string) => readFileSync(join(headers, name), 'utf8');

describe.skipIf(!existsSync(join(headers, 'cuda.h')))('the symbols of the driver API', () => {
  it('cover every declaration of cuda.h', () => {
    const bases = new Set(spec.flatMap(({ symbol, base }) => [symbol, base]));
    const declared = [
      ...text('cuda.h').matchAll(/^\s*(?:__CUDA_DEPRECATED )?CUresult CUDAAPI\s+(cu\w+)\(/gm),
    ].map(([, name = '']) => name.replace(/_pt[sd][sz]$/, ''));
    expect(declared.length).toBeGreaterThan(400);
    expect([...new Set(declared)].filter((name) => !bases.has(name))).toEqual([]);
  });

  it('have every version that cudaTypedefs.h lists', () => {
    const versions = [...text('cudaTypedefs.h').matchAll(/\*PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)/g)];
    expect(versions.length).toBeGreaterThan(500);
    const missing = versions.filter(([, base, version, suffix]) => {
      if (Number(version) > NEWEST) return false;
      const rows = spec.filter((row) => row.base === base);
      if (suffix === undefined) return !rows.some((row) => row.version === Number(version));
      // Streams of threads came with 7.0, for functions that were there before.
      return !rows.some(
        (row) =>
          row.perThread === suffix.slice(1) &&
          (row.version === Number(version) || (version === '7000' && row.version < 7000)),
      );
    });
    expect(missing.map(([name]) => name)).toEqual([]);
  });
});

describe.skipIf(!existsSync(client))('the client library', () => {
  it('exports them all', () => {
    const symbols = execFileSync('nm', ['-D', '--defined-only', client], { encoding: 'utf8' });
    const defined = new Set([...symbols.matchAll(/ T (\w+)/g)].map(([, name]) => name));
    expect(exported.filter((name) => !defined.has(name))).toEqual([]);
  });
});
