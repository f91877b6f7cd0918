'use client';

import { AllocationsTable } from '../allocations/AllocationsTable';
import { NewAllocationLink } from '../allocations/NewAllocationLink';
import { useCurrentAllocations, useRunningTasks, useServers } from '../data/usePool';
import { countOf } from '../format/formatCount';
import { PageBody } from '../frame/PageBody';
import { PageHeader } from '../frame/PageHeader';
import { QueryView } from '../frame/QueryView';
import { AddServer } from '../servers/AddServer';
import { TasksTable } from '../tasks/TasksTable';
import type { ServerRow } from '../trpc/types';
import { CommandLine } from '../ui/CommandLine';
import { Panel } from '../ui/Panel';
import { EmptyState } from '../ui/States';
import { FigureStrip } from './FigureStrip';
import { MemoryPanel } from './MemoryPanel';
import { prepareOverview } from './prepareOverview';
import { UtilizationPanel } from './UtilizationPanel';

/** Is the pool all right, and where is the slack? */
export function OverviewPage() {
  const servers = useServers();
  return (
    <>
      <PageHeader title="Overview" action={<NewAllocationLink />} />
      <PageBody>
        <QueryView query={servers} label="the pool">
          {(rows) =>
            rows.length === 0 ? (
              <Panel title="Start here">
                <AddServer />
              </Panel>
            ) : (
              <PoolContent servers={rows} />
            )
          }
        </QueryView>
      </PageBody>
    </>
  );
}

function PoolContent({ servers }: Readonly<{ servers: readonly ServerRow[] }>) {
  const allocations = useCurrentAllocations();
  const tasks = useRunningTasks();
  const running = tasks.data ?? [];
  const held = allocations.data ?? [];
  return (
    <>
      <FigureStrip overview={prepareOverview(servers, held, running)} />
      <div className="grid gap-4 lg:grid-cols-[2fr_1fr]">
        <UtilizationPanel servers={servers} />
        <MemoryPanel servers={servers} />
      </div>
      <Panel title="Running tasks" aside={countOf(running.length, 'task')}>
        <QueryView query={tasks} label="tasks">
          {() => (
            <TasksTable
              rows={running}
              sortKey="tasks"
              empty={
                <EmptyState title="No program uses the pool now">
                  <div className="text-left text-ink">
                    <CommandLine command="bin/sluice run -n 1 -- <program>" />
                  </div>
                </EmptyState>
              }
            />
          )}
        </QueryView>
      </Panel>
      <Panel title="Allocations" aside={countOf(held.length, 'allocation')}>
        <QueryView query={allocations} label="allocations">
          {() => (
            <AllocationsTable
              rows={held}
              sortKey="allocations"
              empty={<EmptyState title="Nobody holds a GPU now" />}
            />
          )}
        </QueryView>
      </Panel>
    </>
  );
}
