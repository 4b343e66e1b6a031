import { setTimeout as sleep } from 'node:timers/promises';

/** Waits, and not longer than until `signal` is aborted. Never rejects. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal && { signal }).catch(() => undefined);
}
