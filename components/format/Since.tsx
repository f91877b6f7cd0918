'use client';

import { useNow } from '../data/useNow';
import { formatDateTime, formatDuration } from './formatTime';

type Props = {
  /** Unix milliseconds of the server's clock. */
  from: number;
  /** End of the span; null while it lasts. */
  to?: number | null;
};

/** How long something lasts or lasted; the absolute times on hover. */
export function Since({ from, to = null }: Readonly<Props>) {
  const now = useNow();
  if (now === 0) return <span>…</span>;
  const title =
    to === null ? `since ${formatDateTime(from)}` : `${formatDateTime(from)} – ${formatDateTime(to)}`;
  return <time title={title}>{formatDuration((to ?? now) - from)}</time>;
}

/** Time left until `at`; null means that there is no end. */
export function Left({ at }: Readonly<{ at: number | null }>) {
  const now = useNow();
  if (at === null) return <span className="text-muted">no end</span>;
  if (now === 0) return <span>…</span>;
  return <time title={`until ${formatDateTime(at)}`}>{formatDuration(at - now)}</time>;
}
