// The CUDA software on this machine, without loading any of it: frameworks, the CUDA version that each was
// built for, runtime and cuDNN libraries.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

const inventory = z.object({
  python: z.string(),
  executable: z.string(),
  packages: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      cuda: z.string().nullable(),
      cudnn: z.string().nullable(),
    }),
  ),
});

export type PythonInventory = z.infer<typeof inventory>;
export type Framework = PythonInventory['packages'][number];

// Reads the files in which each framework keeps what it was built for: importing one takes seconds.
const script = `
import json, re, sys
from importlib import metadata
files = {
    'torch': ('torch/version.py', r"cuda[^=\\n]*= *'([0-9.]+)'", None),
    'tensorflow': ('tensorflow/python/platform/build_info.py', r"cuda_version'?:? *'([0-9.]+)'", r"cudnn_version'?:? *'([0-9.]+)'"),
    'paddlepaddle-gpu': ('paddle/version/__init__.py', r"cuda_version *= *'([0-9.]+)'", r"cudnn_version *= *'([0-9.]+)'"),
}
files['tensorflow-gpu'] = files['tensorflow']
packages = {}
for found in metadata.distributions():
    name = (found.metadata['Name'] or '').lower().replace('_', '-')
    built = re.match(r'(?:cupy-cuda|jax-cuda)(\\d+)', name)
    library = re.match(r'nvidia-(?:cuda-runtime|cudnn|cublas)(?:-cu(\\d+))?$', name)
    if not (name in files or name == 'paddlepaddle' or built or library) or name in packages:
        continue
    cuda = (built or library).group(1) if (built or library) else None
    cudnn = None
    if name in files:
        path, for_cuda, for_cudnn = files[name]
        try:
            text = open(found.locate_file(path), encoding='utf-8').read()
            match = re.search(for_cuda, text)
            cuda = match.group(1) if match else None
            match = re.search(for_cudnn, text) if for_cudnn else None
            cudnn = match.group(1) if match else None
        except OSError:
            pass
    packages[name] = {'name': name, 'version': found.version, 'cuda': cuda, 'cudnn': cudnn}
print(json.dumps({'python': sys.version.split()[0], 'executable': sys.executable, 'packages': sorted(packages.values(), key=lambda p: p['name'])}))
`;

/** What the first python3 (or python) on the path has; null when there is none, or when it fails. */
export async function pythonInventory(interpreters: readonly string[] = ['python3', 'python']) {
  for (const interpreter of interpreters) {
    try {
      const { stdout } = await run(interpreter, ['-c', script], { timeout: 20_000 });
      return inventory.parse(JSON.parse(stdout));
    } catch {
      // Not there, or of a time before importlib.metadata: the next one may do.
    }
  }
  return null;
}

/** File names of the CUDA runtime and cuDNN libraries that the loader knows, such as libcudart.so.12. */
export async function systemLibraries(): Promise<readonly string[]> {
  for (const loader of ['ldconfig', '/sbin/ldconfig']) {
    const { stdout } = await run(loader, ['-p']).catch(() => ({ stdout: '' }));
    const names = [...stdout.matchAll(/^\s*(lib(?:cudart|cudnn|cublas)\.so\.\d+)/gm)].map(
      ([, name]) => name ?? '',
    );
    if (stdout !== '') return [...new Set(names)].sort();
  }
  return [];
}
