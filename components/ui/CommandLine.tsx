import { CopyButton } from './CopyButton';

/** A command to run in a terminal, with a button that copies it. */
export function CommandLine({
  command,
  label = 'Copy the command',
}: Readonly<{ command: string; label?: string }>) {
  return (
    <div className="flex items-center gap-2 rounded-md border border-line bg-sunken py-1.5 pr-1.5 pl-3">
      <span aria-hidden className="font-mono text-xs text-faint select-none">
        $
      </span>
      <code className="min-w-0 flex-1 font-mono text-xs break-all">{command}</code>
      <CopyButton text={command} label={label} />
    </div>
  );
}
