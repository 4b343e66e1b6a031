/**
 * Predicts the effect of a change of RunnerGroups on their runners, before it is merged: `validate --against`. Nothing is decided here. The planner
 * plans the same runners with the groups as they are and as they would be, and both plans are rendered as `generate` renders them:
 *
 *     a runner in each state, or those that live ─► evidence ─┬─► plan with the groups before ─► Jobs ─┐
 *                                                             └─► plan with the groups after ──► Jobs ─┴─► what happens
 *
 * Gitea is not asked. So evidence says of Gitea what its runners and their Jobs tell: a pinned runner is at work, and the CI job that an
 * unpinned one was made for waits.
 */
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { RunnersApp } from '../manifests/app.ts';
import { type FinishPod, type JobManifest, sorted } from '../manifests/job-manifest.ts';
import { groupManifest } from '../manifests/output.ts';
import { stamp } from '../manifests/stamp.ts';
import type { HeldBecause, Plan, RunnerDecision } from '../planner/decisions.ts';
import {
  type Evidence,
  type Group,
  isOver,
  type Job,
  type LiveJob,
  type RegisteredRunner,
  siblingOf,
} from '../planner/evidence.ts';
import { type MadeFor, parseRunnerName, poolIndexOf, runnerName } from '../planner/names.ts';
import { jobGroupFinder } from '../planner/traces.ts';
import { defined } from '../shared/defined.ts';
import { Failure } from '../shared/failure.ts';
import { groupBy, isSame, keyText } from '../shared/keys.ts';
import { hasJobsOf, scopeWord } from '../shared/scope.ts';
import { partsOf } from './output-of-plan.ts';
import { planOrRefuse, toPlanned } from './plan-groups.ts';
import { refuseProblems } from './platform-app.ts';

type GroupsOfSide = Readonly<{ groups: readonly RunnerGroup[]; finish?: FinishPod | undefined }>;

/** State of a runner at the change. `warm`: idle, of a pool. `debugging`: its CI job failed, its pod waits. */
const RUNNER_MOMENTS = ['starting', 'idle', 'warm', 'busy', 'debugging'] as const;
type RunnerMoment = (typeof RUNNER_MOMENTS)[number];

/** What happens to one runner, or to each runner in this state when the change comes. */
export interface RunnerFate {
  /** Name of a living runner. Absent: the fate is that of any runner in this state. */
  readonly runner?: string;
  readonly now: RunnerMoment;
  /** True for one of the runners above the new cap or pool. */
  readonly isBeyond?: true;
  /** `runs-on` of its CI job: labels that the group will not have. */
  readonly lostLabels?: readonly string[];
  readonly outcome: 'stays' | 'finishes' | 'replaced' | 'removed';
  /** The planner's reason. `not-planned`: no RunnerGroup has such a runner any more. */
  readonly because: RunnerDecision['because'] | 'not-planned';
  /** Why its CI job is held back after the change. */
  readonly jobHeld?: HeldBecause;
  /** The RunnerGroup that counts it from then on, when it is another one. */
  readonly heir?: string;
  /** What Argo CD does with the runner's Job. `nothing`: it shows no difference. */
  readonly argocd: 'nothing' | 'changes-it' | 'prunes-it';
}

/** A RunnerGroup that is on one side only, or differs. */
export interface GroupChange {
  readonly group: string;
  readonly is: 'new' | 'changed' | 'removed';
  /** Changed fields, e.g. `spec.image`. */
  readonly fields: readonly string[];
  readonly hasNewTemplate: boolean;
  /** Values as `[before, after]`, if they differ. */
  readonly cap?: readonly [number, number];
  readonly place?: readonly [string, string];
  readonly runners: readonly RunnerFate[];
}

/** `validate -o json` prints it. */
export interface Comparison {
  /** The groups that change. With living runners also those whose runners another group's change meets. */
  readonly changes: readonly GroupChange[];
  /** RunnerGroups that are the same on both sides. */
  readonly unchanged: number;
  /** Living Jobs that none of these RunnerGroups has. Absent: the cluster was not looked at. */
  readonly unknownJobs?: number;
}

/** The cluster at the change, with its living Jobs. Without `jobs` it was not looked at. */
type ClusterState = Readonly<{ instance: string; nowMs: number; jobs?: readonly LiveJob[] | undefined }>;

