'use client';

import { TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from './Button';
import { cn } from './cn';
import { CopyButton } from './CopyButton';

/** Nothing is here, and what to do so that something is. */
export function EmptyState({ title, children }: Readonly<{ title: string; children?: ReactNode }>) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-10 text-center">
      <p className="text-sm font-medium">{title}</p>
      {children && <div className="flex max-w-xl flex-col gap-2 text-sm text-muted">{children}</div>}
    </div>
  );
}

type ErrorProps = {
  message: string;
  hint?: string | null;
  detail?: string | null;
  onRetry?: () => void;
  className?: string;
};

/** What happened, what to do, and a detail to hand on. */
export function ErrorState({ message, hint, detail, onRetry, className }: Readonly<ErrorProps>) {
  return (
    <div
      role="alert"
      className={cn(
        'flex items-start gap-3 rounded-lg border border-bad/40 bg-bad-soft px-3.5 py-3 text-sm',
        className,
      )}
    >
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 flex-1">
        <p className="font-medium break-words">{message}</p>
        {hint && <p className="mt-0.5 text-muted">{hint}</p>}
        {detail && (
          <p className="mt-1 flex items-center gap-1 font-mono text-2xs text-muted">
            <span className="min-w-0 break-all">{detail}</span>
            <CopyButton text={`${message}\n${detail}`} label="Copy the error" />
          </p>
        )}
      </div>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** Grey lines where rows will be. */
export function LoadingRows({ rows = 4, label }: Readonly<{ rows?: number; label: string }>) {
  return (
    <div role="status" aria-label={label} className="flex flex-col gap-3 p-3.5">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="skeleton h-4" style={{ width: `${92 - ((row * 17) % 38)}%` }} />
      ))}
    </div>
  );
}
