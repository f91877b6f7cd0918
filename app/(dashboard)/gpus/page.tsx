import type { Metadata } from 'next';
import { GpusPage } from '@/components/gpus/GpusPage';

export const metadata: Metadata = { title: 'GPUs' };

export default function Page() {
  return <GpusPage />;
}
