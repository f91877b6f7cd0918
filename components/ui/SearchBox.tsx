'use client';

import { Search } from 'lucide-react';
import { useUrlState } from '../data/useUrlState';
import { Input } from './Field';

/** Narrows the table of a page; what is typed stands in the address as ?q=. */
export function SearchBox({ label }: Readonly<{ label: string }>) {
  const [query, setQuery] = useUrlState('q', '');
  return (
    <div className="relative w-full sm:w-64">
      <Search aria-hidden className="absolute top-2 left-2.5 size-4 text-faint" />
      <Input
        type="search"
        aria-label={label}
        placeholder={label}
        value={query}
        onChange={(event) => setQuery(event.target.value)}
        className="pl-8"
      />
    </div>
  );
}
