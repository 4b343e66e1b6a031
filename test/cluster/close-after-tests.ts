import { afterAll, afterEach } from 'vitest';

interface Opened {
  readonly close: (keep: boolean) => Promise<void>;
  readonly collectLogs?: () => Promise<string>;
}

/**
 * Closes all that the tests of this file, or of this `describe`, have opened. If one of them fails, its logs are
 * collected at once and kept.
 */
export function closeAfterTests(opened: () => Opened | undefined): void {
  let keep = process.env['KEEP'] === '1';
  afterEach(async ({ task }) => {
    if (task.result?.state !== 'fail') return;
    keep = true;
    for (const { message } of task.result.errors ?? []) process.stdout.write(`FAILED: ${task.name}: ${message}\n`);
    process.stdout.write(`${(await opened()?.collectLogs?.().catch(String)) ?? ''}\n`);
  });
  afterAll(async () => await opened()?.close(keep));
}
