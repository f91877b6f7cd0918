'use client';

import { useQueryClient } from '@tanstack/react-query';
import { createContext, useContext, useEffect, useRef, useState, type ReactNode } from 'react';
import { useTRPCClient } from '../trpc/context';
import { describeError } from '../trpc/describeError';
import { useApplyEvent } from './useApplyEvent';

/** Whether the page follows the pool. `since` (Unix ms, browser's clock): when it stopped to. */
export type LiveState = { live: boolean; since: number | null };

const LiveContext = createContext<LiveState>({ live: false, since: null });

export function useLive(): LiveState {
  return useContext(LiveContext);
}

const RETRY_MS = 2000;

/**
 * Keeps the one event stream of this tab open. A lost connection resumes after the last event's id; when the
 * server closed the stream for good (it restarted), a new one is opened and begins with the whole state.
 */
export function LiveProvider({ children }: Readonly<{ children: ReactNode }>) {
  const client = useTRPCClient();
  const cache = useQueryClient();
  const applyEvent = useApplyEvent();
  const [state, setState] = useState<LiveState>({ live: false, since: null });
  const lastEventId = useRef<string | null>(null);

  useEffect(() => {
    let stopped = false;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let subscription: { unsubscribe: () => void } | undefined;

    const lost = () =>
      setState((old) => (old.live || old.since === null ? { live: false, since: Date.now() } : old));
    const connect = () => {
      subscription = client.events.stream.subscribe(
        { lastEventId: lastEventId.current },
        {
          onStarted: () => setState({ live: true, since: null }),
          onData: (message) => {
            lastEventId.current = message.id;
            applyEvent(message.data);
          },
          onConnectionStateChange: (connection) => {
            if (connection.state === 'connecting' && connection.error) lost();
          },
          onError: (error) => {
            lost();
            if (describeError(error).code === 'SIGN_IN_REQUIRED') {
              void cache.invalidateQueries();
              return;
            }
            again();
          },
          onComplete: () => {
            if (stopped) return;
            lost();
            again();
          },
        },
      );
    };
    const again = () => {
      if (!stopped) retry = setTimeout(connect, RETRY_MS);
    };

    connect();
    return () => {
      stopped = true;
      clearTimeout(retry);
      subscription?.unsubscribe();
    };
  }, [applyEvent, cache, client]);

  return <LiveContext value={state}>{children}</LiveContext>;
}
