import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('.', import.meta.url));

// Tests are foldered by what they need; those that start real processes run one file at a time.
export default defineConfig({
  resolve: { alias: { '@': root, 'server-only': `${root}tests/serverOnly.ts` } },
  test: {
    projects: [
      project('unit', ['tests/repo/**', 'tests/components/**', 'tests/protocol/**'], 30),
      project('server', ['tests/server/**'], 120),
      project('cuda', ['tests/cuda/**', 'tests/ptx/**'], 180),
      project('integration', ['tests/integration/**', 'tests/setup/**'], 300),
      project('e2e', ['tests/e2e/**'], 300),
    ],
    reporters: ['default'],
    maxWorkers: 1,
    fileParallelism: false,
  },
});

function project(name: string, folders: string[], timeoutSeconds: number) {
  return {
    extends: true as const,
    test: {
      name,
      include: folders.map((folder) => `${folder}/*.test.{ts,tsx}`),
      testTimeout: timeoutSeconds * 1000,
      hookTimeout: timeoutSeconds * 1000,
    },
  };
}
