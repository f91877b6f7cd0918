import { findServer, setCordoned } from '../db/servers';
import { SluiceError } from '../errors';
import type { Actor } from '../db/actor';
import { audit } from '../db/audit';
import type { PoolContext } from './context';
import { serverRow } from './live/rows';
import type { ServerRow } from './views';

/** A cordoned server keeps what runs and gets nothing new. */
export async function cordonServer(
  ctx: PoolContext,
  actor: Actor,
  id: string,
  cordoned: boolean,
): Promise<ServerRow> {
  const record = await ctx.db.exclusive(async (queries) => {
    const found = await findServer(queries, id);
    if (!found) throw new SluiceError('SERVER_NOT_FOUND', `There is no server ${id}.`);
    if (found.cordoned === cordoned) return found;
    await audit(queries, actor, {
      at: ctx.clock.now(),
      action: cordoned ? 'server.cordoned' : 'server.uncordoned',
      subject: `server:${id}`,
      before: { cordoned: found.cordoned },
      after: { cordoned },
    });
    return setCordoned(queries, id, cordoned);
  });
  const server = ctx.live.servers.get(id);
  if (!server) throw new SluiceError('SERVER_NOT_FOUND', `There is no server ${id}.`);
  server.record = record;
  ctx.announce.server(id);
  if (!cordoned) ctx.capacity.changed();
  return serverRow(ctx.live, server);
}
