import type { ReactNode } from 'react';
import { LiveIndicator } from '../live/LiveIndicator';
import { ThemeMenu } from './ThemeMenu';
import { UserMenu } from './UserMenu';

type Props = { title: ReactNode; action?: ReactNode };

/** Title on the left; whether it is live, the page's one main action and the person's menus on the right. */
export function PageHeader({ title, action }: Readonly<Props>) {
  return (
    <header className="sticky top-0 z-20 flex h-12 items-center gap-2 border-b border-line bg-surface px-4 lg:px-5">
      <h1 className="min-w-0 flex-1 truncate text-base font-semibold">{title}</h1>
      <LiveIndicator />
      {action && <div className="flex items-center gap-2 pl-2">{action}</div>}
      <div className="flex items-center">
        <ThemeMenu />
        <UserMenu />
      </div>
    </header>
  );
}
