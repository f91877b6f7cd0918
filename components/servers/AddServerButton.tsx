'use client';

import { Plus } from 'lucide-react';
import { useState } from 'react';
import { mayAddServers } from '../data/roles';
import { useMe } from '../data/usePool';
import { Button } from '../ui/Button';
import { Dialog } from '../ui/Dialog';
import { AddServerSteps } from './AddServerSteps';

/** Adds another server to the pool, for those who may. */
export function AddServerButton() {
  const { data: me } = useMe();
  const [open, setOpen] = useState(false);
  if (!mayAddServers(me?.role)) return null;
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        <Plus aria-hidden />
        Add a server
      </Button>
      <Dialog open={open} onOpenChange={setOpen} title="Add a server" description="Its GPUs join the pool.">
        <div className="mt-4">
          <AddServerSteps />
        </div>
      </Dialog>
    </>
  );
}
