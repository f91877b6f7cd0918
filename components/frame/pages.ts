import { Activity, Cpu, HeartPulse, LayoutDashboard, Server, Ticket, type LucideIcon } from 'lucide-react';

export type PageLink = { href: string; label: string; icon: LucideIcon };

/** What the sidebar lists, in its order. */
export const pages: readonly PageLink[] = [
  { href: '/', label: 'Overview', icon: LayoutDashboard },
  { href: '/servers', label: 'Servers', icon: Server },
  { href: '/gpus', label: 'GPUs', icon: Cpu },
  { href: '/allocations', label: 'Allocations', icon: Ticket },
  { href: '/tasks', label: 'Tasks', icon: Activity },
  { href: '/health', label: 'Health', icon: HeartPulse },
];

/** Whether `path` is the page or below it. */
export function isCurrent(href: string, path: string): boolean {
  return href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`);
}