/** All groups before and after the change, and the cluster that it meets. */
type Change = Readonly<{ before: Side; after: Side; cluster: ClusterState }>;

/** RunnerGroups that change. Each state of each one is planned with all groups of its namespace. */
const MOST_CHANGES = 200;

/** Compares both sides. @throws Failure exit 2 when one side cannot be planned, or too much changes */
export function compareGroups(
  sides: { readonly before: GroupsOfSide; readonly after: GroupsOfSide },
  cluster: ClusterState,
): Comparison {
  const change = { before: sideOf(sides.before), after: sideOf(sides.after), cluster };
  const keys = [...new Set([...change.before.keys(), ...change.after.keys()])].sort();
  const all = keys.map((key) => changeOf(key, change.before.get(key), change.after.get(key)));
  const changed = new Set(all.filter(({ is }) => is !== undefined).map(({ group }) => group));
  if (changed.size > MOST_CHANGES) {
    const message = `compare RunnerGroups: ${changed.size} differ, more than ${MOST_CHANGES}. Compare fewer files at a time.`;
    throw new Failure('GR-AGAINST-01', 2, message);
  }
  const living = cluster.jobs && fatesOfLiving(cluster.jobs, change, changed);
  const fatesOfGroup = (key: string): readonly RunnerFate[] => {
    if (living) return living.fates.get(key) ?? [];
    const group = changed.has(key) && change.before.get(key);
    return group ? fatesOfMoments(group, change) : [];
  };
  const changes = all.flatMap(({ is, ...differences }): readonly GroupChange[] => {
    const runners = fatesOfGroup(differences.group);
    return is || runners.length > 0 ? [{ ...differences, is: is ?? 'changed', runners }] : [];
  });
  return { changes, unchanged: keys.length - changed.size, ...(living && { unknownJobs: living.unknown }) };
}

type SideGroup = Readonly<{ group: RunnerGroup; planned: Group; template: JobManifest }>;

type Side = ReadonlyMap<string, SideGroup>;

function sideOf({ groups, finish }: GroupsOfSide): Side {
  const app = new RunnersApp(groups, finish);
  refuseProblems(app);
  return new Map(
    app.groupCharts.map(({ group, template, templateHash }) => [
      keyText(group),
      { group, planned: toPlanned(group, placeOf(group), templateHash), template },
    ]),
  );
}

/** Groups of one place have one look. */
function placeOf({ giteaUrl, scope }: RunnerGroup): string {
  return `${giteaUrl} ${scopeWord(scope).toLowerCase()}`;
}

function changeOf(group: string, before?: SideGroup, after?: SideGroup) {
  const unchanged = { group, fields: [], hasNewTemplate: false } as const;
  if (!before) return { ...unchanged, is: 'new' } as const;
  if (!after) return { ...unchanged, is: 'removed' } as const;
  const fields = writtenDifferently(before.group, after.group);
  const pair = <T>(read: (side: SideGroup) => T) =>
    read(before) === read(after) ? undefined : ([read(before), read(after)] as const);
  const cap = pair(({ planned }) => planned.maxActiveRunners);
  const place = pair(({ planned }) => planned.look);
  const hasNewTemplate = before.planned.templateHash !== after.planned.templateHash;
  const is = fields.length > 0 || hasNewTemplate ? ('changed' as const) : undefined;
  return { group, is, fields, hasNewTemplate, ...defined({ cap, place }) };
}

function writtenDifferently(before: RunnerGroup, after: RunnerGroup): readonly string[] {
  const fieldsOf = (group: RunnerGroup): Readonly<Record<string, unknown>> => {
    const { spec, ...fields } = groupManifest(group) as ReturnType<typeof groupManifest> & { readonly spec: object };
    return { ...fields, ...Object.fromEntries(Object.entries(spec).map(([name, value]) => [`spec.${name}`, value])) };
  };
  const [a, b] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return names.filter((name) => JSON.stringify(sorted(a[name])) !== JSON.stringify(sorted(b[name]))).sort();
}

/** A runner with its group before the change. `job`: the CI job that it runs or was made for, if Gitea would list one. */
type SeenRunner = Readonly<{ live: LiveJob; side: SideGroup; now: RunnerMoment; job: Job | undefined }>;

