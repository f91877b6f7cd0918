import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Nvml, NvmlError } from '@/server/agent/nvml/library';
import { readInventory, readSamples } from '@/server/agent/nvml/reading';
import { buildFakeNvml } from './fakeNvml';

let folder: string;
let nvml: Nvml;
let oldNvml: Nvml;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-nvml-'));
  nvml = Nvml.open(buildFakeNvml(folder, 'NEW'));
  oldNvml = Nvml.open(buildFakeNvml(folder, 'OLD'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('inventory', () => {
  test('tells what NVML tells', () => {
    const { driverVersion, cudaVersion, gpus } = readInventory(nvml, false);
    expect({ driverVersion, cudaVersion }).toEqual({ driverVersion: '590.48.01', cudaVersion: '13.1' });
    expect(gpus[0]).toEqual({
      uuid: 'GPU-aaaa',
      index: 0,
      name: 'Test GPU',
      memoryTotalMib: 81920,
      computeCapability: '9.0',
      pciBusId: '00000000:83:00.0',
      software: false,
    });
  });
});

describe('samples', () => {
  test('memory without what the driver reserves', () => {
    expect(readSamples(nvml)[0]).toMatchObject({
      memoryTotalMib: 81920,
      memoryUsedMib: 9728,
      memoryFreeMib: 71680,
      memoryReservedMib: 512,
      utilizationPercent: 42,
      powerWatts: 77.123,
      temperatureCelsius: 28,
    });
  });

  test('an older library does not tell what is reserved', () => {
    expect(readSamples(oldNvml)[0]).toMatchObject({ memoryUsedMib: 10240, memoryReservedMib: null });
  });

  test('a lost GPU has nulls, impossible numbers too, and the other GPU is unharmed', () => {
    expect(readSamples(nvml)[1]).toEqual({
      uuid: 'GPU-bbbb',
      memoryTotalMib: null,
      memoryUsedMib: null,
      memoryFreeMib: null,
      memoryReservedMib: null,
      utilizationPercent: null,
      powerWatts: null,
      temperatureCelsius: 28,
      processes: [],
    });
  });

  test('all processes, also when there are many, and n/a stays n/a', () => {
    const processes = readSamples(nvml)[0]?.processes ?? [];
    expect(processes).toHaveLength(100);
    expect(processes[0]).toEqual({ pid: 4000000, name: null, usedMib: 100 });
    expect(processes[1]?.usedMib).toBeNull();
  });
});

test('a library that is not there', () => {
  expect(() => Nvml.open(join(folder, 'missing.so'))).toThrow(NvmlError);
});
