// What is found of Python packages that lie in a folder as pip leaves them; nothing of them is run.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pythonInventory } from '../../../server/cli/installedSoftware';

const folder = mkdtempSync(join(tmpdir(), 'sluice-python-'));
const files: Readonly<Record<string, string>> = {
  'torch-2.9.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0\n',
  'torch/version.py': "__version__ = '2.9.0'\ncuda: Optional[str] = '12.8'\nraise SystemExit\n",
  'tensorflow-2.20.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: tensorflow\nVersion: 2.20.0\n',
  'tensorflow/python/platform/build_info.py':
    "build_info = {'cuda_version': '12.5.1', 'cudnn_version': '9', 'is_cuda_build': True}\n",
  'paddlepaddle_gpu-3.0.0.dist-info/METADATA':
    'Metadata-Version: 2.1\nName: paddlepaddle-gpu\nVersion: 3.0.0\n',
  'paddle/version/__init__.py': "full_version = '3.0.0'\ncuda_version = '11.8'\ncudnn_version = '8.9.7'\n",
  'nvidia_cudnn_cu12-9.1.0.dist-info/METADATA':
    'Metadata-Version: 2.1\nName: nvidia-cudnn-cu12\nVersion: 9.1.0\n',
};

beforeAll(() => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  process.env.PYTHONPATH = folder;
});
afterAll(() => {
  delete process.env.PYTHONPATH;
  rmSync(folder, { recursive: true });
});

describe('the software of a machine', () => {
  it('is found with the CUDA version that each framework was built for', async () => {
    const python = await pythonInventory();
    expect(python?.packages).toEqual(
      expect.arrayContaining([
        { name: 'torch', version: '2.9.0', cuda: '12.8', cudnn: null },
        { name: 'tensorflow', version: '2.20.0', cuda: '12.5.1', cudnn: '9' },
        { name: 'paddlepaddle-gpu', version: '3.0.0', cuda: '11.8', cudnn: '8.9.7' },
        { name: 'nvidia-cudnn-cu12', version: '9.1.0', cuda: '12', cudnn: null },
      ]),
    );
  });

  it('without Python is nothing', async () => {
    expect(await pythonInventory(['no-such-python'])).toBeNull();
  });
});
