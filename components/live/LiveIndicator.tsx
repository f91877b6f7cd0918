'use client';

import { formatClock } from '../format/formatTime';
import { Status } from '../ui/Status';
import { useLive } from './LiveProvider';

/** Says whether what is on the screen is true at this moment. */
export function LiveIndicator() {
  const { live, since } = useLive();
  if (live) {
    return (
      <span role="status" className="text-xs text-muted">
        <Status tone="ok">live</Status>
      </span>
    );
  }
  return (
    <span role="status" className="text-xs text-warn">
      <Status tone={since === null ? 'busy' : 'warn'}>
        {since === null ? 'connecting' : `not live since ${formatClock(since)}`}
      </Status>
    </span>
  );
}
