/** Plans one Application the way its own `generate` does: all its RunnerGroups together, and the Jobs in their namespaces. Pure. */

import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { type ClockCorrection, NO_CORRECTION, shiftJobs, shiftLook } from '../../observe/clock-correction.ts';
import { planOrRefuse, toPlanned } from '../../observe/plan-groups.ts';
import { isOwnTrouble, type Trouble } from '../../observe/troubles.ts';
import type { GroupSummary, JobDecision, Plan } from '../../planner/decisions.ts';
import type { Look } from '../../planner/evidence.ts';
import { Failure } from '../../shared/failure.ts';
import { isSame } from '../../shared/key-text.ts';
import { type DebuggingRunner, debuggingOf } from './debugging.ts';
import type { LiveRunner } from './live.ts';
import { type StuckPod, stuckPodsOf } from './stuck-pods.ts';

/** A valid RunnerGroup with the last look at its scope, or why there is none. */
export interface SightedGroup {
  readonly group: RunnerGroup;
  readonly templateHash: string;
  readonly lookKey: string;
  /** Absent: not looked yet. */
  readonly look?: Look | Failure;
}

export interface PlanningInput {
  readonly groups: readonly SightedGroup[];
  /** Groups whose spec cannot be used. Default: none. */
  readonly broken?: readonly Trouble[];
  /** Jobs in the cluster; those in other namespaces are left out, as `generate` does. */
  readonly runners: readonly LiveRunner[];
  readonly instance: string;
  /** Argo CD's name of the Application. Absent: none manages the groups. */
  readonly application?: string | undefined;
  /** By this machine's clock. */
  readonly nowMs: number;
  /** Makes Gitea's time of it, and of that of the Jobs; default: the clocks are the same. */
  readonly clocks?: ClockCorrection;
}

/** The plan, or why there is none: `generate` would fail too, so nothing is to be woken. */
export type Planning =
  | {
      readonly is: 'planned';
      readonly plan: Plan;
      /** The time that it is for, by Gitea's clock. */
      readonly atMs: number;
    }
  /** A look is missing for now. */
  | { readonly is: 'waiting' }
  | { readonly is: 'failed'; readonly failure: Failure };

/** A watch tells of a change well within this time. */
const WATCH_LAG_MS = 5_000;

export function planApplication({
  groups,
  broken = [],
  runners,
  instance,
  application,
  ...time
}: PlanningInput): Planning {
  // `generate` fails for all groups. But it does not see a group that another namespace has written under the name of this Application.
  const stopped = new Map<string, Failure>();
  for (const { group, look } of groups) {
    if (look instanceof Failure && !isOwnTrouble(look) && !stopped.has(group.namespace))
      stopped.set(group.namespace, look);
  }
  const correction = time.clocks ?? NO_CORRECTION;
  const { jobShiftMs, nowShiftMs } = correction;
  const looks = new Map<string, Look>();
  const sound: SightedGroup[] = [];
  const troubled: Trouble[] = [...broken];
  for (const sighted of groups) {
    const { group, look, lookKey } = sighted;
    const failure = look instanceof Failure ? look : stopped.get(group.namespace);
    if (failure) {
      troubled.push({ namespace: group.namespace, name: group.name, failure });
      continue;
    }
    sound.push(sighted);
    if (look !== undefined && !(look instanceof Failure) && !looks.has(lookKey))
      looks.set(lookKey, shiftLook(look, group.giteaUrl, correction));
  }
  const [first] = [...stopped.values(), ...troubled.map(({ failure }) => failure)];
  if (sound.length === 0 && first) return { is: 'failed', failure: first };
  if (sound.some(({ lookKey }) => !looks.has(lookKey))) return { is: 'waiting' };
  const namespaces = new Set([...groups.map(({ group }) => group), ...broken].map(({ namespace }) => namespace));
  const seen = runners.map(({ job }) => job).filter(({ namespace }) => namespaces.has(namespace));
  const liveJobs = shiftJobs(seen, jobShiftMs);
  const nowMs = time.nowMs + nowShiftMs;
  const planned = sound.map(({ group, lookKey, templateHash }) => toPlanned(group, lookKey, templateHash));
  try {
    const liveSinceMs = nowMs - WATCH_LAG_MS;
    const plan = planOrRefuse(planned, {
      instance,
      ...(application && { application }),
      looks,
      liveJobs,
      jobsWereListed: true,
      liveSinceMs,
      nowMs,
      troubled,
    });
    return { is: 'planned', plan, atMs: nowMs };
  } catch (error) {
    if (error instanceof Failure) return { is: 'failed', failure: error };
    throw error;
  }
}

/** What a plan says about one group. */
export interface GroupCounts {
  /** Jobs that wait for a runner of the group, held ones too. */
  readonly queued: number;
  /** Of these, by what holds them back. */
  readonly held: Readonly<Record<'cap' | 'suspended' | 'backing-off', number>>;
  readonly summary: GroupSummary | undefined;
  /** Runners whose pods cannot start. */
  readonly stuck: readonly StuckPod[];
  /** Runners whose CI job failed and that stay for a look. */
  readonly debugging: readonly DebuggingRunner[];
}

export function countsOf(plan: Plan, group: RunnerGroup): GroupCounts {
  const held = { cap: 0, suspended: 0, 'backing-off': 0 };
  let queued = 0;
  for (const decision of plan.jobs) {
    if (!waits(decision) || !isSame(decision.group, group)) continue;
    queued += 1;
    if (decision.verdict !== 'held') continue;
    const { because } = decision;
    if (because === 'cap' || because === 'suspended' || because === 'backing-off') held[because] += 1;
  }
  const summary = plan.groups.find((each) => isSame(each.group, group));
  return { queued, held, summary, stuck: stuckPodsOf(plan, group), debugging: debuggingOf(plan, group) };
}

function waits(decision: JobDecision): decision is Extract<JobDecision, { readonly verdict: 'served' | 'held' }> {
  return decision.verdict === 'served' || (decision.verdict === 'held' && decision.because !== 'blocked');
}
