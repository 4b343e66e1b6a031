/**
 * Reconcile: from what is seen to what follows from it, one Application after the other. Pure and synchronous.
 *
 *     snapshot (who belongs to which Application) ┐
 *     last looks at Gitea, clocks ────────────────┼─► plan ─► difference to the Jobs ─► verdict: wake or not, status of the groups
 *     how the last wakes ended ───────────────────┘
 *
 * The leader makes the input and acts on the verdicts.
 */
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import type { ClockBounds } from '../../clients/http/server-clocks.ts';
import { suspendedOf, suspensionOf } from '../../clients/kubernetes/observe-cluster.ts';
import type { Denial } from '../../config/policy/denial.ts';
import { hasTimedPool, type RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { withSizes } from '../../config/runnergroup/sizes.ts';
import type { LostJob } from '../../config/runnergroup/status.ts';
import { type ClockWarning, correctClocks } from '../../plan/clock-correction.ts';
import type { TargetOf } from '../../plan/find-targets.ts';
import { ownTemplateHash } from '../../plan/own-pod.ts';
import { type PlanInput, type Planning, planSeen, type SeenGroup } from '../../plan/plan-seen.ts';
import { pageOf, pagesOf } from '../../planner/assign.ts';
import type { RunnerDecision } from '../../planner/decisions.ts';
import { hasEnded, type PodCounts } from '../../planner/evidence.ts';
import { defined } from '../../shared/defined.ts';
import { Failure } from '../../shared/failure.ts';
import { isSame, keyText } from '../../shared/keys.ts';
import { TRACKING_ID, timeText } from '../../shared/marks.ts';
import { type Difference, differenceOf, differingByGroup, NO_DIFFERENCE } from '../seen/difference.ts';
import {
  type ClusterSnapshot,
  isListed,
  type Listing,
  type LiveGroup,
  type LiveRunner,
  NO_RUNNERS,
  type Observation,
  shardsOf,
  siblingsOf,
} from '../seen/live.ts';
import { oncePerObject, sameElements } from '../seen/unchanged.ts';
import { NEVER_WOKEN, troubleOf, type WakeState, waitText } from '../waking/wake-state.ts';
import { countsOf } from './group-counts.ts';
import type { GroupFacts, Unregistered } from './group-status.ts';

export interface ReconcileInput {
  /** Time of this machine's clock, ms. */
  readonly nowMs: number;
  /** `nowMs` by a clock that is never set. */
  readonly steadyMs: number;
  readonly instance: string;
  readonly snapshot: ClusterSnapshot;
  readonly pods: PodCounts;
  readonly targetOf: TargetOf;
  readonly warningsOf?: ReadonlyMap<RunnerGroup, readonly Denial[]>;
  /** The last look at each target, by its key. */
  readonly observations: ReadonlyMap<string, Observation>;
  /** Clocks of servers as their answers show them, by origin. `kubernetes`: origin of the API server. */
  readonly clocks: { readonly kubernetes: string; readonly of: (origin: string) => ClockBounds | undefined };
  /** CI jobs of a group whose runners were lost, by its key; the same list until it changes. */
  readonly lostJobs: (key: string) => readonly LostJob[];
  /** Returns why the Jobs of a group wait for the credentials of their runners. Undefined: they do not. */
  readonly unregistered: (key: string) => Unregistered | undefined;
  readonly wakes: ReadonlyMap<string, WakeFacts>;
  /** Runners that Applications before this one are about to start, by the pages of their CI jobs (`AppVerdict.starts`). */
  readonly startedBefore?: ReadonlyMap<string, readonly LiveRunner[]>;
}

/** What is known of one Application. `printed`: keys of our Jobs in Argo CD's copy of the output. */
export type WakeFacts = Readonly<{ state: WakeState; printed: ReadonlySet<string>; listing?: Listing | undefined }>;

export interface AppVerdict {
  /** Key of the Application. '' for groups without one. */
  readonly application: string;
  readonly planning: Planning;
  readonly difference: Difference;
  /** How the other shards differ from the plan, by their keys. Empty: there are none. */
  readonly siblings: ReadonlyMap<string, Difference>;
  /** False: a runner ended after the last look began, so the difference may be about nothing. */
  readonly settled: boolean;
  readonly clockWarnings: readonly ClockWarning[];
  readonly groups: readonly GroupVerdict[];
  /** Which groups Argo CD lists. Undefined: it has not said yet. */
  readonly listing?: Listing | undefined;
  /** Runners that the next wake will start, as Jobs (docs/adr/0115). Empty if the wake is in trouble. */
  readonly starts: readonly LiveRunner[];
  /** The verdict holds while its inputs are the same objects, and until this time: plans depend on the time, too. */
  readonly inputs: readonly unknown[];
  readonly untilMs: number;
}

export type GroupVerdict = Readonly<{ live: LiveGroup; runners: readonly LiveRunner[]; facts: GroupFacts }>;

/** Times in the plan (spawn timeout, back-off) pass without an event. A verdict is renewed after this time. */
export const TICK_MS = 5_000;
/** How long a verdict holds without a job and a runner, ms. Then only `lastCheckTime` depends on the time. */
const QUIET_MS = 30_000;
const UNKNOWN: WakeFacts = { printed: new Set(), state: NEVER_WOKEN };
const NOT_ASKED: GroupFacts['argocd'] = { is: 'managed', differsForMs: 0 };
const FOREIGN: GroupFacts['argocd'] = { ...NOT_ASKED, last: { is: 'foreign' } };

export const templateHashOf = oncePerObject(ownTemplateHash);
/** A watch tells of a change well within this time. */
const WATCH_LAG_MS = 5_000;
const originOf = oncePerObject(({ giteaUrl }: RunnerGroup) => new URL(giteaUrl).origin);

/** Returns a group and its sizes, with the hashes of their pod templates. @param target if it is a failure, it stands for the look */
export function seenGroups(
  group: RunnerGroup,
  target: GiteaTarget | Failure | undefined,
  lookAt: (key: string) => SeenGroup['look'],
): readonly SeenGroup[] {
  const lookKey = target instanceof Failure ? keyText(group) : (target?.key ?? '');
  const look = target instanceof Failure ? target : lookAt(lookKey);
  return withSizes(group).map((each) => ({ group: each, templateHash: templateHashOf(each), lookKey, look }));
}

export function watchedCluster(origin: string, runners: readonly LiveRunner[], pods: PodCounts, nowMs: number) {
  return { origin, jobs: runners.map(({ job }) => job), pods, listedAtMs: nowMs - WATCH_LAG_MS };
}

/** Returns Kubernetes' clock minus that of each Gitea, ms, by origin. Giteas with an unknown clock are left out. */
export function skewsOf({ clocks, snapshot }: ReconcileInput): ReadonlyMap<string, number> {
  const origins = originsOf(snapshot.groups);
  return new Map(
    origins.flatMap((origin) => {
      const clock = (of: string) => ({ origin: of, bounds: clocks.of(of) });
      const { skewMs } = correctClocks([clock(origin)], clock(clocks.kubernetes));
      return skewMs === undefined ? [] : [[origin, skewMs] as const];
    }),
  );
}

type Member = ReturnType<typeof memberOf>;

function memberOf(input: ReconcileInput, live: LiveGroup) {
  const { lostJobs, observations, snapshot, targetOf, unregistered, warningsOf } = input;
  const { group, key } = live;
  // A group without a valid spec has no target, and so has a new one.
  const target = group && targetOf.get(group);
  const observation = target && !(target instanceof Failure) ? observations.get(target.key) : undefined;
  const runners = snapshot.runnersOfGroup.get(key) ?? NO_RUNNERS;
  const warnings = group && warningsOf?.get(group);
  return { live, target, observation, runners, lostJobs: lostJobs(key), unregistered: unregistered(key), warnings };
}

/** Returns the verdict on one Application. @param before its last verdict: if that still holds, it is returned as the same object */
export function judgeApplication(
  input: ReconcileInput,
  application: string,
  groups: readonly LiveGroup[],
  before: AppVerdict | undefined,
): AppVerdict {
  const { nowMs, snapshot } = input;
  const isManaged = application !== '';
  const { listing } = (isManaged && input.wakes.get(application)) || UNKNOWN;
  const counting = groups.filter((group) => isListed(group, listing));
  const shards = [application, ...siblingsOf(counting, application).map(({ key }) => key)].map((key) => {
    const wake = (isManaged && input.wakes.get(key)) || UNKNOWN;
    return { key, wake, live: snapshot.runnersOfApp.get(key) ?? NO_RUNNERS };
  });
  const live = shards.flatMap((shard) => shard.live);
  const all = groups.map((group) => memberOf(input, group));
  const members = all.filter(({ live }) => isListed(live, listing));
  const foreignRunners = printedElsewhere(input, members);
  const inputs = [
    listing,
    ...shards.flatMap((shard) => [shard.wake.state.last, shard.wake.printed, shard.live]),
    // Each look makes a new observation, but what it has seen is often the same object.
    ...all.flatMap(({ observation, ...rest }) => [observation?.look, observation?.failure, ...Object.values(rest)]),
    ...foreignRunners,
  ];
  if (before && holds(before, nowMs) && sameElements(before.inputs, inputs)) return before;

  const planning = planMembers(input, members, [...live, ...foreignRunners]);
  const runners = planning.is === 'planned' ? planning.plan.runners : [];
  const parts = shards.map((shard, index) => {
    const ofShard = runners.filter((decision) => decision.emit && (decision.shard ?? 0) === index);
    const isPlanned = isManaged && planning.is === 'planned';
    const difference = isPlanned ? differenceOf(ofShard, shard.live, planning.atMs, shard.wake.printed) : NO_DIFFERENCE;
    const starts = isPlanned && troubleOf(shard.wake.state) === undefined ? startsOf(ofShard, counting, live) : [];
    return { ...shard, difference, differing: differingByGroup(difference, runners, shard.live), starts };
  });
  const [{ difference } = { difference: NO_DIFFERENCE }, ...siblings] = parts;
  const argocdOf = ({ key }: LiveGroup): GroupFacts['argocd'] => {
    if (!isManaged) return { is: 'unmanaged' };
    return worstOf(parts.map((part) => [part.key, argocdFacts(part.wake.state, part.differing.get(key) ?? [], input)]));
  };
  return {
    application,
    planning,
    difference,
    siblings: new Map(siblings.map((part) => [part.key, part.difference])),
    settled: members.every((member) => isSettled(member, snapshot)),
    clockWarnings: (planning.is === 'planned' && planning.clockWarnings) || [],
    groups: all.map((member) => {
      const { live: group, runners: own } = member;
      const unlisted = listing?.get(group.key) === false ? FOREIGN : NOT_ASKED;
      const facts = isListed(group, listing)
        ? factsOf(member, planning, argocdOf(group), nowMs)
        : factsOf(member, { is: 'waiting' }, unlisted, nowMs);
      return { live: group, runners: own, facts };
    }),
    listing,
    starts: parts.flatMap((part) => part.starts),
    inputs,
    untilMs: nowMs + (isQuiet(planning, counting) ? QUIET_MS : TICK_MS),
  };
}

/** Runners without a Job yet: to another Application they are free and have a CI job (law P11). */
function startsOf(decisions: readonly RunnerDecision[], groups: readonly LiveGroup[], live: readonly LiveRunner[]) {
  const existing = new Set(live.map(({ job }) => keyText(job)));
  return decisions.flatMap((decision): readonly LiveRunner[] => {
    if (!decision.emit || decision.skip || !decision.job) return [];
    const { group: key, job, runner: name } = decision;
    const { namespace } = key;
    const runnerGroup = groups.find(({ group }) => isSame(group, key))?.group;
    if (!runnerGroup || existing.has(keyText({ namespace, name }))) return [];
    const made = { namespace, name, giteaUrl: runnerGroup.giteaUrl, jobUrl: job.url };
    return [{ job: { ...made, state: 'running', createdAtMs: 0 }, annotations: {} }];
  });
}

/** Notes what an Application starts, for those after it (`ReconcileInput.startedBefore`). */
export function noteStarts(startedBefore: Map<string, readonly LiveRunner[]>, { starts }: AppVerdict): void {
  for (const runner of starts)
    for (const page of pagesOf(runner.job.jobUrl))
      startedBefore.set(page, [...(startedBefore.get(page) ?? []), runner]);
}

/** True if a verdict still holds. One that claims more than `QUIET_MS` is older than a set-back clock. */
function holds({ untilMs }: AppVerdict, nowMs: number): boolean {
  return nowMs < untilMs && untilMs - nowMs <= QUIET_MS;
}

/** Plans the groups of one Application. If that fails, `generate` would fail too, so nothing is to be woken. */
function planMembers(
  { clocks, instance, nowMs, pods }: ReconcileInput,
  members: readonly Member[],
  foreignRunners: readonly LiveRunner[],
): Planning {
  const groups = members.flatMap(({ live: { group }, observation, target }) =>
    group ? seenGroups(group, target, () => observation?.failure ?? observation?.look) : [],
  );
  const objects = members.map(({ live }) => live.object);
  const runners = [...new Set([...members.flatMap((member) => member.runners), ...foreignRunners])];
  try {
    return planSeen({
      instance,
      shards: shardsOf(members.map(({ live }) => live)),
      application: objects[0]?.metadata.annotations?.[TRACKING_ID]?.split(':')[0],
      groups,
      broken: members.flatMap(({ live }) => (live.group ? [] : brokenGroup(live))),
      suspended: suspendedOf(objects),
      cluster: watchedCluster(clocks.kubernetes, runners, pods, nowMs),
      clockOf: clocks.of,
      nowMs,
    });
  } catch (error) {
    if (error instanceof Failure) return { is: 'failed', failure: error };
    throw error;
  }
}

function brokenGroup({ key, object, problem = '' }: LiveGroup): PlanInput['broken'][number] {
  const { namespace, name } = object.metadata;
  return { namespace, name, failure: new Failure('GR-INPUT-91', 2, `RunnerGroup ${key}: ${problem}`) };
}

/** Jobs of other groups that were printed for a queued job that these groups see, or that count under their limits. The planner reads no other foreign Jobs. */
function printedElsewhere({ snapshot, startedBefore }: ReconcileInput, members: readonly Member[]) {
  const memberRunners = new Set(members.flatMap(({ runners }) => runners));
  const looks = new Set(members.map(({ observation }) => observation?.look));
  const queued = [...looks].flatMap((look) => look?.jobs.filter(({ status }) => status === 'queued') ?? []);
  const printedRunners = queued.flatMap((job) =>
    [snapshot.printedFor, startedBefore].flatMap((runners) => runners?.get(pageOf(job)) ?? []),
  );
  const limits = new Set(members.flatMap(({ live }) => live.group?.limits ?? []).map(({ name }) => name));
  const sharing = [...limits].flatMap((name) => snapshot.sharing.get(name ?? '') ?? []);
  return [...new Set([...printedRunners, ...sharing])].filter((runner) => !memberRunners.has(runner));
}

function factsOf(
  { live, lostJobs, runners, observation, target, unregistered, warnings }: Member,
  planning: Planning,
  argocd: GroupFacts['argocd'],
  nowMs: number,
): GroupFacts {
  const { group, object, problem, isDenied } = live;
  const failure = target instanceof Failure ? target : observation?.failure;
  const [refusal, giteaFailure] = failure?.kind === 'policy' ? [failure] : [undefined, failure];
  const troubles = (planning.is === 'planned' && group && planning.troubles) || [];
  const trouble = troubles.find((each) => isSame(each, object.metadata));
  const planFailure = planning.is === 'failed' ? planning.failure : trouble?.failure;
  const isPlanned = planning.is === 'planned' && group && !planFailure;
  return {
    generation: object.metadata.generation ?? undefined,
    suspended: suspensionOf(object) ?? group?.suspend ?? false,
    activeRunners: runners.filter(({ job }) => !hasEnded(job.state)).length,
    argocd,
    lostJobs,
    ...defined({ unregistered, warnings, problem, isDenied, refusal, giteaFailure }),
    ...(isPlanned && { counts: countsOf(planning.plan, group) }),
    ...(observation && { checkedAtMs: observation.endedMs, checkAgeMs: nowMs - observation.endedMs }),
    ...(planFailure && !failure && { planFailure }),
  };
}

/** Returns the facts of the worst shard: the first in trouble, with its name, or the one that differs longest. */
function worstOf(shards: readonly (readonly [key: string, facts: ManagedFacts])[]): ManagedFacts {
  const isBad = ([, { last }]: (typeof shards)[number]): boolean => troubleOf({ ...(last && { last }) }) !== undefined;
  const byDifference = shards.toSorted(([, a], [, b]) => b.differsForMs - a.differsForMs);
  const [key, facts] = shards.find(isBad) ?? (byDifference[0] as (typeof shards)[number]);
  const { last } = facts;
  if (shards.length === 1 || last === undefined || !('message' in last) || last.message === undefined) return facts;
  return { ...facts, last: { ...last, message: `Application ${key}: ${last.message}` } };
}

type ManagedFacts = Extract<GroupFacts['argocd'], { readonly is: 'managed' }>;

function argocdFacts(
  state: WakeState,
  differing: readonly string[],
  { nowMs, steadyMs }: ReconcileInput,
): ManagedFacts {
  const { differSince, last } = state;
  const differsForMs = Math.max(0, ...differing.map((key) => steadyMs - (differSince.get(key) ?? steadyMs)));
  const waits = waitText(state, (atMs) => timeText(nowMs + atMs - steadyMs));
  return { is: 'managed', differsForMs, ...(last && { last }), ...(waits !== undefined && { waits }) };
}

/** The end of a runner is news that only a later look explains. Without a target no look follows. */
function isSettled({ live, observation, target }: Member, { lastEndMs }: ClusterSnapshot): boolean {
  if (target === undefined || target instanceof Failure) return true;
  return (observation?.beganSteadyMs ?? 0) >= (lastEndMs.get(live.key) ?? 0);
}

/** The hours of a pool begin and end without an event. */
function isQuiet(planning: Planning, groups: readonly LiveGroup[]): boolean {
  if (planning.is !== 'planned' || groups.some(({ group }) => group && hasTimedPool(group))) return false;
  return planning.plan.jobs.length + planning.plan.runners.length === 0;
}

export function originsOf(groups: readonly LiveGroup[]): readonly string[] {
  return [...new Set(groups.flatMap(({ group }) => (group ? originOf(group) : [])))].sort();
}
