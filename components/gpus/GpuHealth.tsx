import type { GpuRow } from '../trpc/types';
import { Status, type Tone } from '../ui/Status';

const tones: Record<GpuRow['health'], Tone> = { ok: 'ok', unhealthy: 'warn', unknown: 'neutral' };

export function GpuHealth({ health }: Readonly<{ health: GpuRow['health'] }>) {
  return (
    <Status tone={tones[health]} className="text-xs">
      {health}
    </Status>
  );
}
