import type { Prisma } from './client/client';
import type { Queries } from './database';

const withGpus = {
  gpus: { include: { gpu: true }, orderBy: { ordinal: 'asc' } },
} satisfies Prisma.AllocationInclude;

/** An allocation with what it holds; each GPU row tells the server that has the GPU now. */
export type AllocationRecord = Prisma.AllocationGetPayload<{ include: typeof withGpus }>;

/** Memory that unfinished allocations hold of a GPU. */
export interface Held {
  /** Sum in MiB of the parts; a whole-GPU holder counts as nothing here. */
  partsMib: number;
  holders: number;
  whole: boolean;
}

export function findAllocation(queries: Queries, id: string): Promise<AllocationRecord | null> {
  return queries.allocation.findUnique({ where: { id }, include: withGpus });
}

export function findAllocations(
  queries: Queries,
  filter: { states?: readonly string[]; limit?: number },
): Promise<AllocationRecord[]> {
  return queries.allocation.findMany({
    where: filter.states ? { state: { in: [...filter.states] } } : {},
    include: withGpus,
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
    take: filter.limit,
  });
}

export function insertAllocation(
  queries: Queries,
  data: Prisma.AllocationUncheckedCreateInput,
  gpus: { gpuUuid: string; memoryMib: number | null }[],
): Promise<AllocationRecord> {
  return queries.allocation.create({
    data: { ...data, gpus: { create: gpus.map((gpu, ordinal) => ({ ...gpu, ordinal })) } },
    include: withGpus,
  });
}

export function updateAllocation(
  queries: Queries,
  id: string,
  data: Prisma.AllocationUncheckedUpdateInput,
): Promise<AllocationRecord> {
  return queries.allocation.update({ where: { id }, data, include: withGpus });
}

/** Notes that the workers of these GPUs have the grant of that version. */
export async function markReady(
  queries: Queries,
  id: string,
  uuids: string[],
  version: number,
): Promise<void> {
  await queries.allocationGpu.updateMany({
    where: { allocationId: id, gpuUuid: { in: uuids } },
    data: { readyVersion: version },
  });
}

export async function markProvedFree(queries: Queries, id: string, uuids: string[], at: Date): Promise<void> {
  await queries.allocationGpu.updateMany({
    where: { allocationId: id, gpuUuid: { in: uuids }, provedFreeAt: null },
    data: { provedFreeAt: at },
  });
}

/** What is held of every GPU that is held at all, by UUID. */
export async function heldByGpu(queries: Queries): Promise<Map<string, Held>> {
  const rows = await queries.allocationGpu.findMany({
    where: { provedFreeAt: null },
    select: { gpuUuid: true, memoryMib: true },
  });
  const held = new Map<string, Held>();
  for (const { gpuUuid, memoryMib } of rows) {
    const entry = held.get(gpuUuid) ?? { partsMib: 0, holders: 0, whole: false };
    entry.partsMib += memoryMib ?? 0;
    entry.holders += 1;
    entry.whole ||= memoryMib === null;
    held.set(gpuUuid, entry);
  }
  return held;
}
