import { setTimeout as delay } from 'node:timers/promises';

/**
 * Calls `check` until it does not throw. For what reaches the pool once a second, such as memory in use, and
 * has no event that a test could await. Throws check's last error when the time is over.
 */
export async function eventually<Value>(
  check: () => Promise<Value> | Value,
  timeoutMs = 15_000,
): Promise<Value> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(50);
    }
  }
}
