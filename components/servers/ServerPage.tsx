'use client';

import Link from 'next/link';
import { useRunningTasks, useServers, useTelemetry } from '../data/usePool';
import { countOf } from '../format/formatCount';
import { PageBody } from '../frame/PageBody';
import { PageHeader } from '../frame/PageHeader';
import { QueryView } from '../frame/QueryView';
import { TasksTable } from '../tasks/TasksTable';
import type { ServerRow } from '../trpc/types';
import { Panel } from '../ui/Panel';
import { EmptyState, LoadingRows } from '../ui/States';
import { CordonButton } from './CordonButton';
import { GpuCard } from './GpuCard';
import { ServerFacts } from './ServerFacts';
import { ServerUtilization } from './ServerUtilization';

/** One host: its GPUs, what runs on them, how busy they are. */
export function ServerPage({ id }: Readonly<{ id: string }>) {
  const servers = useServers();
  const server = servers.data?.find((row) => row.id === id);
  return (
    <>
      <PageHeader
        title={
          <>
            <Link href="/servers" className="font-normal text-muted hover:text-ink">
              Servers
            </Link>
            <span className="px-1.5 font-normal text-faint">/</span>
            {server?.hostname ?? '…'}
          </>
        }
        action={server && <CordonButton server={server} />}
      />
      <PageBody>
        <QueryView query={servers} label="the server">
          {() =>
            server ? (
              <ServerContent server={server} />
            ) : (
              <EmptyState title="No server of the pool has this id">
                <Link href="/servers" className="text-accent hover:underline">
                  See all servers
                </Link>
              </EmptyState>
            )
          }
        </QueryView>
      </PageBody>
    </>
  );
}

function ServerContent({ server }: Readonly<{ server: ServerRow }>) {
  const telemetry = useTelemetry();
  const tasks = useRunningTasks();
  const running = (tasks.data ?? []).filter((task) => task.serverId === server.id);
  return (
    <>
      <ServerFacts server={server} />
      <div className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,400px),1fr))] gap-4">
        {server.gpus.map((gpu) => (
          <GpuCard
            key={gpu.uuid}
            gpu={gpu}
            server={server}
            series={telemetry.data?.series ?? []}
            tasks={running}
          />
        ))}
      </div>
      <Panel title="Utilization, last 5 minutes" className="min-h-64" bodyClassName="relative">
        <div className="absolute inset-2">
          {telemetry.data ? (
            <ServerUtilization gpus={server.gpus} series={telemetry.data.series} />
          ) : (
            <LoadingRows label="Loading utilization" />
          )}
        </div>
      </Panel>
      <Panel title="Running tasks" aside={countOf(running.length, 'task')}>
        <QueryView query={tasks} label="tasks">
          {() => (
            <TasksTable
              rows={running}
              sortKey="tasks"
              empty={<EmptyState title="No program uses this server now" />}
            />
          )}
        </QueryView>
      </Panel>
    </>
  );
}
