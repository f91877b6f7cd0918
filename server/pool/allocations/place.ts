import { SluiceError } from '../../errors';
import type { AllocationRequest } from '../requests';
import type { Candidate } from './candidates';
import { applyFilters } from './filters';

/** What a request takes of one GPU. */
export interface Placement {
  candidate: Candidate;
  /** null: the whole GPU. */
  memoryMib: number | null;
}

/**
 * Chooses GPUs for a request, all of one server. Parts go where the least is
 * left over, so that whole GPUs stay whole; whole ones to the server with the fewest idle.
 *
 * @throws a SluiceError that says what is in the way. GPU_BUSY: waiting may help; any other: it cannot.
 */
export function place(candidates: Candidate[], request: AllocationRequest): Placement[] {
  if (candidates.length === 0) throw noServers();
  const eligible = applyFilters(onServers(candidates, request.serverList ?? []), request.filters ?? []);
  refuseImpossible(eligible, request);

  const fitting = eligible.filter((candidate) => fits(candidate, request));
  const servers = [...groupByServer(fitting).values()].filter((gpus) => gpus.length >= request.gpus);
  if (servers.length === 0) throw busy(eligible, fitting, request);

  const choices = servers.map((gpus) => [...gpus].sort(leastLeftFirst).slice(0, request.gpus));
  const best = choices.sort((a, b) => leftOver(a) - leftOver(b) || compareServers(a, b))[0] ?? [];
  return best
    .sort((a, b) => a.gpu.index - b.gpu.index)
    .map((candidate) => ({ candidate, memoryMib: memoryOn(candidate, request) }));
}

/** MiB that the request takes of this GPU; null for all of it. */
function memoryOn(candidate: Candidate, request: AllocationRequest): number | null {
  if (request.memoryMib !== undefined) return request.memoryMib;
  if (request.fraction === undefined || request.fraction === 1) return null;
  return Math.max(1, Math.floor(candidate.usableMib * request.fraction));
}

function fits(candidate: Candidate, request: AllocationRequest): boolean {
  const memoryMib = memoryOn(candidate, request);
  return memoryMib === null ? candidate.idle : memoryMib <= candidate.freeMib;
}

function onServers(candidates: Candidate[], addresses: readonly string[]): Candidate[] {
  if (addresses.length === 0) return candidates;
  const known = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const { dataAddress, hostname } = candidate.server.record;
    for (const name of [dataAddress, dataAddress.replace(/:\d+$/, ''), hostname]) {
      known.set(name, [...(known.get(name) ?? []), candidate]);
    }
  }
  const unknown = addresses.filter((address) => !known.has(address));
  if (unknown.length > 0) {
    const there = [...new Set(candidates.map((candidate) => candidate.server.record.dataAddress))];
    throw new SluiceError('SERVER_NOT_FOUND', `No server ${unknown.join(', ')} is ready in the pool.`, {
      hint: `Ready now: ${there.join(', ')}.`,
    });
  }
  return [...new Set(addresses.flatMap((address) => known.get(address) ?? []))];
}

/** Refuses what no amount of waiting can give. */
function refuseImpossible(eligible: Candidate[], request: AllocationRequest): void {
  const most = Math.max(0, ...[...groupByServer(eligible).values()].map((gpus) => gpus.length));
  if (request.gpus > most) {
    throw new SluiceError(
      'GPU_COUNT_UNAVAILABLE',
      `${count(request.gpus)} on one server are asked for; the largest server has ${most}.`,
      { hint: `Ask for at most ${most}.` },
    );
  }
  const { memoryMib } = request;
  if (memoryMib === undefined) return;
  const largest = Math.max(0, ...eligible.map((candidate) => candidate.usableMib));
  const enough = eligible.filter((candidate) => candidate.usableMib >= memoryMib);
  const mostEnough = Math.max(0, ...[...groupByServer(enough).values()].map((gpus) => gpus.length));
  if (mostEnough >= request.gpus) return;
  throw new SluiceError(
    'GPU_MEMORY_UNAVAILABLE',
    mostEnough === 0
      ? `${memoryMib} MiB per GPU are asked for; the largest GPU has ${Math.floor(largest)} MiB.`
      : `${count(request.gpus)} with ${memoryMib} MiB each are asked for; no server has more than ${mostEnough} that large.`,
    {
      hint:
        mostEnough === 0 ? `Ask for at most ${Math.floor(largest)} MiB.` : `Ask for at most ${mostEnough}.`,
    },
  );
}

function noServers(): SluiceError {
  return new SluiceError('NO_SERVERS', 'No GPU server of the pool is ready.', {
    hint: '`sluice health` shows which are missing and why; `sluice agent` on a GPU host adds one.',
  });
}

function busy(eligible: Candidate[], fitting: Candidate[], request: AllocationRequest): SluiceError {
  const most = Math.max(0, ...[...groupByServer(fitting).values()].map((gpus) => gpus.length));
  const what =
    request.memoryMib === undefined && (request.fraction ?? 1) === 1 ? 'idle' : 'with enough memory left';
  const freest = Math.floor(Math.max(0, ...eligible.map((candidate) => candidate.freeMib)));
  return new SluiceError(
    'GPU_BUSY',
    `${count(request.gpus)} ${what} ${request.gpus === 1 ? 'is' : 'are'} asked for; now ${most} on one server ${most === 1 ? 'is' : 'are'}.`,
    { hint: `Most memory free on a GPU now: ${freest} MiB. Wait (--timeout), or ask for less.` },
  );
}

function groupByServer(candidates: Candidate[]): Map<string, Candidate[]> {
  const groups = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const { id } = candidate.server.record;
    groups.set(id, [...(groups.get(id) ?? []), candidate]);
  }
  return groups;
}

function leastLeftFirst(a: Candidate, b: Candidate): number {
  return a.freeMib - b.freeMib || a.gpu.index - b.gpu.index;
}

function leftOver(gpus: Candidate[]): number {
  return gpus.reduce((sum, candidate) => sum + candidate.freeMib, 0);
}

/** A fixed order between equals, so that the same pool always gives the same answer. */
function compareServers(a: Candidate[], b: Candidate[]): number {
  const nameA = a[0]?.server.record.hostname ?? '';
  const nameB = b[0]?.server.record.hostname ?? '';
  return nameA < nameB ? -1 : nameA > nameB ? 1 : 0;
}

function count(gpus: number): string {
  return gpus === 1 ? '1 GPU' : `${gpus} GPUs`;
}
