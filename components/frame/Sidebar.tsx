'use client';

import Link from 'next/link';
import { usePathname } from 'next/navigation';
import { cn } from '../ui/cn';
import { Logo } from './Logo';
import { isCurrent, pages } from './pages';

/** The pages: beside the content, as icons when space is short, at the bottom on phones. */
export function Sidebar() {
  const path = usePathname();
  return (
    <nav
      aria-label="Pages"
      className="fixed inset-x-0 bottom-0 z-30 flex border-t border-line bg-surface md:sticky md:inset-auto md:top-0 md:h-dvh md:w-14 md:flex-col md:border-t-0 md:border-r lg:w-48"
    >
      <Link
        href="/"
        className="hidden h-12 items-center gap-2.5 px-3.5 md:flex lg:px-4"
        aria-label="Sluice, overview"
      >
        <Logo className="size-6" />
        <span className="hidden text-base font-semibold tracking-tight lg:inline">Sluice</span>
      </Link>
      <ul className="flex flex-1 justify-around md:flex-col md:justify-start md:gap-0.5 md:px-2 md:pt-1">
        {pages.map(({ href, label, icon: Icon }) => {
          const current = isCurrent(href, path);
          return (
            <li key={href}>
              <Link
                href={href}
                aria-current={current ? 'page' : undefined}
                title={label}
                className={cn(
                  'flex flex-col items-center gap-0.5 rounded-md px-2 py-2 text-2xs md:h-8 md:flex-row md:gap-2.5 md:px-2.5 md:py-0 md:text-sm',
                  current
                    ? 'font-medium text-accent md:bg-accent-soft'
                    : 'text-muted hover:bg-hover hover:text-ink',
                )}
              >
                <Icon aria-hidden className="size-4.5 shrink-0 md:size-4" />
                <span className="md:sr-only lg:not-sr-only">{label}</span>
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
