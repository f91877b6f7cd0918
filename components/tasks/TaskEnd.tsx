import type { TaskRow } from '../trpc/types';
import { Status, type Tone } from '../ui/Status';

type End = NonNullable<TaskRow['how']>;

const ends: Record<End, { tone: Tone; word: string }> = {
  closed: { tone: 'neutral', word: 'ended' },
  revoked: { tone: 'warn', word: 'revoked' },
  killed: { tone: 'bad', word: 'killed' },
  crashed: { tone: 'bad', word: 'crashed' },
  refused: { tone: 'bad', word: 'refused' },
};

/** Whether a program runs, or how it ended; the detail on hover. */
export function TaskEnd({ task }: Readonly<{ task: TaskRow }>) {
  if (task.endedAt === null) return <Status tone="ok">running</Status>;
  const end = task.how === null ? { tone: 'neutral' as const, word: 'ended' } : ends[task.how];
  return (
    <span title={task.detail ?? undefined}>
      <Status tone={end.tone}>{end.word}</Status>
    </span>
  );
}
