// Rules of the project; the import zones are the table of folders in CONTRIBUTING.md.
import { createNodeResolver, importX } from 'eslint-plugin-import-x';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

/** Folder → folders under the project's root that it may import from, besides itself. */
const mayImport = {
  app: ['components', 'server/api', 'server/auth'],
  components: ['server/api'],
  'server/pool': [
    'server/db',
    'server/errors',
    'server/log',
    'server/env',
    'server/generated',
    'protocol/control',
  ],
  'server/api': [
    'server/pool',
    'server/auth',
    'server/benchmarks',
    'server/errors',
    'server/log',
    'server/env',
    'server/generated',
  ],
  'server/auth': ['server/db', 'server/errors', 'server/log', 'server/env'],
  'server/agent': [
    'server/proxy',
    'server/errors',
    'server/log',
    'server/env',
    'server/generated',
    'protocol/control',
  ],
  'server/proxy': ['server/errors', 'server/log', 'server/env', 'server/generated', 'protocol/control'],
  'server/benchmarks': [
    'server/pool',
    'server/proxy',
    'server/db',
    'server/errors',
    'server/log',
    'server/env',
    'server/generated',
  ],
  'server/cli': [
    'server/api',
    'server/proxy',
    'server/kubernetes',
    'server/agent',
    'server/errors',
    'server/log',
    'server/env',
    'server/generated',
  ],
  'server/db': ['server/env', 'server/errors', 'server/log'],
  'server/errors': [],
  'server/env': ['server/errors'],
  'server/log': ['server/env'],
  protocol: [],
};

// Folders whose imports are limited to types: what runs there must not pull in the server.
const typesOnly = { 'server/cli': ['server/api'], components: ['server/api'] };

const allFolders = [
  'app',
  'components',
  'tests',
  'native',
  'protocol',
  ...[
    'agent',
    'api',
    'auth',
    'benchmarks',
    'cli',
    'db',
    'env',
    'errors',
    'generated',
    'http',
    'kubernetes',
  ].map((name) => `server/${name}`),
  ...['log', 'pool', 'proxy', 'setup'].map((name) => `server/${name}`),
];

const zones = Object.entries(mayImport).flatMap(([folder, allowed]) =>
  allFolders
    .filter((other) => other !== folder)
    .filter((other) => !allowed.some((entry) => entry === other || other.startsWith(`${entry}/`)))
    .map((other) => ({
      target: `./${folder}`,
      from: `./${other}`,
      except: allowed
        .filter((entry) => entry.startsWith(`${other}/`))
        .map((entry) => entry.slice(other.length + 1)),
      message: `${folder} may not import ${other} (see the table in CONTRIBUTING.md).`,
    })),
);

export default tseslint.config(
  {
    ignores: [
      'node_modules/',
      '.next/',
      '.build/',
      '.sluice/',
      '.toolchains/',
      'native/',
      'server/generated/',
      'server/db/client/',
      'next-env.d.ts',
    ],
  },
  ...tseslint.configs.recommended,
  {
    plugins: { 'import-x': importX },
    settings: {
      'import-x/ignore': ['node_modules'],
      'import-x/resolver-next': [
        createNodeResolver({
          extensions: ['.ts', '.tsx', '.mjs', '.js', '.json'],
          alias: { '@': [import.meta.dirname] },
        }),
      ],
    },
    rules: {
      'import-x/no-restricted-paths': ['error', { zones, basePath: import.meta.dirname }],
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'The environment is parsed once, in server/env.' },
      ],
      eqeqeq: 'error',
    },
  },
  {
    files: ['server/env/**', 'server/setup/**', 'tests/**', '*.config.*', 'prisma.config.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['components/**', 'app/**'],
    plugins: { 'react-hooks': reactHooks },
    rules: reactHooks.configs.recommended.rules,
  },
  {
    files: ['**/*.{ts,tsx}'],
    ignores: ['tests/**', 'protocol/**'],
    rules: { 'max-lines': ['error', { max: 250 }] },
  },
  ...Object.entries(typesOnly).map(([folder, targets]) => ({
    files: [`${folder}/**`],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: targets.map((target) => ({
            group: [`**/${target.split('/').pop()}/**`, `@/${target}/**`],
            allowTypeImports: true,
            message: `${folder} may import only types from ${target}.`,
          })),
        },
      ],
    },
  })),
);