/** How a runner is seen: its group, `runs-on` of its CI job (`labels`), and its number among all that are seen. */
type Sighting = Readonly<{ side: SideGroup; labels: readonly string[]; nth: number; nowMs: number }>;

function seenRunnerOf(live: LiveJob, { side, labels, nth, nowMs }: Sighting): SeenRunner {
  const madeFor = parseRunnerName(live.name)?.madeFor;
  const isOfPool = poolIndexOf(madeFor) !== undefined;
  const now = live.pinned
    ? (live.endedAtMs === undefined && 'busy') || 'debugging'
    : (live.state === 'starting' && 'starting') || (isOfPool ? 'warm' : 'idle');
  if (!madeFor || now === 'debugging' || (isOfPool && now !== 'busy')) return { live, side, now, job: undefined };
  // The CI job of a pool's runner is unknown: it gets an id that no other job has.
  const { id, attempt } = 'id' in madeFor ? madeFor : { id: Number.MAX_SAFE_INTEGER - nth, attempt: 1 };
  const { repository = 'owner/repository', jobUrl: url = '' } = live;
  const words = { repository, name: 'job', url, labels } as const;
  const job = { id, attempt, runId: id, ...words, status: 'queued', createdAtMs: nowMs } as const;
  const busy = { ...job, status: 'in_progress', startedAtMs: nowMs, runner: live.name } as const;
  return { live, side, now, job: now === 'busy' ? busy : job };
}

/** Runners of one group in each state. Each stands alone, so that it competes with no other one. */
function fatesOfMoments(side: SideGroup, { before, after, cluster }: Change): readonly RunnerFate[] {
  const { planned } = side;
  const next = after.get(keyText(planned))?.planned;
  const lostLabels = next ? planned.labels.filter((label) => !next.labels.includes(label)) : [];
  const keptLabels = planned.labels.filter((label) => !lostLabels.includes(label));
  /** Plays one state. @param most bounds the cap and the pool after the change, so that the second of two runners finds no slot */
  const play = (now: RunnerMoment, labels: readonly string[], most?: 1) => {
    const runners = Array.from({ length: most ? 2 : 1 }, (_, nth) =>
      seenRunnerOf(madeUp(side, now, nth + 1, cluster, next), { side, labels, nth, nowMs: cluster.nowMs }),
    );
    const ofNamespace = {
      before: groupsOfNamespace(before, planned),
      after: groupsOfNamespace(after, planned, most),
      cluster,
    };
    return fatesOf(runners, ofNamespace).map(({ fate: { runner: _, ...fate } }): RunnerFate => fate);
  };
  return RUNNER_MOMENTS.flatMap((now): readonly RunnerFate[] => {
    if (now === 'warm' && planned.minIdleRunners === 0) return [];
    if (now === 'debugging' && planned.keepFailedMs === undefined) return [];
    const usual = play(now, keptLabels.length > 0 ? keptLabels : lostLabels);
    const isPoolSmaller = now === 'warm' && next !== undefined && next.minIdleRunners < planned.minIdleRunners;
    const isTight = isPoolSmaller || (next !== undefined && next.maxActiveRunners < planned.maxActiveRunners);
    // A cap of one slot shows what happens to a runner without a slot. More slots would have the same result.
    const beyond = isTight ? play(now, keptLabels, 1).filter(({ outcome }) => outcome !== usual[0]?.outcome) : [];
    const wantsJob = (now === 'starting' || now === 'idle') && keptLabels.length > 0 && lostLabels.length > 0;
    const ofLost = wantsJob ? play(now, lostLabels) : [];
    return [
      ...usual,
      ...beyond.map((fate) => ({ ...fate, isBeyond: true as const })),
      ...ofLost.map((fate) => ({ ...fate, lostLabels })),
    ];
  });
}

/** Returns the groups of its namespace that may get its runners. @param most bound for its cap and pool */
function groupsOfNamespace(side: Side, { namespace, name }: Group, most = Number.POSITIVE_INFINITY): Side {
  const groupsHere = [...side].filter(([, { group }]) => group.namespace === namespace);
  const bounded = ({ planned, ...each }: SideGroup): SideGroup => {
    const minIdleRunners = planned.name === name ? Math.min(most, planned.minIdleRunners) : 0;
    const maxActiveRunners = Math.min(planned.name === name ? most : Infinity, planned.maxActiveRunners);
    return { ...each, planned: { ...planned, minIdleRunners, maxActiveRunners } };
  };
  return new Map(groupsHere.map(([key, each]) => [key, bounded(each)]));
}

