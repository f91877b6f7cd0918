'use client';

import { Monitor, Moon, Sun } from 'lucide-react';
import { Button } from '../ui/Button';
import { Menu, MenuChoices } from '../ui/Menu';
import { setTheme, useThemeChoice } from './theme';

const choices = [
  { value: 'light', label: 'Light', icon: <Sun /> },
  { value: 'dark', label: 'Dark', icon: <Moon /> },
  { value: 'system', label: 'System', icon: <Monitor /> },
] as const;

export function ThemeMenu() {
  const theme = useThemeChoice();
  return (
    <Menu
      trigger={
        <Button look="quiet" size="icon" aria-label={`Theme: ${theme}`}>
          <Sun className="dark:hidden" />
          <Moon className="hidden dark:block" />
        </Button>
      }
    >
      <MenuChoices value={theme} choices={choices} onChange={setTheme} />
    </Menu>
  );
}
