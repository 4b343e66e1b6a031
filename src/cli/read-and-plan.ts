import { type LookOptions, lookAndPlan, type PlanOfNow } from '../look-and-plan.ts';
import { type ReadResult, readRunnerGroups } from '../runnergroup/read.ts';
import type { Io } from './io.ts';
import { defaultNamespace, type LookFlags, type PathFlags, pathsFrom, settingsFrom } from './settings.ts';

/** What `generate`, `explain` and `cdk8s synth` have in common, so that they cannot disagree: flags, files, look, plan. */
export async function readAndPlan(
  args: readonly string[],
  flags: LookFlags & PathFlags,
  io: Io,
  options: LookOptions,
): Promise<{ readonly read: ReadResult } & PlanOfNow> {
  const settings = await settingsFrom(flags, io);
  const read = await readRunnerGroups({
    ...pathsFrom(args, flags, io),
    cwd: io.cwd,
    defaultNamespace: defaultNamespace(io),
  });
  return { read, ...(await lookAndPlan(read.groups, settings, options)) };
}
