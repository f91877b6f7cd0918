import type { Metadata } from 'next';
import { ServerPage } from '@/components/servers/ServerPage';

export const metadata: Metadata = { title: 'Server' };

export default async function Page({ params }: Readonly<{ params: Promise<{ id: string }> }>) {
  return <ServerPage id={(await params).id} />;
}
