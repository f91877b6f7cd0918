// The three lines that Bitfusion printed when GPUs were allocated; scripts look for them.
import type { Grant } from '../proxy/grant';
import { note } from './output';

/** Prints them on stderr. */
export function printRequested(grant: Grant): void {
  note('Requested resources:');
  note(`Server List: ${grant.servers.map((server) => server.address).join(',')}`);
  // 0: no idle timeout.
  note('Client idle timeout: 0 min');
}
