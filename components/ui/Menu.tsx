'use client';

import * as Primitive from '@radix-ui/react-dropdown-menu';
import { Check } from 'lucide-react';
import type { ReactNode } from 'react';

const itemStyle =
  'flex h-8 items-center gap-2 rounded-md px-2 text-sm outline-none select-none data-[highlighted]:bg-hover [&_svg]:size-3.5 [&_svg]:text-muted';

/** A menu that hangs below its trigger. */
export function Menu({ trigger, children }: Readonly<{ trigger: ReactNode; children: ReactNode }>) {
  return (
    <Primitive.Root>
      <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          align="end"
          sideOffset={6}
          collisionPadding={8}
          className="z-50 min-w-44 rounded-lg border border-line bg-surface p-1 shadow-pop"
        >
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

export function MenuItem({ onSelect, children }: Readonly<{ onSelect: () => void; children: ReactNode }>) {
  return (
    <Primitive.Item className={itemStyle} onSelect={onSelect}>
      {children}
    </Primitive.Item>
  );
}

export function MenuLabel({ children }: Readonly<{ children: ReactNode }>) {
  return <Primitive.Label className="px-2 py-1.5 text-xs text-muted">{children}</Primitive.Label>;
}

export function MenuSeparator() {
  return <Primitive.Separator className="-mx-1 my-1 h-px bg-line" />;
}

type Choice<T extends string> = { value: T; label: string; icon?: ReactNode };
type ChoicesProps<T extends string> = {
  value: T;
  choices: readonly Choice<T>[];
  onChange: (value: T) => void;
};

/** Exactly one of several; the chosen one carries a tick. */
export function MenuChoices<T extends string>({ value, choices, onChange }: Readonly<ChoicesProps<T>>) {
  const choose = (next: string) => {
    const found = choices.find((choice) => choice.value === next);
    if (found) onChange(found.value);
  };
  return (
    <Primitive.RadioGroup value={value} onValueChange={choose}>
      {choices.map((choice) => (
        <Primitive.RadioItem key={choice.value} value={choice.value} className={itemStyle}>
          {choice.icon}
          <span className="flex-1">{choice.label}</span>
          <Primitive.ItemIndicator>
            <Check />
          </Primitive.ItemIndicator>
        </Primitive.RadioItem>
      ))}
    </Primitive.RadioGroup>
  );
}
