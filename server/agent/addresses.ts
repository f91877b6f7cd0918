// Where the data plane listens and what clients are told.
import { BlockList, isIPv4 } from 'node:net';

/** True for a server on this same machine. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '');
  if (bare === 'localhost' || bare === '::1') return true;
  const loopback = new BlockList();
  loopback.addSubnet('127.0.0.0', 8, 'ipv4');
  return isIPv4(bare) && loopback.check(bare);
}

/** The interface for the data port: not open to the network when the whole pool is on this machine. */
export function bindAddress(serverUrl: string, configuredHost: string): string {
  if (!isLoopback(configuredHost)) return configuredHost;
  return isLoopback(new URL(serverUrl).hostname) ? '127.0.0.1' : '0.0.0.0';
}

export interface ClientAddressFacts {
  /** SLUICE_DATA_ADDRESS; it wins. */
  readonly configured: string | null;
  readonly serverUrl: string;
  /** The address by which this host reaches the server. */
  readonly localAddress: string;
  /** host:port on which the worker listens, when it runs. */
  readonly workerAddress: string | null;
  readonly port: number;
}

/** host:port by which clients reach this host's data plane. */
export function clientAddress(facts: ClientAddressFacts): string {
  if (facts.configured !== null) return facts.configured;
  const port = facts.workerAddress?.split(':').at(-1) ?? facts.port;
  if (isLoopback(new URL(facts.serverUrl).hostname)) return `127.0.0.1:${port}`;
  const address = facts.localAddress.replace(/^::ffff:/, '');
  return isIPv4(address) ? `${address}:${port}` : `[${address}]:${port}`;
}
