import type { Metadata } from 'next';
import { HealthPage } from '@/components/health/HealthPage';

export const metadata: Metadata = { title: 'Health' };

export default function Page() {
  return <HealthPage />;
}
