/** Plans one Application the way its own `generate` does: all its RunnerGroups together, and the Jobs in their namespaces. Pure. */

import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { type ClockCorrection, NO_CORRECTION, shiftJobs, shiftLook } from '../../observe/clock-correction.ts';
import { heldByGroup, isHeldBack } from '../../observe/explain/reasons.ts';
import { planOrRefuse, toPlanned, withIdleWanted } from '../../observe/plan-groups.ts';
import { type Trouble, troublesOf } from '../../observe/troubles.ts';
import type { Plan } from '../../planner/decisions.ts';
import type { Evidence, Group, Look } from '../../planner/evidence.ts';
import { Failure } from '../../shared/failure.ts';
import { groupBy, isSame, keyText } from '../../shared/keys.ts';
import { oncePerObject } from '../unchanged.ts';
import type { LiveRunner } from './live.ts';

/** A valid RunnerGroup with the last look at its scope, or why there is none. */
export interface ObservedGroup {
  readonly group: RunnerGroup;
  readonly templateHash: string;
  /** Of its sizes. */
  readonly sizes?: readonly { readonly group: RunnerGroup; readonly templateHash: string }[];
  readonly lookKey: string;
  readonly look?: Look | Failure;
}

interface PlanningInput {
  readonly groups: readonly ObservedGroup[];
  readonly broken?: readonly Trouble[];
  /** Jobs in the cluster; those in other namespaces are left out, as `generate` does. */
  readonly runners: readonly LiveRunner[];
  readonly instance: string;
  /** Argo CD's name of the Application. Absent: none manages the groups. */
  readonly application?: string | undefined;
  readonly nowMs: number;
  readonly clocks?: ClockCorrection;
}

/** The plan, or why there is none: `generate` would fail too, so nothing is to be woken. */
export type Planning =
  /** `atMs`: the time that it is for, by Gitea's clock. `seen`: what it was made from. */
  | {
      readonly is: 'planned';
      readonly plan: Plan;
      readonly atMs: number;
      readonly seen?: { readonly groups: readonly Group[]; readonly evidence: Evidence };
    }
  | { readonly is: 'waiting' }
  | { readonly is: 'failed'; readonly failure: Failure };

/** A watch tells of a change well within this time. */
const WATCH_LAG_MS = 5_000;

export function planApplication(input: PlanningInput): Planning {
  const { application, broken = [], clocks = NO_CORRECTION, groups, instance, runners } = input;
  const lookOf = new Map(groups.map(({ group, look }) => [group, look]));
  const { stopping, troubles } = troublesOf([...lookOf.keys()], (group) => lookOf.get(group));
  const troubled = [
    ...broken,
    ...[...troubles].map(([{ namespace, name }, failure]) => ({ namespace, name, failure })),
  ];
  const sound = groups.filter(({ group }) => !troubles.has(group));
  const [first] = [...stopping, ...troubled.map(({ failure }) => failure)];
  if (sound.length === 0 && first) return { is: 'failed', failure: first };

  const looks = new Map<string, Look>();
  for (const { group, look, lookKey } of sound) {
    if (look === undefined || look instanceof Failure) return { is: 'waiting' };
    if (!looks.has(lookKey)) looks.set(lookKey, shiftLook(look, group.giteaUrl, clocks));
  }
  const namespaces = new Set([...groups.map(({ group }) => group), ...broken].map(({ namespace }) => namespace));
  const seen = runners.map(({ job }) => job).filter(({ namespace }) => namespaces.has(namespace));
  const nowMs = input.nowMs + clocks.nowShiftMs;
  const steady = sound.flatMap(({ lookKey, sizes = [], ...own }) =>
    [own, ...sizes].map(({ group, templateHash }) => [toPlanned(group, lookKey, templateHash), group] as const),
  );
  try {
    const evidence: Evidence = {
      instance,
      ...(application && { application }),
      looks,
      cluster: { is: 'seen', jobs: shiftJobs(seen, clocks.jobShiftMs), listedAtMs: nowMs - WATCH_LAG_MS },
      nowMs,
      troubled,
    };
    const planned = withIdleWanted(steady, evidence);
    return { is: 'planned', plan: planOrRefuse(planned, evidence), atMs: nowMs, seen: { groups: planned, evidence } };
  } catch (error) {
    if (error instanceof Failure) return { is: 'failed', failure: error };
    throw error;
  }
}

export type GroupCounts = Readonly<ReturnType<typeof countsOf>>;
export type StuckPod = GroupCounts['stuck'][number];

/** Sorted once for all groups. */
const jobsByGroup = oncePerObject(({ jobs }: Plan) =>
  groupBy(jobs, (job) => ('group' in job && job.group ? keyText(job.group) : undefined)),
);

export function countsOf(plan: Plan, group: RunnerGroup) {
  const { groups, runners } = plan;
  const own = jobsByGroup(plan).get(keyText(group)) ?? [];
  const [limit] = own.flatMap((job) => (job.verdict === 'held' ? (job.limit ?? []) : []));
  const emitted = runners.flatMap((decision) => (decision.emit && isSame(decision.group, group) ? decision : []));
  return {
    /** Jobs that wait for a runner of the group, held ones too. */
    queued: own.filter((job) => job.verdict === 'served' || isHeldBack(job)).length,
    /** Of these, by what holds them back. */
    held: heldByGroup(own),
    /** The first limit besides the cap that holds a job back. */
    ...(limit && { limit }),
    summary: groups.find((each) => isSame(each.group, group)),
    /** Pods that cannot start, or have `failed` before their runners started, long enough that people should know. */
    stuck: emitted.flatMap(({ because, runner, trouble }) =>
      trouble?.isLate ? { runner, trouble, failed: because === 'back-off-record' } : [],
    ),
    /** Runners whose Jobs somebody has suspended. */
    suspended: emitted.flatMap(({ runner, trouble }) => (trouble?.isSuspended ? { runner, trouble } : [])),
    /** Runners whose CI job failed and that stay for a look, and until when, by Gitea's clock. */
    debugging: emitted.flatMap(({ because, keep, runner }) =>
      because === 'debugging' && keep ? { runner, untilMs: keep.untilMs } : [],
    ),
  };
}
