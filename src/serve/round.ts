/**
 * A round: from what is seen to what follows from it, one Application after the other. Pure and synchronous.
 *
 *     survey (who belongs to which Application) ┐
 *     last looks at Gitea, clocks ──────────────┼─► plan ─► difference to the Jobs ─► verdict: wake or not, status of the groups
 *     how the last wakes ended ─────────────────┘
 *
 * The leader makes the scene and acts on the verdicts.
 */

import type { ClockBounds } from '../clients/http/clock.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { LostJob } from '../config/runnergroup/status.ts';
import { templateHash } from '../manifests/pod-template.ts';
import { type ClockCorrection, type ClockWarning, correctClocks } from '../observe/clock-correction.ts';
import type { Trouble } from '../observe/troubles.ts';
import { hasEnded, type Look } from '../planner/evidence.ts';
import { Failure } from '../shared/failure.ts';
import { timeText } from '../shared/marks.ts';
import { finishOwn } from './cluster/own-pod.ts';
import type { Sight } from './looks/lookout.ts';
import type { TargetOf } from './looks/targets.ts';
import { type Difference, differenceOf, differingByGroup, NO_DIFFERENCE } from './planning/difference.ts';
import { type GroupFacts, isReady } from './planning/group-status.ts';
import type { LiveGroup, LiveRunner } from './planning/live.ts';
import {
  countsOf,
  type GroupCounts,
  type Planning,
  planApplication,
  type SightedGroup,
} from './planning/plan-application.ts';
import type { Survey } from './planning/survey.ts';
import { oncePerObject, sameElements } from './unchanged.ts';
import { NEVER_WOKEN, type WakeState, waitText } from './waking/wake-state.ts';

/** Everything that a round depends on. */
export interface Scene {
  /** By this machine's clock. */
  readonly nowMs: number;
  /** The same moment by a clock that is never set. */
  readonly steadyMs: number;
  /** `GITEA_RUNNERS_INSTANCE`. */
  readonly instance: string;
  readonly survey: Survey;
  readonly targetOf: TargetOf;
  /** The last look at each target, by its key. */
  readonly sights: ReadonlyMap<string, Sight>;
  readonly clocks: SceneClocks;
  /** CI jobs of a group whose runners were lost, by its key; the same list until it changes. */
  readonly lostJobs: (key: string) => readonly LostJob[];
  /** How Argo CD was woken so far, by Application. */
  readonly wakes: ReadonlyMap<string, WakeFacts>;
}

/** What servers have told of their clocks. */
export interface SceneClocks {
  /** Origin of the API server. */
  readonly kubernetes: string;
  /** By origin; a server that told nothing is not in it. */
  readonly bounds: ReadonlyMap<string, ClockBounds>;
}

export interface WakeFacts {
  readonly state: WakeState;
  /** Keys of our Jobs in Argo CD's copy of the output. */
  readonly printed: ReadonlySet<string>;
}

/** What follows for one Application. */
export interface AppVerdict {
  /** Its key; '' for groups that no Application manages. */
  readonly application: string;
  readonly planning: Planning;
  /** What a sync would change; nothing without a plan. */
  readonly difference: Difference;
  /** False: a runner ended after the last look began, so the difference may be about nothing. */
  readonly settled: boolean;
  readonly clockWarnings: readonly ClockWarning[];
  readonly groups: readonly GroupVerdict[];
  /** The verdict holds while its inputs are the same objects, and until this time: plans depend on the time, too. */
  readonly inputs: readonly unknown[];
  readonly untilMs: number;
}

/** What follows for one RunnerGroup. */
export interface GroupVerdict {
  readonly live: LiveGroup;
  /** All its Jobs. */
  readonly runners: readonly LiveRunner[];
  /** Absent: there is no plan. */
  readonly counts?: GroupCounts;
  /** What its status follows from. */
  readonly facts: GroupFacts;
  /** Condition `Ready` is True. */
  readonly ready: boolean;
}

/** Times in the plan (spawn timeout, back-off) pass without an event. A verdict is renewed after this time. */
export const TICK_MS = 5_000;
/** Without a job and a runner nothing but `lastCheckTime` depends on the time. */
const QUIET_MS = 30_000;
const UNKNOWN: WakeFacts = { printed: new Set(), state: NEVER_WOKEN };

