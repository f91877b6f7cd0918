'use client';

import { useId } from 'react';
import { cn } from './cn';

type Props<T extends string> = {
  label: string;
  value: T;
  choices: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
};

/** A few exclusive choices side by side; radio buttons underneath, so arrow keys work. */
export function Segmented<T extends string>({ label, value, choices, onChange }: Readonly<Props<T>>) {
  const name = useId();
  return (
    <div
      role="radiogroup"
      aria-label={label}
      className="inline-flex rounded-md border border-line bg-sunken p-0.5"
    >
      {choices.map((choice) => (
        <label
          key={choice.value}
          className={cn(
            'flex h-6.5 cursor-pointer items-center rounded-[5px] px-2.5 text-xs font-medium has-focus-visible:outline-2 has-focus-visible:outline-accent',
            choice.value === value ? 'bg-surface text-ink shadow-panel' : 'text-muted hover:text-ink',
          )}
        >
          <input
            type="radio"
            name={name}
            className="sr-only"
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
          />
          {choice.label}
        </label>
      ))}
    </div>
  );
}