/** Age of a made-up runner, ms: it can have registered, and is still waited for. */
const AGE_MS = 10_000;

/** The Job of a runner in this state. @param next its group after: its CI job is of no repository there, if that is possible */
function madeUp(
  side: SideGroup,
  moment: RunnerMoment,
  nth: number,
  { instance, nowMs }: ClusterState,
  next?: Group,
): LiveJob {
  const { group, planned, template } = side;
  const atMs = Math.floor((nowMs - AGE_MS) / 1000) * 1000;
  const madeFor: MadeFor = moment === 'warm' ? { poolIndex: nth } : { id: nth, attempt: 1 };
  const name = runnerName(instance, planned, madeFor, 0);
  const covers = planned.covers ?? (next?.covers === undefined ? 'owner' : `not-${next.covers}`);
  const decision = { emit: true, runner: name, group, because: 'own-runner', pinned: false } as const;
  return {
    namespace: group.namespace,
    name,
    createdAtMs: atMs,
    giteaUrl: planned.origin,
    application: 'this',
    ...(moment === 'starting' ? { state: 'starting' } : { state: 'running', runningSinceMs: atMs }),
    ...((moment === 'busy' || moment === 'debugging') && { pinned: true }),
    ...(moment === 'debugging' && { endedAtMs: atMs, keepUntilMs: atMs + (planned.keepFailedMs ?? 0) }),
    ...(moment !== 'warm' && { repository: covers.includes('/') ? covers : `${covers}/any-repository` }),
    spec: stamp(template, partsOf(decision)).spec,
  };
}

/** Returns the fates of living runners by their group before. Unchanged groups without one are left out. */
function fatesOfLiving(jobs: readonly LiveJob[], change: Change, changed: ReadonlySet<string>) {
  const { before, after, cluster } = change;
  const findGroup = jobGroupFinder(plannedOf(before), cluster.instance);
  const living = jobs.filter(({ state }) => !isOver(state)).map(ofOneApplication);
  const seenRunners = living.flatMap((live, nth): readonly SeenRunner[] => {
    const key = findGroup(live);
    const side = key && before.get(keyText(key));
    if (!side) return [];
    const next = after.get(keyText(side.group))?.planned.labels ?? [];
    const kept = side.planned.labels.filter((label) => next.includes(label));
    const labels = kept.length > 0 ? kept : side.planned.labels;
    return [seenRunnerOf(live, { side, labels, nth, nowMs: cluster.nowMs })];
  });
  const fates = new Map<string, readonly RunnerFate[]>();
  for (const ofApplication of groupBy(seenRunners, ({ live }) => live.application ?? '').values()) {
    for (const { side, fate } of fatesOf(ofApplication, change)) {
      const key = keyText(side.group);
      const isMet = fate.outcome === 'replaced' || fate.outcome === 'removed' || fate.argocd !== 'nothing';
      if (isMet || changed.has(key)) fates.set(key, [...(fates.get(key) ?? []), fate]);
    }
  }
  return { fates, unknown: living.length - seenRunners.length };
}

/** Shards plan as one Application (docs/adr/0109). */
function ofOneApplication(live: LiveJob): LiveJob {
  const { application, shard } = live;
  return shard === undefined || application === undefined ? live : { ...live, application: siblingOf(application, 0) };
}

function plannedOf(side: Side): readonly Group[] {
  return [...side.values()].map(({ planned }) => planned);
}

