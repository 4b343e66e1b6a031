/** The result of `work`. Undefined as soon as `signal` is aborted: the caller no longer waits for `work`, and its failure is ignored. */
export async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  let stop = (): void => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
  });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
