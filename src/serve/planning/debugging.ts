/** Runners whose CI job failed and that stay for a look, as status and metrics show them. Pure. */

import type { RunnerGroupStatus } from '../../config/runnergroup/status.ts';
import type { GroupKey, Plan } from '../../planner/decisions.ts';
import { isSame } from '../../shared/key-text.ts';
import { timeText } from '../../shared/marks.ts';

/** A runner that stays, and until when, by Gitea's clock. */
export interface DebuggingRunner {
  readonly runner: string;
  readonly untilMs: number;
}

/** Runners that a status names. `debuggingRunners` counts them all. */
const MOST_NAMED = 20;

/** Those of one group, by name. */
export function debuggingOf({ runners }: Plan, key: GroupKey): readonly DebuggingRunner[] {
  return runners.flatMap((decision): readonly DebuggingRunner[] => {
    if (!decision.emit || decision.because !== 'debugging' || !decision.keep) return [];
    const { group, runner, keep } = decision;
    return isSame(group, key) ? [{ runner, untilMs: keep.untilMs }] : [];
  });
}

type Told = Pick<RunnerGroupStatus, 'debuggingRunners' | 'debugging'>;

/** What the status says of them. Nothing when there are none, and none stand in the old status: a merge patch removes no field. */
export function debuggingStatus(runners: readonly DebuggingRunner[], old: RunnerGroupStatus | undefined): Told {
  if (runners.length === 0 && old?.debuggingRunners === undefined) return {};
  const named = runners.slice(0, MOST_NAMED).map(({ runner, untilMs }) => ({ runner, until: timeText(untilMs) }));
  return { debuggingRunners: runners.length, debugging: named };
}

/** While nothing is planned, what was said stays: it is still in the cluster, and must be taken back later. */
export function toldBefore(old: RunnerGroupStatus | undefined): Told {
  const { debuggingRunners, debugging } = old ?? {};
  return { ...(debuggingRunners !== undefined && { debuggingRunners }), ...(debugging && { debugging }) };
}
