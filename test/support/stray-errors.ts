/** Errors that nobody waits for, which would end the process. */
import { onTestFinished } from 'vitest';

/** Collects stray errors until the test ends. They do not fail it. */
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
