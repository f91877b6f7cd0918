'use client';

import { LoaderCircle } from 'lucide-react';
import { useState, type FormEvent } from 'react';
import { Logo } from '../frame/Logo';
import { Button } from '../ui/Button';
import { Field, Input } from '../ui/Field';
import { ErrorState } from '../ui/States';
import { signIn } from './session';

/** Asks who is there. `next`: where to go afterwards. */
export function SignInPage({ next }: Readonly<{ next: string }>) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    const refusal = await signIn(email.trim(), password);
    if (refusal === null) {
      // A full load: the server then sends the page with its data.
      window.location.assign(next);
      return;
    }
    setBusy(false);
    setError(refusal);
  };

  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <div className="w-full max-w-90">
        <div className="mb-5 flex items-center gap-3">
          <Logo className="size-9" />
          <div>
            <h1 className="text-lg leading-5 font-semibold">Sluice</h1>
            <p className="text-xs text-muted">GPUs of many servers, lent over the network</p>
          </div>
        </div>
        <form
          onSubmit={(event) => void submit(event)}
          className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-5 shadow-panel"
        >
          <Field label="E-mail address">
            {(ids) => (
              <Input
                {...ids}
                type="email"
                name="email"
                autoComplete="username"
                required
                autoFocus
                value={email}
                onChange={(event) => setEmail(event.target.value)}
              />
            )}
          </Field>
          <Field label="Password">
            {(ids) => (
              <Input
                {...ids}
                type="password"
                name="password"
                autoComplete="current-password"
                required
                value={password}
                onChange={(event) => setPassword(event.target.value)}
              />
            )}
          </Field>
          {error && <ErrorState message={error} />}
          <Button type="submit" look="primary" disabled={busy}>
            {busy && <LoaderCircle className="animate-spin motion-reduce:animate-none" />}
            {busy ? 'Signing in' : 'Sign in'}
          </Button>
        </form>
        <p className="mt-4 text-xs text-muted">
          First time here? The first administrator is <strong className="text-ink">admin@sluice.local</strong>
          . The password is on the machine that runs the server, in{' '}
          <code className="font-mono text-ink">.sluice/admin-password</code>.
        </p>
      </div>
    </main>
  );
}
