'use client';

import type { ReactNode } from 'react';
import { useFinishedTasks, useRunningTasks } from '../data/usePool';
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
  const [query] = useUrlState('q', '');
  const [view, setView] = useUrlState('show', 'running');
  const finished = view === 'finished';
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
        {finished ? <FinishedTasks query={query} /> : <RunningTasks query={query} />}
      </PageBody>
    </>
  );
}

function RunningTasks({ query }: Readonly<{ query: string }>) {
  return <TasksPanel title="Running tasks" tasks={useRunningTasks()} query={query} empty={<NoneRunning />} />;
}

function FinishedTasks({ query }: Readonly<{ query: string }>) {
  const empty = <EmptyState title="No program has finished yet" />;
  return <TasksPanel title="Finished tasks" tasks={useFinishedTasks()} query={query} empty={empty} />;
}

type PanelProps = {
  title: string;
  tasks: ReturnType<typeof useRunningTasks>;
  query: string;
  /** Shown when there is none at all; a search without a match says so itself. */
  empty: ReactNode;
};

function TasksPanel({ title, tasks, query, empty }: Readonly<PanelProps>) {
  const found = (tasks.data ?? []).filter((row) => matches(row, query));
  const noMatch = <EmptyState title={`No task matches “${query}”`}>Shorten the search.</EmptyState>;
  return (
    <Panel title={title} aside={countOf(found.length, 'task')}>
      <QueryView query={tasks} label="tasks">
        {() => <TasksTable rows={found} empty={query === '' ? empty : noMatch} />}
      </QueryView>
    </Panel>
  );
}

function matches(row: TaskRow, query: string): boolean {
  return matchesQuery(query, [row.command, row.user, row.clientHost, row.serverAddress, row.how ?? '']);
}

function NoneRunning() {
  return (
    <EmptyState title="No program uses the pool now">
      <p>Run one from any machine that has Sluice:</p>
      <div className="text-left text-ink">
        <CommandLine command="bin/sluice run -n 1 -- <program>" />
      </div>
    </EmptyState>
  );
}
