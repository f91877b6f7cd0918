import { describe, expect, it } from 'vitest';
import { readReport } from '../../../server/proxy/doctor';
import { describeSoftware } from '../../../server/cli/softwareFindings';

describe('what sluice-doctor prints', () => {
  it('becomes findings and values', () => {
    const report = readReport(
      [
        '{"value":"driverVersion","is":12040}',
        '{"step":"integrity","ok":true,"detail":"18 answers are right.","microseconds":12}',
        '{"step":"server 10.0.0.1:56001","ok":false,"detail":"No answer.","microseconds":12}',
        'the program itself may print too',
        '{"step":"broken"',
        '',
      ].join('\n'),
    );
    expect(report.driverVersion).toBe(12040);
    expect(report.findings.map(({ id, severity, title }) => [id, severity, title])).toEqual([
      ['doctor.integrity', 'ok', 'Integrity check of the runtime library'],
      ['doctor.server-10.0.0.1:56001', 'fatal', 'Worker on 10.0.0.1:56001'],
    ]);
  });
});

describe('frameworks', () => {
  const python = (name: string, version: string, cuda: string | null, cudnn: string | null = null) => ({
    python: '3.11.2',
    executable: '/usr/bin/python3',
    packages: [{ name, version, cuda, cudnn }],
  });
  const finding = (inventory: ReturnType<typeof python>, driver: number | null) => {
    const found = describeSoftware(inventory, [], driver).at(-1);
    return { severity: found?.severity, text: `${found?.detail} ${found?.action ?? ''}` };
  };

  it('fit a driver of the same major version, also an older one', () => {
    expect(finding(python('torch', '2.9.0', '12.8'), 12040).severity).toBe('ok');
    expect(finding(python('torch', '2.9.0', '12.8'), 13000).severity).toBe('ok');
  });

  it('do not fit a driver of an older major version, and the right build is named', () => {
    const torch = finding(python('torch', '2.9.0', '13.0'), 12040);
    expect(torch.severity).toBe('fatal');
    expect(torch.text).toContain('download.pytorch.org/whl/cu126');
    expect(finding(python('torch', '2.9.0', '12.8'), 11080).text).toContain('whl/cu118');
    expect(finding(python('tensorflow', '2.20.0', '12.5'), 11080).text).toContain('tensorflow==2.14.1');
  });

  it('without CUDA are warned of', () => {
    expect(finding(python('torch', '2.9.0', null), 13000)).toMatchObject({ severity: 'warning' });
    expect(finding(python('paddlepaddle', '3.0.0', null), 13000).text).toContain('paddlepaddle-gpu');
  });

  it('with too old a cuDNN are warned of', () => {
    const inventory = python('tensorflow', '2.20.0', '12.5', '9');
    const cudnn = { name: 'nvidia-cudnn-cu12', version: '8.9.7', cuda: '12', cudnn: null };
    const found = describeSoftware({ ...inventory, packages: [cudnn, ...inventory.packages] }, [], 13000).at(
      -1,
    );
    expect(found).toMatchObject({ severity: 'warning', action: 'Run: pip install "nvidia-cudnn-cu12>=9"' });
  });

  it('say only what is known when no driver was reached', () => {
    expect(finding(python('torch', '2.9.0', '13.0'), null)).toMatchObject({ severity: 'ok' });
  });

  it('are not needed', () => {
    expect(describeSoftware(null, ['libcudart.so.12'], 13000).map(({ severity }) => severity)).toEqual([
      'ok',
      'ok',
    ]);
  });
});
