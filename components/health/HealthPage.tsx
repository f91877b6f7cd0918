'use client';

import { useQuery } from '@tanstack/react-query';
import { PageBody } from '../frame/PageBody';
import { PageHeader } from '../frame/PageHeader';
import { QueryView } from '../frame/QueryView';
import { useTRPC } from '../trpc/context';
import { Panel } from '../ui/Panel';
import { Findings } from './Findings';

// Findings are worked out when asked for; the event stream does not carry them.
const REFRESH_MS = 5000;

/** The findings of `sluice health`, as far as the server can tell them. */
export function HealthPage() {
  const report = useQuery(useTRPC().health.report.queryOptions(undefined, { refetchInterval: REFRESH_MS }));
  return (
    <>
      <PageHeader title="Health" />
      <PageBody>
        <Panel title="Findings">
          <QueryView query={report} label="findings">
            {(data) => <Findings report={data} />}
          </QueryView>
        </Panel>
        <p className="text-xs text-muted">
          <code className="font-mono text-ink">bin/sluice health</code> on a client machine also checks the
          way from there to the servers.
        </p>
      </PageBody>
    </>
  );
}
