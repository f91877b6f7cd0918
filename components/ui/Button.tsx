import { Slot } from '@radix-ui/react-slot';
import { cva, type VariantProps } from 'class-variance-authority';
import type { ComponentProps } from 'react';
import { cn } from './cn';

const buttonStyle = cva(
  'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap transition-colors disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-3.5 [&_svg]:shrink-0',
  {
    variants: {
      look: {
        primary: 'bg-accent text-on-accent hover:bg-accent-hover',
        plain: 'border border-line bg-surface text-ink shadow-panel hover:bg-hover',
        quiet: 'text-muted hover:bg-hover hover:text-ink',
        danger: 'bg-bad text-surface hover:opacity-90 dark:text-canvas',
        dangerPlain: 'border border-line bg-surface text-bad shadow-panel hover:bg-bad-soft',
      },
      size: { normal: 'h-8 px-3 text-sm', small: 'h-6.5 px-2 text-xs', icon: 'size-8' },
    },
    defaultVariants: { look: 'plain', size: 'normal' },
  },
);

type Props = ComponentProps<'button'> & VariantProps<typeof buttonStyle> & { asChild?: boolean };

/** A button; with asChild its look goes to the child (a link). */
export function Button({ className, look, size, asChild, type, ...props }: Readonly<Props>) {
  const Element = asChild ? Slot : 'button';
  return (
    <Element
      className={cn(buttonStyle({ look, size }), className)}
      {...(asChild ? {} : { type: type ?? 'button' })}
      {...props}
    />
  );
}
