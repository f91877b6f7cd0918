import Link from 'next/link';
import { cn } from '../ui/cn';
import type { Overview } from './prepareOverview';

type Figure = { value: number; name: string; href: string; alarm?: 'warn' | 'bad' };

/** The pool in one line of figures; each leads to what it counts. */
export function FigureStrip({ overview }: Readonly<{ overview: Overview }>) {
  const figures: Figure[] = [
    { value: overview.gpus, name: overview.gpus === 1 ? 'GPU' : 'GPUs', href: '/gpus' },
    { value: overview.granted, name: 'granted', href: '/gpus?sort=-used' },
    { value: overview.grantedIdle, name: 'granted, idle', href: '/allocations', alarm: 'warn' },
    { value: overview.free, name: 'free', href: '/gpus?sort=used' },
    { value: overview.unhealthy, name: 'unhealthy', href: '/gpus?sort=-health', alarm: 'bad' },
    { value: overview.servers, name: overview.servers === 1 ? 'server' : 'servers', href: '/servers' },
    { value: overview.serversNotReady, name: 'not ready', href: '/servers?sort=state', alarm: 'bad' },
    {
      value: overview.runningTasks,
      name: overview.runningTasks === 1 ? 'running task' : 'running tasks',
      href: '/tasks',
    },
    {
      value: overview.activeAllocations,
      name: overview.activeAllocations === 1 ? 'allocation' : 'allocations',
      href: '/allocations',
    },
    { value: overview.queued, name: 'queued', href: '/allocations', alarm: 'warn' },
  ];
  return (
    <ul className="flex flex-wrap gap-y-1 rounded-lg border border-line bg-surface px-1.5 py-1.5 shadow-panel">
      {figures.map((figure) => (
        <li key={figure.name}>
          <Link
            href={figure.href}
            className="flex items-baseline gap-1.5 rounded-md px-2.5 py-1 hover:bg-hover"
          >
            <span
              className={cn(
                'text-lg font-semibold',
                figure.value === 0 && 'text-faint',
                figure.value > 0 && figure.alarm === 'warn' && 'text-warn',
                figure.value > 0 && figure.alarm === 'bad' && 'text-bad',
              )}
            >
              {figure.value > 0 && figure.alarm && (
                <span aria-hidden className="mr-1 text-xs">
                  {figure.alarm === 'warn' ? '▲' : '■'}
                </span>
              )}
              {figure.value}
            </span>
            <span className="text-xs text-muted">{figure.name}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