const hashOf = oncePerObject((group: RunnerGroup) => templateHash(group, finishOwn));
const originOf = oncePerObject(({ giteaUrl }: RunnerGroup) => new URL(giteaUrl).origin);

/**
 * The verdicts on all Applications. Each one is worked out when it is asked for, so the caller may let others have their turn in
 * between. @param before verdicts of the last round: one that still holds is given again, as the same object.
 */
export function* round(scene: Scene, before: ReadonlyMap<string, AppVerdict>): Generator<AppVerdict, void> {
  for (const [application, members] of scene.survey.byApp) {
    yield judgeApplication(scene, application, members, before.get(application));
  }
}

/** Kubernetes' clock minus that of each Gitea, ms, by origin. Giteas whose clock is not known are left out. */
export function skewsOf({ clocks, survey }: Scene): ReadonlyMap<string, number> {
  const origins = originsOf(survey.groups);
  return new Map(
    origins.flatMap((origin) => {
      const { skewMs } = compareClocks(clocks, [origin]);
      return skewMs === undefined ? [] : [[origin, skewMs] as const];
    }),
  );
}

function judgeApplication(
  scene: Scene,
  application: string,
  members: readonly LiveGroup[],
  before: AppVerdict | undefined,
): AppVerdict {
  const { nowMs, survey } = scene;
  const isManaged = application !== '';
  const wake = (isManaged && scene.wakes.get(application)) || UNKNOWN;
  const live = survey.index.ofApp(application);
  const others = printedElsewhere(scene, members);
  const inputs = [
    wake.state.last,
    wake.printed,
    live,
    ...members.flatMap((member) => inputsOf(scene, member)),
    ...others,
  ];
  if (before && holds(before, nowMs) && sameElements(before.inputs, inputs)) return before;

  const clocks = compareClocks(scene.clocks, originsOf(members));
  const planning = planMembers(scene, members, [...live, ...others], clocks);
  const runners = planning.is === 'planned' ? planning.plan.runners : [];
  const difference =
    isManaged && planning.is === 'planned' ? differenceOf(runners, live, planning.atMs, wake.printed) : NO_DIFFERENCE;
  const differing = differingByGroup(difference, runners, live);
  const argocdOf = ({ key }: LiveGroup): GroupFacts['argocd'] =>
    isManaged ? argocdFacts(wake, differing.get(key) ?? [], scene) : { is: 'unmanaged' };
  return {
    application,
    planning,
    difference,
    settled: members.every((member) => isSettled(scene, member)),
    clockWarnings: clocks.warnings,
    groups: members.map((member) => judgeGroup(scene, member, planning, argocdOf(member))),
    inputs,
    untilMs: nowMs + (isQuiet(planning) ? QUIET_MS : TICK_MS),
  };
}

function inputsOf(scene: Scene, member: LiveGroup): readonly unknown[] {
  const target = member.group && scene.targetOf.get(member.group);
  const sight = sightOf(scene, member.group);
  const { index } = scene.survey;
  return [member, target, sight?.look, sight?.failure, index.ofGroup(member.key), scene.lostJobs(member.key)];
}

/** No verdict is made for longer than `QUIET_MS`. One that says so was made before the clock was set back. */
function holds({ untilMs }: AppVerdict, nowMs: number): boolean {
  return nowMs < untilMs && untilMs - nowMs <= QUIET_MS;
}

function planMembers(
  scene: Scene,
  members: readonly LiveGroup[],
  others: readonly LiveRunner[],
  clocks: ClockCorrection,
): Planning {
  const { instance, nowMs, survey, targetOf } = scene;
  const sighted: SightedGroup[] = [];
  const broken: Trouble[] = [];
  for (const { group, problem, key, object } of members) {
    if (!group) {
      const { namespace, name } = object.metadata;
      broken.push({ namespace, name, failure: new Failure('GR-INPUT-91', 2, `RunnerGroup ${key}: ${problem ?? ''}`) });
      continue;
    }
    const target = targetOf.get(group);
    if (target === undefined) return { is: 'waiting' };
    const look = target instanceof Failure ? target : newest(sightOf(scene, group));
    const lookKey = target instanceof Failure ? key : target.key;
    sighted.push({ group, templateHash: hashOf(group), lookKey, ...(look && { look }) });
  }
  const own = members.flatMap(({ key }) => survey.index.ofGroup(key));
  const runners = [...new Set([...own, ...others])];
  const application = members[0]?.trackingId?.split(':')[0];
  return planApplication({ groups: sighted, broken, runners, instance, application, nowMs, clocks });
}

