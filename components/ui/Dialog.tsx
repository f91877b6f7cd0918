'use client';

import * as Primitive from '@radix-ui/react-dialog';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';

type Props = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description: ReactNode;
  children: ReactNode;
};

/** A modal question. Esc and the cross close it; focus returns to what opened it. */
export function Dialog({ open, onOpenChange, title, description, children }: Readonly<Props>) {
  return (
    <Primitive.Root open={open} onOpenChange={onOpenChange}>
      <Primitive.Portal>
        <Primitive.Overlay className="fixed inset-0 z-40 bg-black/35 dark:bg-black/60" />
        <Primitive.Content className="fixed top-[14vh] left-1/2 z-50 max-h-[80vh] w-[min(540px,calc(100vw-24px))] -translate-x-1/2 overflow-y-auto rounded-xl border border-line bg-surface p-5 shadow-pop">
          <Primitive.Title className="pr-8 text-lg font-semibold">{title}</Primitive.Title>
          <Primitive.Description asChild>
            <div className="mt-1 text-sm text-muted">{description}</div>
          </Primitive.Description>
          {children}
          <Primitive.Close
            aria-label="Close"
            className="absolute top-4 right-4 grid size-7 place-items-center rounded-md text-muted hover:bg-hover hover:text-ink"
          >
            <X className="size-4" />
          </Primitive.Close>
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
