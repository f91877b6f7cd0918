'use client';

import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button } from './Button';

const CONFIRM_MS = 1500;

/** Copies `text`; shows a tick for a moment, or says that the browser refused. */
export function CopyButton({ text, label }: Readonly<{ text: string; label: string }>) {
  const [outcome, setOutcome] = useState<'copied' | 'refused' | null>(null);
  useEffect(() => {
    if (!outcome) return;
    const timer = setTimeout(() => setOutcome(null), CONFIRM_MS);
    return () => clearTimeout(timer);
  }, [outcome]);

  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('copied');
    } catch {
      // Browsers give the clipboard only to pages served over HTTPS or from this machine.
      setOutcome('refused');
    }
  };
  return (
    <Button look="quiet" size="small" onClick={copy} aria-label={label} title={label}>
      {outcome === 'copied' ? <Check className="text-ok" /> : <Copy />}
      <span role="status" className={outcome ? undefined : 'sr-only'}>
        {outcome === 'copied' && 'Copied'}
        {outcome === 'refused' && 'Select the text and copy it'}
      </span>
    </Button>
  );
}
