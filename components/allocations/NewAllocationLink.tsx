'use client';

import { Plus } from 'lucide-react';
import Link from 'next/link';
import { mayAllocate } from '../data/roles';
import { useMe } from '../data/usePool';
import { Button } from '../ui/Button';

/** The way to allocate by hand, for those who may. */
export function NewAllocationLink() {
  const { data: me } = useMe();
  if (!mayAllocate(me?.role)) return null;
  return (
    <Button asChild look="primary">
      <Link href="/allocations/new">
        <Plus aria-hidden />
        Allocate
      </Link>
    </Button>
  );
}
