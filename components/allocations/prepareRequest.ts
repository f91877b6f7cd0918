import type { AllocationRequest } from '../trpc/types';

export type MemoryKind = 'whole' | 'mib' | 'share';

/** The form as it was typed. */
export type AllocationForm = {
  gpus: string;
  memoryKind: MemoryKind;
  /** MiB on each GPU, when memoryKind is mib. */
  memoryMib: string;
  /** Percent of each GPU's memory, when memoryKind is share. */
  sharePercent: string;
  leaseSeconds: string;
  purpose: string;
  /** host:port; empty for any server. */
  server: string;
  /** UUID of the one GPU wanted; empty for any. */
  gpuUuid: string;
};

export const emptyForm: AllocationForm = {
  gpus: '1',
  memoryKind: 'whole',
  memoryMib: '2048',
  sharePercent: '50',
  leaseSeconds: String(8 * 3600),
  purpose: '',
  server: '',
  gpuUuid: '',
};

export type FormErrors = Partial<Record<'gpus' | 'memory', string>>;

const MAX_GPUS = 1024;

/** What to send for a form, or what is wrong with it, field by field. */
export function prepareRequest(form: AllocationForm): {
  request: AllocationRequest | null;
  errors: FormErrors;
} {
  const errors: FormErrors = {};
  const gpus = wholeNumber(form.gpus);
  if (gpus === null || gpus < 1 || gpus > MAX_GPUS) errors.gpus = `A whole number from 1 to ${MAX_GPUS}.`;

  const memoryMib = form.memoryKind === 'mib' ? wholeNumber(form.memoryMib) : undefined;
  if (memoryMib === null || (memoryMib !== undefined && memoryMib < 1))
    errors.memory = 'A whole number of MiB, 1 or more.';

  const percent = form.memoryKind === 'share' ? Number(form.sharePercent) : undefined;
  const shareFits =
    percent === undefined || (form.sharePercent.trim() !== '' && percent > 0 && percent <= 100);
  if (!shareFits) errors.memory = 'A percentage above 0, up to 100.';

  if (gpus === null || memoryMib === null || Object.keys(errors).length > 0) return { request: null, errors };
  return {
    errors,
    request: {
      gpus,
      memoryMib,
      fraction: percent === undefined ? undefined : percent / 100,
      serverList: form.server === '' ? undefined : [form.server],
      filters: form.gpuUuid === '' ? undefined : [{ key: 'device.uuid', value: form.gpuUuid }],
      purpose: form.purpose.trim() === '' ? undefined : form.purpose.trim(),
      leaseSeconds: Number(form.leaseSeconds),
      waitSeconds: 0,
    },
  };
}

function wholeNumber(text: string): number | null {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
}
