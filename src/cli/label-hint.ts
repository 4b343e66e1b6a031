/** A misspelt `runs-on` -> the label that was probably meant. */

import { nearestName } from '../config/runnergroup/nearest.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { hasJobsOf } from '../config/runnergroup/scope.ts';
import type { GroupKey, JobDecision } from '../planner/decisions.ts';

/** Machines that a label asks for, and that a group without a nodeSelector does not have. */
const MACHINES: readonly (readonly [RegExp, Machine])[] = [
  [/^(windows|win\d)/i, 'Windows'],
  [/^(macos|osx|darwin)/i, 'macOS'],
  [/(^|[-_.])(arm64|aarch64)([-_.]|$)/i, 'arm64'],
  [/(^|[-_.])(gpu|cuda)([-_.]|$)/i, 'GPU'],
];

export type Machine = 'Windows' | 'macOS' | 'arm64' | 'GPU';

/** The machine that a label asks for, if its name says so. */
export function machineOf(label: string): Machine | undefined {
  return MACHINES.find(([pattern]) => pattern.test(label))?.[1];
}

/** With these corrections of its `runs-on` the group would cover the job. None: it covers the job, and could not be planned. */
export interface LabelHint {
  readonly group: GroupKey;
  readonly labels: readonly { readonly written: string; readonly meant: string }[];
}

/** The group that covers the job when the fewest labels are corrected; undefined when correcting makes none cover it. */
export function labelHint(decision: JobDecision, groups: readonly RunnerGroup[]): LabelHint | undefined {
  if (decision.verdict !== 'held' || decision.because !== 'labels-not-covered') return undefined;
  const { job, origin } = decision;
  const [owner = '', repo = ''] = job.repository.split('/');
  const hints = groups
    .filter((group) => group.giteaUrl === origin && hasJobsOf(group.scope, owner, repo))
    .flatMap((group) => correctionOf(job.labels, group));
  const [best] = hints.sort((a, b) => a.labels.length - b.labels.length);
  return best;
}

function correctionOf(wanted: readonly string[], group: RunnerGroup): readonly LabelHint[] {
  const known = group.labels.map(({ name }) => name);
  const wrong = [...new Set(wanted)].filter((label) => !known.includes(label));
  const labels = wrong.flatMap((written) => {
    const meant = nearestName(written, known);
    // A job for other machines is no misspelt one.
    return meant === undefined || machineOf(written) !== machineOf(meant) ? [] : [{ written, meant }];
  });
  const { namespace, name } = group;
  return labels.length === wrong.length ? [{ group: { namespace, name }, labels }] : [];
}
