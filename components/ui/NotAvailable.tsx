'use client';

import { Tooltip } from './Tooltip';

/** The mark for a value that does not exist; hovering or focusing says why. Never a 0. */
export function NotAvailable({ reason }: Readonly<{ reason: string }>) {
  return (
    <Tooltip content={reason}>
      <span tabIndex={0} className="cursor-help text-faint" aria-label={`Not available: ${reason}`}>
        –
      </span>
    </Tooltip>
  );
}
