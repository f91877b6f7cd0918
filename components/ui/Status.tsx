import type { ReactNode } from 'react';
import { cn } from './cn';

export type Tone = 'ok' | 'warn' | 'bad' | 'busy' | 'neutral';

// A state is told by shape and word as well as by colour.
const shapes: Record<Tone, string> = { ok: '●', warn: '▲', bad: '■', busy: '◐', neutral: '○' };
const colours: Record<Tone, string> = {
  ok: 'text-ok',
  warn: 'text-warn',
  bad: 'text-bad',
  busy: 'text-accent',
  neutral: 'text-faint',
};

type Props = { tone: Tone; children: ReactNode; className?: string };

/** A state as shape and word, such as "● ready". */
export function Status({ tone, children, className }: Readonly<Props>) {
  return (
    <span className={cn('whitespace-nowrap', className)}>
      <span aria-hidden className={cn('relative -top-px mr-1.5 text-[9px]', colours[tone])}>
        {shapes[tone]}
      </span>
      {children}
    </span>
  );
}
