import { z } from 'zod';

/** Filters of a request: `key=value`; several values of one key mean "any of". */
export const allocationFilter = z.object({ key: z.string().min(1), value: z.string().min(1) });

/** What a person or program asks of the pool. Neither memoryMib nor fraction: whole GPUs. */
export const allocationRequest = z
  .object({
    gpus: z.number().int().min(1, 'must be at least 1').max(1024),
    /** MiB on each GPU. */
    memoryMib: z.number().int().min(1).optional(),
    /** Share of each GPU's memory, above 0 up to 1; 1 is the whole GPU. */
    fraction: z.number().gt(0, 'must be above 0').max(1, 'must be at most 1').optional(),
    serverList: z.array(z.string().min(1)).max(1000).optional(),
    filters: z.array(allocationFilter).max(100).optional(),
    purpose: z.string().max(500).optional(),
    /** How long to wait for GPUs that are busy; 0 answers at once. */
    waitSeconds: z.number().min(0).max(86_400).optional(),
    leaseSeconds: z
      .number()
      .min(10)
      .max(30 * 86_400)
      .optional(),
  })
  .refine((r) => r.memoryMib === undefined || r.fraction === undefined, {
    message: 'give memoryMib or fraction, not both',
    path: ['fraction'],
  });

export type AllocationRequest = z.infer<typeof allocationRequest>;

/** Long enough to survive a lost packet or a restart of the server, short enough that a dead client's GPU is back soon. */
export const DEFAULT_LEASE_SECONDS = 60;
/** A revoked program is told, then ended after this. */
export const DEFAULT_GRACE_SECONDS = 1;
