import type { ServerRow } from '../trpc/types';
import { Status, type Tone } from '../ui/Status';

const tones: Record<ServerRow['state'], Tone> = {
  ready: 'ok',
  cordoned: 'warn',
  unreachable: 'bad',
  joining: 'busy',
};

export function ServerStatus({ state }: Readonly<{ state: ServerRow['state'] }>) {
  return <Status tone={tones[state]}>{state}</Status>;
}
