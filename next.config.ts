import type { NextConfig } from 'next';

/** The dashboard's build. The API is not in here: server/main.ts serves it and hands only pages to Next. */
const config: NextConfig = {
  // Event streams must not be held back by a compressing buffer, and a proxy in front compresses better.
  compress: false,
  poweredByHeader: false,
  reactStrictMode: true,
  devIndicators: false,
  // `npm run lint` checks types of the whole project; a second pass inside the build would only cost time.
  typescript: { ignoreBuildErrors: true },
  serverExternalPackages: ['@electric-sql/pglite', '@prisma/client', 'koffi', 'pino'],
};

export default config;