/** Jobs of other groups that were printed for a queued job that these groups see. The planner reads no other foreign Jobs. */
function printedElsewhere(scene: Scene, members: readonly LiveGroup[]): readonly LiveRunner[] {
  const { index } = scene.survey;
  const own = new Set(members.flatMap(({ key }) => index.ofGroup(key)));
  const found = new Set<LiveRunner>();
  for (const { group } of members) {
    for (const { status, url } of sightOf(scene, group)?.look?.jobs ?? []) {
      if (status !== 'queued') continue;
      for (const runner of index.printedFor(url)) if (!own.has(runner)) found.add(runner);
    }
  }
  return [...found];
}

function judgeGroup(scene: Scene, live: LiveGroup, planning: Planning, argocd: GroupFacts['argocd']): GroupVerdict {
  const { group, problem, object } = live;
  const target = group && scene.targetOf.get(group);
  const sight = sightOf(scene, group);
  const refusal = target instanceof Failure && target.code.startsWith('GR-POLICY') ? target : undefined;
  const giteaFailure = refusal ? undefined : target instanceof Failure ? target : sight?.failure;
  const isPlanned = group && !giteaFailure;
  const counts = planning.is === 'planned' && isPlanned ? countsOf(planning.plan, group) : undefined;
  const runners = scene.survey.index.ofGroup(live.key);
  const facts: GroupFacts = {
    generation: object.metadata.generation ?? undefined,
    suspended: group?.suspend ?? false,
    activeRunners: runners.filter(({ job }) => !hasEnded(job.state)).length,
    argocd,
    lostJobs: scene.lostJobs(live.key),
    ...(problem !== undefined && { problem }),
    ...(counts && { counts }),
    ...(sight && { checkedAtMs: sight.endedMs, checkAgeMs: scene.nowMs - sight.endedMs }),
    ...(refusal && { refusal }),
    ...(giteaFailure && { giteaFailure }),
    ...(planning.is === 'failed' && !refusal && !giteaFailure && { planFailure: planning.failure }),
  };
  return { live, runners, facts, ready: isReady(facts), ...(counts && { counts }) };
}

/** @param differing Jobs of one group. */
function argocdFacts(
  { state }: WakeFacts,
  differing: readonly string[],
  { nowMs, steadyMs }: Scene,
): GroupFacts['argocd'] {
  const { last } = state;
  const differsForMs = Math.max(0, ...differing.map((key) => steadyMs - (state.differSince.get(key) ?? steadyMs)));
  const waits = waitText(state, (atMs) => timeText(nowMs + atMs - steadyMs));
  return { is: 'managed', differsForMs, ...(last && { last }), ...(waits !== undefined && { waits }) };
}

/** The end of a runner is news that only a later look explains. */
function isSettled(scene: Scene, { key, group }: LiveGroup): boolean {
  const target = group && scene.targetOf.get(group);
  // No look follows.
  if (target === undefined || target instanceof Failure) return true;
  return (sightOf(scene, group)?.beganMs ?? 0) >= (scene.survey.lastEndMs.get(key) ?? 0);
}

function isQuiet(planning: Planning): boolean {
  return planning.is === 'planned' && planning.plan.jobs.length + planning.plan.runners.length === 0;
}

/** The last look for a group; undefined when it has no target, or that was not looked at yet. */
function sightOf({ sights, targetOf }: Scene, group: RunnerGroup | undefined): Sight | undefined {
  const target = group && targetOf.get(group);
  return target && !(target instanceof Failure) ? sights.get(target.key) : undefined;
}

function newest(sight: Sight | undefined): Look | Failure | undefined {
  return sight?.failure ?? sight?.look;
}

function compareClocks({ kubernetes, bounds }: SceneClocks, giteas: readonly string[]): ClockCorrection {
  const clock = (origin: string) => ({ origin, bounds: bounds.get(origin) });
  return correctClocks(giteas.map(clock), clock(kubernetes));
}

/** Origins of the Giteas of these groups, each once. */
export function originsOf(groups: readonly LiveGroup[]): readonly string[] {
  return [...new Set(groups.flatMap(({ group }) => (group ? originOf(group) : [])))].sort();
}
