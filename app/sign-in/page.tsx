import type { Metadata } from 'next';
import { SignInPage } from '@/components/signIn/SignInPage';
import { safeNextPath } from '@/components/signIn/safeNextPath';

export const metadata: Metadata = { title: 'Sign in' };

export default async function Page({
  searchParams,
}: Readonly<{ searchParams: Promise<{ next?: string | string[] }> }>) {
  return <SignInPage next={safeNextPath((await searchParams).next)} />;
}
