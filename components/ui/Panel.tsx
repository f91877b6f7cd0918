import type { ReactNode } from 'react';
import { cn } from './cn';

type Props = {
  title?: ReactNode;
  /** Right end of the title line: a count, a link, a legend. */
  aside?: ReactNode;
  className?: string;
  bodyClassName?: string;
  children: ReactNode;
};

/** A bordered area with a title; its heading names the region for screen readers. */
export function Panel({ title, aside, className, bodyClassName, children }: Readonly<Props>) {
  const label = typeof title === 'string' ? title : undefined;
  return (
    <section
      aria-label={label}
      className={cn('flex min-w-0 flex-col rounded-lg border border-line bg-surface shadow-panel', className)}
    >
      {title !== undefined && (
        <header className="flex h-10 shrink-0 items-center justify-between gap-3 border-b border-line px-3.5">
          <h2 className="truncate text-sm font-semibold">{title}</h2>
          {aside && <div className="flex shrink-0 items-center gap-3 text-xs text-muted">{aside}</div>}
        </header>
      )}
      <div className={cn('min-h-0 flex-1', bodyClassName)}>{children}</div>
    </section>
  );
}
