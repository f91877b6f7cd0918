// The samples as files: what they are linked to, and that NVIDIA's assemblers
// of three CUDA versions accept the hand-written PTX for old and new GPUs.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../server/proxy/projectPaths';
import { programs, type Form } from './programs';

const root = projectRoot();
const toolchain = process.env.SLUICE_CUDA_TOOLCHAIN || join(root, '.toolchains/cuda');

const sources = ['driver', 'bench'].flatMap((folder) =>
  readdirSync(join(root, 'native/samples', folder))
    .filter((name) => name.endsWith('.ptx'))
    .map((name) => join('native/samples', folder, name)),
);

const systemLibraries =
  /^(libstdc\+\+\.so\.6|libgcc_s\.so\.1|libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1|ld-linux-x86-64\.so\.2)$/;

/** Besides the system's own libraries. The static runtime library opens libcuda.so.1 by itself. */
const linkedTo: Record<Form, string[]> = {
  driver: ['libcuda.so.1'],
  'cuda13-static': [],
  'cuda13-shared': ['libcudart.so.13'],
  'cuda12-shared': ['libcudart.so.12'],
  'cuda11-shared': ['libcudart.so.11.0'],
};

describe('what a sample is linked to', () => {
  for (const program of programs) {
    const title = `${program.name} for ${program.form}: ${linkedTo[program.form].join(', ') || 'nothing'}`;
    it.skipIf(program.missing !== null)(title, () => {
      const dynamic = execFileSync('readelf', ['--dynamic', program.file], { encoding: 'utf8' });
      const needed = [...dynamic.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, library]) => library ?? '');
      expect(needed.filter((library) => !systemLibraries.test(library))).toEqual(linkedTo[program.form]);
    });
  }
});

const assemblers = [
  { version: 'cuda13', file: 'nvidia/cu13/bin/ptxas', architectures: ['sm_75', 'sm_90', 'sm_120'] },
  { version: 'cuda12', file: 'nvidia/cuda_nvcc/bin/ptxas', architectures: ['sm_50', 'sm_90'] },
  { version: 'cuda11', file: 'nvidia/cuda_nvcc/bin/ptxas', architectures: ['sm_50', 'sm_80'] },
];

describe.each(assemblers)('the assembler of $version', ({ version, file, architectures }) => {
  const assembler = join(toolchain, version, file);
  const reason = existsSync(assembler)
    ? ''
    : ` (${assembler} is not there; tests/cuda/toolchain/fetch.sh installs it)`;
  for (const source of sources) {
    it.skipIf(reason !== '').each(architectures)(
      `accepts ${basename(source)} for %s${reason}`,
      (architecture) => {
        execFileSync(assembler, ['-arch', architecture, join(root, source), '-o', '/dev/null'], {
          stdio: 'pipe',
        });
      },
    );
  }
});