/** Returns the fate of each runner, with its group. Runners that would be removed without the change are left out. */
function fatesOf(seenRunners: readonly SeenRunner[], { before, after, cluster }: Change) {
  const evidence = evidenceOf(seenRunners, [...before.values(), ...after.values()], cluster);
  const was = decisionsByRunner(planOrRefuse(plannedOf(before), evidence));
  const planAfter = planOrRefuse(plannedOf(after), evidence);
  const will = decisionsByRunner(planAfter);
  const jobs = new Map(planAfter.jobs.map((each) => [each.job, each]));
  const newWarm = [...will.values()].filter((each) => each.because === 'warm' && !was.has(each.runner));
  /** True if a new runner of the pool takes the slot of this one. Each new one replaces one old one. */
  const hasNewWarm = ({ group }: SideGroup): boolean => {
    const index = newWarm.findIndex((each) => isSame(each.group, group));
    return index >= 0 && newWarm.splice(index, 1).length > 0;
  };
  return seenRunners.flatMap(({ live, side, now, job }) => {
    const earlier = was.get(live.name);
    const decision = will.get(live.name);
    if (earlier?.emit === false) return [];
    const ofJob = job && jobs.get(job);
    const isReplaced = (): boolean => {
      if (now === 'warm' || (now === 'starting' && !job)) return hasNewWarm(side);
      return ofJob?.verdict === 'served' && ofJob.runner !== live.name;
    };
    const ofKept = (): Pick<RunnerFate, 'outcome' | 'argocd'> => {
      const manifest = jobText(live, after, decision);
      const isSameJob = manifest === undefined || manifest === jobText(live, before, earlier);
      return { outcome: now === 'busy' ? 'finishes' : 'stays', argocd: isSameJob ? 'nothing' : 'changes-it' };
    };
    const ofEnded = (): Pick<RunnerFate, 'outcome' | 'argocd'> => {
      return { outcome: isReplaced() ? 'replaced' : 'removed', argocd: 'prunes-it' };
    };
    const { outcome, argocd } = isLeft(live, decision) ? ofKept() : ofEnded();
    const fate: RunnerFate = {
      runner: live.name,
      now,
      because: decision?.because ?? 'not-planned',
      outcome,
      ...(ofJob?.verdict === 'held' && { jobHeld: ofJob.because }),
      ...(decision?.emit && !isSame(decision.group, side.group) && { heir: keyText(decision.group) }),
      argocd,
    };
    return [{ side, fate }];
  });
}

function decisionsByRunner({ runners }: Plan): ReadonlyMap<string, RunnerDecision> {
  return new Map(runners.map((decision) => [decision.runner, decision]));
}

/** True for a Job that stays in the cluster. If the planner has not decided about it, only its pin keeps it. */
function isLeft({ pinned = false }: LiveJob, decision: RunnerDecision | undefined): boolean {
  return decision ? decision.emit && decision.because !== 'unpinning' : pinned;
}

/** The Job as `generate` prints it. Undefined: Argo CD is to leave it as it is. */
function jobText({ spec }: LiveJob, side: Side, decision: RunnerDecision | undefined): string | undefined {
  if (!decision?.emit || decision.skip) return undefined;
  const template = side.get(keyText(decision.group))?.template;
  return template && JSON.stringify(stamp(template, partsOf(decision, spec)));
}

/** Makes evidence in which each look shows the CI jobs of its scope, and the runners that are registered there. */
function evidenceOf(
  seenRunners: readonly SeenRunner[],
  groups: readonly SideGroup[],
  { instance, nowMs }: ClusterState,
): Evidence {
  const places = new Map(groups.map(({ group, planned }) => [planned.look, group]));
  const looks = [...places].map(([look, { giteaUrl, scope }]) => {
    const runnersHere = seenRunners.filter(({ side }) => side.planned.origin === giteaUrl);
    const jobs = runnersHere.flatMap(({ job }) => (job && hasJobsOf(scope, job.repository) ? [job] : []));
    const rows = runnersHere.filter(({ now, side }) => {
      const isRegistered = now !== 'starting' && now !== 'debugging';
      return isRegistered && (side.planned.look === look || scope.kind === 'global');
    });
    const runners = rows.map(({ live: { name }, now, side: { planned } }, id): RegisteredRunner => {
      return { id, name, online: true, busy: now === 'busy', disabled: false, ephemeral: true, labels: planned.labels };
    });
    return [look, { jobs, runners, rowsWereRead: true }] as const;
  });
  const application = seenRunners[0]?.live.application;
  const jobs = seenRunners.map(({ live }) => live);
  const cluster = { is: 'seen', jobs, pods: new Map(), listedAtMs: nowMs } as const;
  return { instance, looks: new Map(looks), cluster, nowMs, ...(application !== undefined && { application }) };
}
