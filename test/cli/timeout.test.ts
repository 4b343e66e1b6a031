/** `--timeout` holds for planning, too: what comes too late is not printed. */
import { expect, it } from 'vitest';
import { explain } from '../../src/cli/commands/explain.ts';
import { generate } from '../../src/cli/commands/generate.ts';
import { exitCodeOf } from '../../src/cli/process.ts';
import type { ExitCode, Io } from '../../src/shared/io.ts';
import { type Printed, printingIo } from '../support/printing-io.ts';
import { startWithJob } from '../support/start-acme.ts';

const TIMEOUT_S = 2;

interface Scene {
  readonly io: Io;
  readonly printed: Printed;
  readonly folder: string;
}

/** @param slow true: as long as the time limit passes when the time is asked for again. The first time it is for the policy, before the limit begins. */
async function scene(slow: boolean): Promise<Scene> {
  const { env, folder } = await startWithJob();
  let asked = 0;
  const now = (): number => {
    const beganMs = performance.now();
    asked += 1;
    while (slow && asked === 2 && performance.now() - beganMs < TIMEOUT_S * 1000 + 100);
    return Date.now();
  };
  const { io, printed } = printingIo({ env, cwd: folder, now });
  return { io, folder, printed };
}

const COMMANDS: readonly [string, (scene: Scene, timeout: string) => Promise<ExitCode>][] = [
  ['generate', ({ io, folder }, timeout) => generate([folder], { timeout }, io)],
  ['explain', ({ io, folder }, timeout) => explain([folder], { timeout }, io)],
];

it.each(COMMANDS)('%s prints nothing and fails when its plan comes after the time limit', async (_, command) => {
  const late = await scene(true);

  const code = await exitCodeOf(() => command(late, `${TIMEOUT_S}`), {}, late.io);

  expect([code, late.printed.out]).toEqual([1, '']);
  expect(late.printed.err).toMatch(
    /^error: GR-PLAN-01 plan 1 RunnerGroups: not done within the time limit of 2 s\. Raise --timeout/,
  );
});

it.each(COMMANDS)('%s prints a plan that comes in time', async (_, command) => {
  const quick = await scene(false);

  const code = await exitCodeOf(() => command(quick, '20'), {}, quick.io);

  expect(code).toBe(0);
  expect(quick.printed.out).toContain('ci-');
});
