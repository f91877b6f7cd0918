// Whether the frameworks on this machine fit the driver of the pool's servers, and what to install if not.
import type { Finding } from '../proxy/findings';
import { pythonInventory, systemLibraries, type Framework, type PythonInventory } from './installedSoftware';

/** Findings about Python, its frameworks and the CUDA libraries; `driverVersion` as in DoctorReport. */
export async function softwareFindings(driverVersion: number | null): Promise<Finding[]> {
  const [python, libraries] = await Promise.all([pythonInventory(), systemLibraries()]);
  return describeSoftware(python, libraries, driverVersion);
}

/** Exported for its test: nothing is looked at. */
export function describeSoftware(
  python: PythonInventory | null,
  libraries: readonly string[],
  driverVersion: number | null,
): Finding[] {
  const found: Finding[] = [
    {
      id: 'software.libraries',
      severity: 'ok',
      title: 'CUDA libraries of this system',
      detail:
        libraries.length > 0 ? `${libraries.join(', ')}.` : 'None; programs bring their own, or need none.',
      action: null,
    },
  ];
  if (python === null) return [...found, noPython];
  const wheels = python.packages.filter(({ name }) => name.startsWith('nvidia-'));
  const frameworks = python.packages.filter(({ name }) => !name.startsWith('nvidia-'));
  const brings = wheels.map(({ name, version }) => `${name} ${version}`).join(', ');
  found.push({
    id: 'software.python',
    severity: 'ok',
    title: 'Python',
    detail: `${python.python} (${python.executable})${brings === '' ? '' : ` with ${brings}`}.`,
    action: null,
  });
  return [...found, ...frameworks.map((framework) => frameworkFinding(framework, wheels, driverVersion))];
}

const noPython: Finding = {
  id: 'software.python',
  severity: 'ok',
  title: 'Python',
  detail: 'There is none; programs that are not written in it need none.',
  action: null,
};

const names: Readonly<Record<string, string>> = {
  torch: 'PyTorch',
  tensorflow: 'TensorFlow',
  'tensorflow-gpu': 'TensorFlow',
  'paddlepaddle-gpu': 'PaddlePaddle',
  paddlepaddle: 'PaddlePaddle',
};

function frameworkFinding(
  framework: Framework,
  wheels: readonly Framework[],
  driver: number | null,
): Finding {
  const title = `${names[framework.name] ?? framework.name} ${framework.version}`;
  const base = { id: `software.${framework.name}`, title };
  const { cuda, cudnn } = framework;
  if (cuda === null) {
    return {
      ...base,
      severity: 'warning',
      detail: 'It is built without CUDA and computes on the CPU only.',
      action: installation(framework.name, driver),
    };
  }
  const built = `Built for CUDA ${cuda}`;
  // Within one major version newer libraries run on older drivers (CUDA Compatibility, "Minor Version
  // Compatibility").
  if (driver !== null && major(cuda) > Math.floor(driver / 1000)) {
    return {
      ...base,
      severity: 'fatal',
      detail: `${built}, but the pool's driver is of CUDA ${driverText(driver)}: it cannot run that.`,
      action: installation(framework.name, driver),
    };
  }
  const has = wheels.find(({ name }) => name.startsWith('nvidia-cudnn'));
  if (cudnn !== null && has !== undefined && major(has.version) < major(cudnn)) {
    return {
      ...base,
      severity: 'warning',
      detail: `${built} and cuDNN ${cudnn}, but ${has.name} is ${has.version}.`,
      action: `Run: pip install "${has.name}>=${cudnn}"`,
    };
  }
  const fits = driver === null ? '' : `, which the pool's driver (CUDA ${driverText(driver)}) runs`;
  return { ...base, severity: 'ok', detail: `${built}${fits}.`, action: null };
}

/** The command that installs a build for the newest CUDA that the driver runs. */
function installation(name: string, driver: number | null): string {
  const newest = driver === null ? 12 : Math.floor(driver / 1000);
  const tag = newest >= 13 ? 'cu130' : newest === 12 ? 'cu126' : 'cu118';
  if (name === 'torch') return `Run: pip install torch --index-url https://download.pytorch.org/whl/${tag}`;
  if (name.startsWith('tensorflow'))
    return newest >= 12 ? 'Run: pip install "tensorflow[and-cuda]"' : 'Run: pip install tensorflow==2.14.1';
  if (name.startsWith('paddlepaddle')) {
    return `Run: pip install paddlepaddle-gpu -i https://www.paddlepaddle.org.cn/packages/stable/${newest >= 12 ? 'cu126' : 'cu118'}/`;
  }
  return `Install its build for CUDA ${newest}.`;
}

const major = (version: string) => Number(version.split('.')[0]);
const driverText = (version: number) => `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
