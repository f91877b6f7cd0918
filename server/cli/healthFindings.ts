// The findings of `sluice health`: the control plane's own, and those that only this machine can make.
import { getEnv } from '../env';
import { checkDataPlane, checkDriverLibrary } from '../proxy/checks';
import type { Finding } from '../proxy/findings';
import { nativePaths } from '../proxy/projectPaths';
import { sentences } from './failure';
import { connectPool, explain } from './poolClient';

/** Never rejects: what cannot be asked is a finding. */
export async function healthFindings(): Promise<Finding[]> {
  const [driver, pool] = await Promise.all([
    checkDriverLibrary(nativePaths(getEnv().nativeDir)),
    poolFindings(),
  ]);
  return [...pool, driver];
}

async function poolFindings(): Promise<Finding[]> {
  try {
    const pool = connectPool();
    const [report, servers] = await Promise.all([
      pool.api.health.report.query(),
      pool.api.servers.list.query(),
    ]);
    const reached: Finding = {
      id: 'client.control-plane',
      severity: 'ok',
      title: 'Control plane from here',
      detail: `${pool.url} answers.`,
      action: null,
    };
    const connected = servers.filter((server) => server.connected);
    const dataPlane = await Promise.all(
      connected.map((server) =>
        checkDataPlane({ address: server.address, tls: server.tls, fingerprint: null }),
      ),
    );
    return [reached, ...report.findings, ...dataPlane];
  } catch (error) {
    const problem: Finding = {
      id: 'client.control-plane',
      severity: 'fatal',
      title: 'Control plane from here',
      detail: sentences(explain(error)),
      action: null,
    };
    return [problem];
  }
}
