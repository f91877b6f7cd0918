import type { Prisma } from './client/client';
import type { Queries } from './database';

const withGpus = {
  gpus: { where: { present: true }, orderBy: [{ index: 'asc' }, { uuid: 'asc' }] },
} satisfies Prisma.ServerInclude;

export type ServerRecord = Prisma.ServerGetPayload<{ include: typeof withGpus }>;
export type GpuRecord = ServerRecord['gpus'][number];

export function findServers(queries: Queries): Promise<ServerRecord[]> {
  return queries.server.findMany({ include: withGpus });
}

export function findServer(queries: Queries, id: string): Promise<ServerRecord | null> {
  return queries.server.findUnique({ where: { id }, include: withGpus });
}

/**
 * Writes a server as its agent describes it, with exactly these GPUs. A GPU
 * that another server had (the card or the identity moved) becomes this one's.
 */
export async function saveServer(
  queries: Queries,
  server: Prisma.ServerUncheckedCreateInput,
  gpus: Omit<Prisma.GpuUncheckedCreateInput, 'serverId' | 'present'>[],
): Promise<ServerRecord> {
  const { id, ...fields } = server;
  await queries.server.upsert({ where: { id }, create: server, update: fields });
  await queries.gpu.updateMany({
    where: { serverId: id, uuid: { notIn: gpus.map((gpu) => gpu.uuid) } },
    data: { present: false },
  });
  for (const gpu of gpus) {
    const row = { ...gpu, serverId: id, present: true };
    await queries.gpu.upsert({ where: { uuid: gpu.uuid }, create: row, update: row });
  }
  return queries.server.findUniqueOrThrow({ where: { id }, include: withGpus });
}

export function setCordoned(queries: Queries, id: string, cordoned: boolean): Promise<ServerRecord> {
  return queries.server.update({ where: { id }, data: { cordoned }, include: withGpus });
}

export async function setLastSeen(queries: Queries, id: string, at: Date): Promise<void> {
  await queries.server.update({ where: { id }, data: { lastSeenAt: at } });
}
