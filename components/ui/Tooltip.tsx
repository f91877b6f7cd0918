'use client';

import * as Primitive from '@radix-ui/react-tooltip';
import type { ReactNode } from 'react';

export const TooltipProvider = Primitive.Provider;

type Props = { content: ReactNode; side?: 'top' | 'right' | 'bottom' | 'left'; children: ReactNode };

/** Shows `content` when its child is hovered or focused. The child must accept focus and a ref. */
export function Tooltip({ content, side = 'top', children }: Readonly<Props>) {
  return (
    <Primitive.Root>
      <Primitive.Trigger asChild>{children}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="z-50 max-w-80 rounded-md border border-line bg-surface px-2.5 py-1.5 text-xs text-ink shadow-pop"
        >
          {content}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
