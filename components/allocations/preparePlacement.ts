import { prepareMemory } from '../charts/prepareMemory';
import { formatMemory } from '../format/formatMemory';
import { countOf } from '../format/formatCount';
import type { AllocationRequest, GpuRow, ServerRow } from '../trpc/types';

export type Placement = {
  /** UUIDs that would be taken if the request were sent now; empty when something stands in the way. */
  chosen: string[];
  /** Servers that are considered: ready and wanted. */
  servers: ServerRow[];
  /** What stands in the way, and what would fit; null when nothing does. */
  obstacle: string | null;
};

type Candidate = { server: ServerRow; gpu: GpuRow; usableMib: number; freeMib: number; idle: boolean };

/**
 * What the pool would choose for a request: GPUs of one server, where the least is left over. A preview of
 * the server's own rule; the server decides when the request arrives.
 */
export function preparePlacement(servers: readonly ServerRow[], request: AllocationRequest): Placement {
  const wanted = request.serverList ?? [];
  const considered = servers.filter(
    (server) => server.state === 'ready' && (wanted.length === 0 || wanted.includes(server.address)),
  );
  const refuse = (obstacle: string): Placement => ({ chosen: [], servers: considered, obstacle });
  if (considered.length === 0) {
    return refuse(
      wanted.length === 0
        ? 'No server of the pool is ready. The health page says why.'
        : 'This server takes no allocations now. Choose another one.',
    );
  }

  const uuids = (request.filters ?? [])
    .filter((filter) => filter.key === 'device.uuid')
    .map((filter) => filter.value);
  const perServer = considered
    .map((server) => candidatesOf(server).filter(({ gpu }) => uuids.length === 0 || uuids.includes(gpu.uuid)))
    .filter((candidates) => candidates.length > 0);
  if (perServer.length === 0) return refuse('The chosen GPU is on no server that is ready now.');

  const largestServer = Math.max(...perServer.map((candidates) => candidates.length));
  if (request.gpus > largestServer) {
    return refuse(
      `One server has at most ${countOf(largestServer, 'GPU')} to choose from. Ask for ${largestServer} or fewer.`,
    );
  }
  const all = perServer.flat();
  const largest = Math.floor(Math.max(...all.map((candidate) => candidate.usableMib)));
  if ((request.memoryMib ?? 0) > largest) {
    return refuse(`The largest GPU has ${formatMemory(largest)}. Ask for ${largest} MiB or less.`);
  }

  const fitting = perServer
    .map((candidates) => candidates.filter((candidate) => fits(candidate, request)))
    .filter((candidates) => candidates.length >= request.gpus)
    .map((candidates) => candidates.toSorted(leastLeftFirst).slice(0, request.gpus));
  const best = fitting.toSorted((a, b) => leftOver(a) - leftOver(b))[0];
  if (!best) return refuse(describeBusy(all, request));
  return { chosen: best.map(({ gpu }) => gpu.uuid), servers: considered, obstacle: null };
}

function candidatesOf(server: ServerRow): Candidate[] {
  return server.gpus.map((gpu) => {
    const { total, reserved, foreign } = prepareMemory(gpu);
    const whole = gpu.allocations.some((allocation) => allocation.memoryMib === null);
    const usableMib = total - reserved;
    return {
      server,
      gpu,
      usableMib,
      freeMib: whole ? 0 : Math.max(0, usableMib - foreign - gpu.grantedMib),
      idle: gpu.allocations.length === 0 && foreign === 0,
    };
  });
}

/** MiB the request takes of this GPU; null for all of it. */
function neededMib(candidate: Candidate, request: AllocationRequest): number | null {
  if (request.memoryMib !== undefined) return request.memoryMib;
  if (request.fraction === undefined || request.fraction === 1) return null;
  return Math.max(1, Math.floor(candidate.usableMib * request.fraction));
}

function fits(candidate: Candidate, request: AllocationRequest): boolean {
  const needed = neededMib(candidate, request);
  return needed === null ? candidate.idle : needed <= candidate.freeMib;
}

function describeBusy(candidates: readonly Candidate[], request: AllocationRequest): string {
  const free = candidates.filter((candidate) => fits(candidate, request)).length;
  const freest = Math.floor(Math.max(...candidates.map((candidate) => candidate.freeMib)));
  const whole = candidates.every((candidate) => neededMib(candidate, request) === null);
  const state = (count: number) => {
    if (whole) return count === 1 ? 'is held by nobody' : 'are held by nobody';
    return count === 1 ? 'has that much left' : 'have that much left';
  };
  const found =
    free === 0
      ? `No GPU here ${state(1)} now.`
      : `Only ${countOf(free, 'GPU')} here ${state(free)}, and not on one server.`;
  return freest === 0
    ? `${found} Wait until something is given back.`
    : `${found} The freest GPU has ${formatMemory(freest)} (${freest} MiB) left: ask for that much memory, or wait.`;
}

function leastLeftFirst(a: Candidate, b: Candidate): number {
  return a.freeMib - b.freeMib || a.gpu.index - b.gpu.index;
}

/** Equal choices go to the server whose name comes first, as on the server. */
function leftOver(candidates: readonly Candidate[]): number {
  return candidates.reduce((sum, candidate) => sum + candidate.freeMib, 0);
}
