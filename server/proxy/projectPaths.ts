// Where the built native parts are.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SluiceError } from '../errors';

export interface NativePaths {
  readonly workerBinary: string;
  /** Tries what a runtime library does; see proxy/doctor.ts. */
  readonly doctorBinary: string;
  /** Folder of the libraries that a CUDA program loads. */
  readonly clientLibraries: string;
  readonly clientDriver: string;
  readonly softgpuDriver: string;
  readonly softgpuNvml: string;
}

/** The folder of Sluice's package.json, seen from the sources as well as from the bundle in .build/. */
export function projectRoot(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && /"name":\s*"sluice"/.test(readFileSync(manifest, 'utf8'))) return folder;
    if (folder === dirname(folder)) {
      throw new SluiceError('ENVIRONMENT_INVALID', 'Sluice cannot find its own folder.', {
        hint: 'Set SLUICE_NATIVE_DIR to the folder of the native build.',
      });
    }
  }
}

/**
 * Paths inside the native build; nothing is checked for existence here.
 * @param configured SLUICE_NATIVE_DIR as an absolute path; null: the project's own build
 */
export function nativePaths(configured: string | null): NativePaths {
  const build = configured ?? join(projectRoot(), 'native/build');
  return {
    workerBinary: join(build, 'bin/sluice-worker'),
    doctorBinary: join(build, 'bin/sluice-doctor'),
    clientLibraries: join(build, 'lib/client'),
    clientDriver: join(build, 'lib/client/libcuda.so.1'),
    softgpuDriver: join(build, 'lib/softgpu/libcuda.so.1'),
    softgpuNvml: join(build, 'lib/softgpu/libnvidia-ml.so.1'),
  };
}
