import { jsonText } from '../printable.ts';
import { explainText } from './explain-text.ts';
import { explanationOf } from './explanation.ts';
import { type FlagsOf, flagValue } from './flags/flags.ts';
import type { ExitCode, Io } from './io.ts';
import { noGroups } from './no-groups.ts';
import { readAndPlan } from './read-and-plan.ts';
import { pathsFrom } from './settings.ts';

/**
 * `gitea-runners explain`: the same look as `generate`, for people.
 * @throws Failure exit 2 when there is no RunnerGroup: without one Gitea is not asked, so "nothing is queued" would be a guess.
 */
export async function explain(args: readonly string[], flags: FlagsOf<'explain'>, io: Io): Promise<ExitCode> {
  const asJson = flagValue('json', flags, io);
  const { read, plan, nowMs } = await readAndPlan(args, flags, io, { includeBlocked: true });
  if (read.groups.length === 0) throw noGroups({ ...pathsFrom(args, flags, io), cwd: io.cwd });
  const explanation = explanationOf(read.groups, plan, nowMs);
  io.out(asJson ? jsonText(explanation) : explainText(explanation, io));
  return 0;
}
