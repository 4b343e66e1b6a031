import { explainText } from './explain-text.ts';
import { explanationOf } from './explanation.ts';
import type { ExitCode, Io } from './io.ts';
import { readAndPlan } from './read-and-plan.ts';
import type { LookFlags, PathFlags } from './settings.ts';

/** `gitea-runners explain`: the same look as `generate`, for people. */
export async function explain(
  args: readonly string[],
  flags: LookFlags & PathFlags & { readonly json?: boolean },
  io: Io,
): Promise<ExitCode> {
  const { read, plan, nowMs } = await readAndPlan(args, flags, io, { includeBlocked: true });
  const explanation = explanationOf(read.groups, plan, nowMs);
  io.out(flags.json ? `${JSON.stringify(explanation, null, 2)}\n` : explainText(explanation, io));
  return 0;
}
