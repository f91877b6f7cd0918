import type { HealthReport } from '../trpc/types';
import { Status, type Tone } from '../ui/Status';

type Finding = HealthReport['findings'][number];

const severities: Record<Finding['severity'], { tone: Tone; word: string; rank: number }> = {
  fatal: { tone: 'bad', word: 'fatal', rank: 0 },
  warning: { tone: 'warn', word: 'warning', rank: 1 },
  ok: { tone: 'ok', word: 'ok', rank: 2 },
};

/** What is wrong comes first, each with what to do. */
export function Findings({ report }: Readonly<{ report: HealthReport }>) {
  const ordered = report.findings.toSorted(
    (a, b) => severities[a.severity].rank - severities[b.severity].rank,
  );
  return (
    <ul>
      {ordered.map((finding) => (
        <li
          key={finding.id}
          className="grid grid-cols-[6rem_1fr] gap-x-3 border-b border-line px-3.5 py-2.5 last:border-0"
        >
          <Status tone={severities[finding.severity].tone}>{severities[finding.severity].word}</Status>
          <div className="min-w-0">
            <p className="font-medium">{finding.title}</p>
            <p className="text-muted">{finding.detail}</p>
            {finding.action && <p className="mt-0.5">{finding.action}</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}
