import { lookAndPlan } from '../look-and-plan.ts';
import { readRunnerGroups } from '../runnergroup/read.ts';
import { explainText } from './explain-text.ts';
import { explanationOf } from './explanation.ts';
import type { ExitCode, Io } from './io.ts';
import { defaultNamespace, type LookFlags, type PathFlags, pathsFrom, settingsFrom } from './settings.ts';

/** `gitea-runners explain`: the same look as `generate`, for people. */
export async function explain(
  args: readonly string[],
  flags: LookFlags & PathFlags & { readonly json?: boolean },
  io: Io,
): Promise<ExitCode> {
  const settings = await settingsFrom(flags, io);
  const read = await readRunnerGroups({
    ...pathsFrom(args, flags, io),
    cwd: io.cwd,
    defaultNamespace: defaultNamespace(io),
  });
  const plan = await lookAndPlan(read.groups, settings, { includeBlocked: true });
  const explanation = explanationOf(read.groups, plan, io.now());
  io.out(flags.json ? `${JSON.stringify(explanation, null, 2)}\n` : explainText(explanation, io));
  return 0;
}
