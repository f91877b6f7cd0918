// The process that calls NVML for the agent. A call that hangs in the driver
// stops this process only; the agent goes on and starts another.
import type { GpuSample } from '../../../protocol/control/agentMessages';
import { Nvml } from './library';
import { readInventory, readSamples, type Inventory } from './reading';

export type SamplerRequest = { readonly id: number; readonly ask: 'inventory' | 'samples' };
export type SamplerAnswer = { readonly id: number } & (
  { readonly inventory: Inventory } | { readonly samples: GpuSample[] } | { readonly error: string }
);

/** Answers the parent's requests until it goes away. */
export function serveSamples(library: string, software: boolean): void {
  let nvml: Nvml | null = null;
  process.on('message', (request: SamplerRequest) => {
    let answer: SamplerAnswer;
    try {
      nvml ??= Nvml.open(library);
      answer =
        request.ask === 'inventory'
          ? { id: request.id, inventory: readInventory(nvml, software) }
          : { id: request.id, samples: readSamples(nvml) };
    } catch (error) {
      answer = { id: request.id, error: error instanceof Error ? error.message : String(error) };
    }
    process.send?.(answer);
  });
  process.on('disconnect', () => process.exit(0));
  // Ctrl-C reaches the whole process group; the agent decides when this process ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
}
