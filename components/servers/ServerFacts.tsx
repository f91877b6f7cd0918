'use client';

import type { ReactNode } from 'react';
import { countOf } from '../format/formatCount';
import { Since } from '../format/Since';
import type { ServerRow } from '../trpc/types';
import { NotAvailable } from '../ui/NotAvailable';
import { ErrorState } from '../ui/States';
import { ServerStatus } from './ServerStatus';

/** The line that says what kind of host this is and whether it is well. */
export function ServerFacts({ server }: Readonly<{ server: ServerRow }>) {
  const names = [...new Set(server.gpus.map((gpu) => gpu.name))];
  return (
    <>
      <dl className="flex flex-wrap gap-x-7 gap-y-2 text-sm">
        <Fact name="State">
          <ServerStatus state={server.state} />
        </Fact>
        <Fact name="Address">
          <span className="font-mono text-xs">{server.address}</span>
        </Fact>
        <Fact name="GPUs">
          {names.length === 1 ? `${server.gpus.length} × ${names[0]}` : countOf(server.gpus.length, 'GPU')}
        </Fact>
        <Fact name="Driver">
          {server.driverVersion ?? <NotAvailable reason="The agent has not told it yet." />}
        </Fact>
        <Fact name="CUDA">
          {server.cudaVersion ?? <NotAvailable reason="The agent has not told it yet." />}
        </Fact>
        <Fact name="Agent">
          {server.agentVersion ?? <NotAvailable reason="The agent has not told it yet." />}
        </Fact>
        <Fact name="Data plane">{server.tls ? 'TLS 1.3' : 'not encrypted'}</Fact>
        <Fact name="Clock skew">{formatSkew(server.clockSkewMs)}</Fact>
        {!server.connected && server.lastSeenAt !== null && (
          <Fact name="Last seen">
            <Since from={server.lastSeenAt} /> ago
          </Fact>
        )}
      </dl>
      {server.problem && <ErrorState message={server.problem} />}
    </>
  );
}

function Fact({ name, children }: Readonly<{ name: string; children: ReactNode }>) {
  return (
    <div>
      <dt className="text-xs text-muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function formatSkew(skewMs: number | null): ReactNode {
  if (skewMs === null) return <NotAvailable reason="Known after the agent's next connect." />;
  const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
  if (seconds === '0.0') return '0.0 s';
  return `${skewMs < 0 ? '−' : '+'}${seconds} s`;
}
