import type { Metadata } from 'next';
import { AllocationPage } from '@/components/allocations/AllocationPage';

export const metadata: Metadata = { title: 'Allocation' };

export default async function Page({ params }: Readonly<{ params: Promise<{ id: string }> }>) {
  return <AllocationPage id={(await params).id} />;
}
