'use client';

import { Tooltip } from './Tooltip';

/** The mark for a value that does not exist; hovering says why, and so does a screen reader. Never a 0. */
export function NotAvailable({ reason }: Readonly<{ reason: string }>) {
  return (
    <Tooltip content={reason}>
      <span className="cursor-help text-faint">
        <span aria-hidden>–</span>
        <span className="sr-only">not available: {reason}</span>
      </span>
    </Tooltip>
  );
}
