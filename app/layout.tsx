import type { Metadata, Viewport } from 'next';
import type { ReactNode } from 'react';
import { AppProviders } from '@/components/frame/AppProviders';
import './globals.css';

export const metadata: Metadata = {
  title: { template: '%s · Sluice', default: 'Sluice' },
  description: 'GPUs of many servers, lent over the network',
};

export const viewport: Viewport = { width: 'device-width', initialScale: 1 };

export default function RootLayout({ children }: Readonly<{ children: ReactNode }>) {
  return (
    // public/theme.js sets the class before React looks at it.
    <html lang="en" suppressHydrationWarning>
      <head>
        <script src="/theme.js" />
      </head>
      <body>
        <AppProviders>{children}</AppProviders>
      </body>
    </html>
  );
}
