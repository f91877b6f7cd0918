import { readFileSync, readdirSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n').filter(Boolean);
const handWrittenTypeScript = tracked.filter(
  (file) => /\.(ts|tsx)$/.test(file) && !file.includes('generated/') && !file.startsWith('tests/'),
);

describe('the folders of the project', () => {
  it('has no folder whose name says nothing', () => {
    const banned = new Set(['src', 'lib', 'utils', 'helpers', 'scripts', 'docs', 'packages']);
    const found = readdirSync('.', { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && banned.has(entry.name),
    );
    expect(found.map((entry) => entry.name)).toEqual([]);
  });

  it('reads the environment in server/env only', () => {
    const allowed = /^(server\/(env|setup)\/|.*\.config\.|prisma\.config)/;
    const offenders = handWrittenTypeScript.filter(
      (file) => !allowed.test(file) && /\bprocess\.env\b/.test(readFileSync(file, 'utf8')),
    );
    expect(offenders).toEqual([]);
  });

  it('names every native folder’s includes in the allowed direction', () => {
    const mayInclude: Record<string, string[]> = {
      common: ['common'],
      wire: ['wire', 'common'],
      generated: ['generated', 'wire', 'common'],
      contract: ['contract', 'common'],
      softgpu: ['softgpu', 'contract', 'common'],
      client: ['client', 'generated', 'wire', 'common', 'contract'],
      worker: ['worker', 'generated', 'wire', 'common'],
      nvml: ['nvml', 'wire', 'common'],
    };
    const offenders: string[] = [];
    for (const file of tracked.filter((name) => /^native\/[a-z]+\/.*\.(cc|h)$/.test(name))) {
      // Generated stubs are compiled into the client, the generated dispatch into the worker.
      const side = /^native\/generated\/(client|worker)_/.exec(file)?.[1];
      const allowed = mayInclude[side ?? file.split('/')[1] ?? ''];
      if (allowed === undefined) continue;
      for (const [, target] of readFileSync(file, 'utf8').matchAll(/#include "([a-z]+)\//g)) {
        if (target !== undefined && !allowed.includes(target)) offenders.push(`${file} includes ${target}/`);
      }
    }
    expect(offenders).toEqual([]);
  });
});
