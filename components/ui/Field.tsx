'use client';

import * as Label from '@radix-ui/react-label';
import { useId, type ComponentProps, type ReactNode } from 'react';
import { cn } from './cn';

const controlStyle =
  'h-8 w-full rounded-md border border-line-strong bg-surface px-2.5 text-sm text-ink placeholder:text-faint disabled:opacity-60 aria-invalid:border-bad';

export function Input({ className, ...props }: Readonly<ComponentProps<'input'>>) {
  return <input className={cn(controlStyle, className)} {...props} />;
}

export function TextArea({ className, ...props }: Readonly<ComponentProps<'textarea'>>) {
  return <textarea className={cn(controlStyle, 'h-auto min-h-16 py-1.5', className)} {...props} />;
}

type FieldProps = {
  label: string;
  hint?: ReactNode;
  error?: string | null;
  className?: string;
  /** Gets the ids that tie the control to its label and its hint or error. */
  children: (ids: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ReactNode;
};

/** A labelled control with a hint below; an error takes the hint's place and is announced. */
export function Field({ label, hint, error, className, children }: Readonly<FieldProps>) {
  const id = useId();
  const noteId = `${id}-note`;
  return (
    <div className={cn('flex flex-col gap-1', className)}>
      <Label.Root htmlFor={id} className="text-xs font-medium text-muted">
        {label}
      </Label.Root>
      {children({ id, 'aria-describedby': noteId, 'aria-invalid': Boolean(error) })}
      <div
        id={noteId}
        className={cn('text-xs', error ? 'text-bad' : 'text-faint')}
        role={error ? 'alert' : undefined}
      >
        {error || hint}
      </div>
    </div>
  );
}
