'use client';

import { ErrorState } from '../ui/States';

type Props = { error: Error & { digest?: string }; reset: () => void };

/** When drawing a page failed. */
export function ErrorPage({ error, reset }: Readonly<Props>) {
  return (
    <div className="mx-auto max-w-2xl p-6">
      <ErrorState
        message="This page could not be shown."
        hint="The pool and everything that runs on it are not affected."
        detail={error.digest ?? error.message}
        onRetry={reset}
      />
    </div>
  );
}
