'use client';

import { useTasks } from '../data/usePool';
import { useUrlState } from '../data/useUrlState';
import { countOf } from '../format/formatCount';
import { PageBody } from '../frame/PageBody';
import { PageHeader } from '../frame/PageHeader';
import { QueryView } from '../frame/QueryView';
import type { TaskRow } from '../trpc/types';
import { CommandLine } from '../ui/CommandLine';
import { Panel } from '../ui/Panel';
import { matchesQuery } from '../ui/matchesQuery';
import { SearchBox } from '../ui/SearchBox';
import { Segmented } from '../ui/Segmented';
import { EmptyState } from '../ui/States';
import { TasksTable } from './TasksTable';

const views = [
  { value: 'running', label: 'Running' },
  { value: 'finished', label: 'Finished' },
] as const;

/** What runs on the pool, and what ran. */
export function TasksPage() {
  const tasks = useTasks();
  const [query] = useUrlState('q', '');
  const [view, setView] = useUrlState('show', 'running');
  const finished = view === 'finished';
  const found = (tasks.data ?? []).filter(
    (row) => (row.endedAt !== null) === finished && matches(row, query),
  );
  return (
    <>
      <PageHeader title="Tasks" />
      <PageBody>
        <div className="flex flex-wrap items-center gap-3">
          <Segmented
            label="Which tasks"
            value={finished ? 'finished' : 'running'}
            choices={views}
            onChange={setView}
          />
          <SearchBox label="Search tasks" />
        </div>
        <Panel title={finished ? 'Finished tasks' : 'Running tasks'} aside={countOf(found.length, 'task')}>
          <QueryView query={tasks} label="tasks">
            {() => <TasksTable rows={found} empty={<NoTasks query={query} finished={finished} />} />}
          </QueryView>
        </Panel>
      </PageBody>
    </>
  );
}

function matches(row: TaskRow, query: string): boolean {
  return matchesQuery(query, [row.command, row.user, row.clientHost, row.serverAddress, row.how ?? '']);
}

function NoTasks({ query, finished }: Readonly<{ query: string; finished: boolean }>) {
  if (query !== '') return <EmptyState title={`No task matches “${query}”`}>Shorten the search.</EmptyState>;
  if (finished) return <EmptyState title="No program has finished yet" />;
  return (
    <EmptyState title="No program uses the pool now">
      <p>Run one from any machine that has Sluice:</p>
      <div className="text-left text-ink">
        <CommandLine command="bin/sluice run -n 1 -- <program>" />
      </div>
    </EmptyState>
  );
}
