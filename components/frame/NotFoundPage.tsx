import Link from 'next/link';
import { Button } from '../ui/Button';
import { EmptyState } from '../ui/States';

export function NotFoundPage() {
  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <EmptyState title="There is no page at this address">
        <Button asChild>
          <Link href="/">To the overview</Link>
        </Button>
      </EmptyState>
    </main>
  );
}
