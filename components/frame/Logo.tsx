/** Three waves: what flows through a sluice. */
export function Logo({ className }: Readonly<{ className?: string }>) {
  return (
    <svg aria-hidden viewBox="0 0 32 32" className={className}>
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <path
        d="M6 11q5-4 10 0t10 0M6 17q5-4 10 0t10 0M6 23q5-4 10 0t10 0"
        fill="none"
        stroke="var(--on-accent)"
        strokeWidth="2.6"
        strokeLinecap="round"
      />
    </svg>
  );
}
