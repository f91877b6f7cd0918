import { tracked } from '@trpc/server';
import { z } from 'zod';
import { viewer } from '../trpc';

/** Changes of the pool as they happen. The id of each lets a client that was cut off go on where it stopped. */
export const stream = viewer
  .input(z.object({ lastEventId: z.string().nullish() }).optional())
  .subscription(async function* ({ ctx, input, signal }) {
    const ended = signal ?? new AbortController().signal;
    for await (const { id, event } of ctx.services.pool.events(input?.lastEventId ?? null, ended)) {
      yield tracked(id, event);
    }
  });
