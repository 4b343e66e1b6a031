import { describeScope } from '../gitea/endpoints.ts';
import type { JobDecision, Plan } from '../plan/decisions.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { type LabelHint, labelHint } from './label-hint.ts';

/** What `explain --json` prints, and all that the text is made from. */
export interface Explanation {
  readonly checkedAt: string;
  readonly groups: readonly ExplainedGroup[];
  /** Unfinished jobs, oldest first. */
  readonly jobs: readonly ExplainedJob[];
  readonly runners: Plan['runners'];
}

/** `didYouMean`: for labels that no group covers, the correction with which one would. */
export type ExplainedJob = JobDecision & { readonly didYouMean?: LabelHint };

export interface ExplainedGroup {
  readonly namespace: string;
  readonly name: string;
  readonly file: string;
  readonly gitea: string;
  readonly scope: string;
  readonly labels: readonly string[];
  readonly suspended: boolean;
  readonly cap: number;
  readonly busy: number;
  readonly waiting: number;
  readonly spare: number;
  readonly warm: number;
  readonly minIdle: number;
  readonly held: number;
}

/** Joins groups and plan. Finished jobs are left out: they wait for nothing. */
export function explanationOf(groups: readonly RunnerGroup[], plan: Plan, nowMs: number): Explanation {
  return {
    checkedAt: new Date(nowMs).toISOString(),
    groups: plan.groups.flatMap(({ group: { namespace, name }, ...counts }) =>
      groups
        .filter((group) => group.namespace === namespace && group.name === name)
        .map((group) => ({
          namespace,
          name,
          file: group.place.file,
          gitea: group.giteaUrl,
          scope: describeScope(group.scope),
          labels: group.labels.map((label) => label.name),
          suspended: group.suspend,
          ...counts,
        })),
    ),
    jobs: plan.jobs
      .filter(({ verdict }) => verdict !== 'done')
      .map((decision) => {
        const didYouMean = labelHint(decision, groups);
        return didYouMean ? { ...decision, didYouMean } : decision;
      }),
    runners: plan.runners,
  };
}
