import type { Prisma, TelemetryRollup } from './client/client';
import type { Queries } from './database';

/**
 * Adds minutes of telemetry. A minute that is there already (the server
 * restarted within it) keeps its first part.
 */
export async function addRollups(
  queries: Queries,
  rows: Prisma.TelemetryRollupCreateManyInput[],
): Promise<void> {
  if (rows.length > 0) await queries.telemetryRollup.createMany({ data: rows, skipDuplicates: true });
}

export function findRollups(
  queries: Queries,
  filter: { uuids: string[]; resolutionSeconds: number; from: Date; to: Date },
): Promise<TelemetryRollup[]> {
  return queries.telemetryRollup.findMany({
    where: {
      gpuUuid: { in: filter.uuids },
      resolutionSeconds: filter.resolutionSeconds,
      startsAt: { gte: filter.from, lt: filter.to },
    },
    orderBy: { startsAt: 'asc' },
  });
}
