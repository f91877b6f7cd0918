'use client';

import type { ReactNode } from 'react';
import { countOf } from '../format/formatCount';
import type { AllocationRow } from '../trpc/types';
import { Status } from '../ui/Status';
import { GpuPlaces } from './GpuPlaces';

type Step = { done: boolean; text: ReactNode };

/** How far the giving back of an allocation is: told, programs gone, memory back. Follows the live row. */
export function ReleaseProgress({ allocation }: Readonly<{ allocation: AllocationRow }>) {
  const over = allocation.endedAt !== null;
  const steps: Step[] = [
    { done: allocation.state === 'releasing' || over, text: 'No new program can use the allocation' },
    {
      done: allocation.sessions === 0 && (allocation.state === 'releasing' || over),
      text:
        allocation.sessions === 0
          ? 'Its programs have ended'
          : `Ending ${countOf(allocation.sessions, 'program')}`,
    },
    {
      done: over,
      text: over ? (
        <>
          <GpuPlaces gpus={allocation.gpus} /> {allocation.gpus.length === 1 ? 'is' : 'are'} free again
        </>
      ) : (
        'Proving that the memory is back'
      ),
    },
  ];
  return (
    <ol role="status" aria-label="Progress" className="flex flex-col gap-1.5 text-sm">
      {steps.map((step, position) => (
        <li key={position}>
          <Status tone={step.done ? 'ok' : 'busy'} className={step.done ? undefined : 'text-muted'}>
            {step.text}
          </Status>
        </li>
      ))}
    </ol>
  );
}
