'use client';

import { CircleUser, LogOut } from 'lucide-react';
import { useMe } from '../data/usePool';
import { signOut } from '../signIn/session';
import { Button } from '../ui/Button';
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/Menu';

export function UserMenu() {
  const { data: me } = useMe();
  const leave = async () => {
    await signOut();
    // A full load, so that nothing of the former user stays in memory.
    window.location.assign('/sign-in');
  };
  return (
    <Menu
      trigger={
        <Button look="quiet" size="icon" aria-label={me ? `Account of ${me.email}` : 'Account'}>
          <CircleUser className="size-4.5" />
        </Button>
      }
    >
      {me && (
        <>
          <MenuLabel>
            <span className="block text-sm font-medium text-ink">{me.email}</span>
            {me.role} · Sluice {me.version}
          </MenuLabel>
          <MenuSeparator />
        </>
      )}
      <MenuItem onSelect={() => void leave()}>
        <LogOut />
        Sign out
      </MenuItem>
    </Menu>
  );
}
