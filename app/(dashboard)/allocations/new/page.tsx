import type { Metadata } from 'next';
import { NewAllocationPage } from '@/components/allocations/NewAllocationPage';

export const metadata: Metadata = { title: 'Allocate' };

type Props = { searchParams: Promise<{ gpu?: string | string[] }> };

export default async function Page({ searchParams }: Readonly<Props>) {
  const { gpu } = await searchParams;
  return <NewAllocationPage gpuUuid={typeof gpu === 'string' ? gpu : ''} />;
}
