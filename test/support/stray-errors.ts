/** Errors that nobody waits for, which would end the process. */
import { onTestFinished } from 'vitest';

/** Those from now on until the test ends, instead of failing it. */
export function strayErrors(): readonly unknown[] {
  const seen: unknown[] = [];
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', (error) => seen.push(error));
  onTestFinished(() => {
    process.removeAllListeners('unhandledRejection');
    for (const each of others) process.on('unhandledRejection', each);
  });
  return seen;
}
