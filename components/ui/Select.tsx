'use client';

import * as Primitive from '@radix-ui/react-select';
import { Check, ChevronDown } from 'lucide-react';
import { cn } from './cn';

type Props = {
  value: string;
  choices: readonly { value: string; label: string }[];
  onChange: (value: string) => void;
  id?: string;
  'aria-label'?: string;
  'aria-describedby'?: string;
  className?: string;
};

/** A list that opens on demand, for choices too many or too long to stand side by side. */
export function Select({ value, choices, onChange, className, ...trigger }: Readonly<Props>) {
  return (
    <Primitive.Root value={value} onValueChange={onChange}>
      <Primitive.Trigger
        {...trigger}
        className={cn(
          'flex h-8 w-full items-center justify-between gap-2 rounded-md border border-line-strong bg-surface px-2.5 text-sm',
          className,
        )}
      >
        <span className="truncate">
          <Primitive.Value />
        </span>
        <ChevronDown className="size-3.5 shrink-0 text-muted" aria-hidden />
      </Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          position="popper"
          sideOffset={4}
          className="z-50 max-h-72 min-w-(--radix-select-trigger-width) overflow-hidden rounded-lg border border-line bg-surface p-1 shadow-pop"
        >
          <Primitive.Viewport>
            {choices.map((choice) => (
              <Primitive.Item
                key={choice.value}
                value={choice.value}
                className="flex h-8 items-center justify-between gap-3 rounded-md px-2 text-sm outline-none select-none data-[highlighted]:bg-hover"
              >
                <Primitive.ItemText>{choice.label}</Primitive.ItemText>
                <Primitive.ItemIndicator>
                  <Check className="size-3.5 text-accent" />
                </Primitive.ItemIndicator>
              </Primitive.Item>
            ))}
          </Primitive.Viewport>
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
