'use client';

import Link from 'next/link';
import { bytesToMib, formatMemory } from '../format/formatMemory';
import { Since } from '../format/Since';
import { taskKey } from '../tasks/taskKey';
import type { GpuRow, TaskRow } from '../trpc/types';

/** Who holds a GPU and which programs are on it, those that the pool did not start included. */
export function GpuUsers({ gpu, tasks }: Readonly<{ gpu: GpuRow; tasks: readonly TaskRow[] }>) {
  const here = tasks.filter((task) => task.gpus.some((one) => one.uuid === gpu.uuid));
  const foreign = gpu.processes.filter((process) => process.taskId === null);
  if (gpu.allocations.length === 0 && foreign.length === 0) {
    return <p className="text-xs text-muted">Nobody holds it.</p>;
  }
  return (
    <ul className="flex flex-col gap-1 text-xs">
      {gpu.allocations.map((allocation) => {
        const programs = here.filter((task) => task.allocationId === allocation.id);
        return (
          <li key={allocation.id}>
            <Link href={`/allocations/${allocation.id}`} className="hover:text-accent hover:underline">
              {allocation.userEmail} ·{' '}
              {allocation.memoryMib === null ? 'whole GPU' : formatMemory(allocation.memoryMib)}
            </Link>
            {programs.length === 0 && <span className="text-muted"> · no program runs</span>}
            {programs.map((task) => (
              <ProgramLine key={taskKey(task)} task={task} uuid={gpu.uuid} />
            ))}
          </li>
        );
      })}
      {foreign.map((process) => (
        <li key={process.pid} className="text-warn">
          outside the pool: {process.name ?? 'unknown program'} (PID {process.pid})
          {process.usedMib !== null && ` · ${formatMemory(process.usedMib)}`}
        </li>
      ))}
    </ul>
  );
}

function ProgramLine({ task, uuid }: Readonly<{ task: TaskRow; uuid: string }>) {
  const usedBytes = task.gpus.find((one) => one.uuid === uuid)?.usedBytes ?? 0;
  return (
    <p className="flex gap-2 pl-3 text-muted">
      <span className="min-w-0 flex-1 truncate font-mono text-ink" title={task.command}>
        {task.command}
      </span>
      <span className="shrink-0">
        {formatMemory(bytesToMib(usedBytes))} · <Since from={task.startedAt} />
      </span>
    </p>
  );
}
