import type { ReactNode } from 'react';

export function PageBody({ children }: Readonly<{ children: ReactNode }>) {
  return <div className="flex flex-col gap-4 p-4 lg:p-5">{children}</div>;
}
