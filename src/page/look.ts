/** Keeps the figures of the page, for each replica: from its copies of the cluster, and its own looks while somebody watches. */
import { LRUCache } from 'lru-cache';
import { explainerOf, withNotCreated } from '../answers/explanation.ts';
import { statusSeen } from '../answers/where.ts';
import type { GiteaAccess } from '../clients/gitea/api.ts';
import { LookMemory } from '../clients/gitea/bounds.ts';
import { type GiteaTarget, type ObserveOptions, observeEach } from '../clients/gitea/observe-gitea.ts';
import { type Run, readRuns } from '../clients/gitea/runs.ts';
import { Deadline } from '../clients/http/request.ts';
import { suspendedOf } from '../clients/kubernetes/observe-cluster.ts';
import { namespacesOf } from '../plan/find-targets.ts';
import { withNamesNow } from '../plan/plan-groups.ts';
import { planSeen } from '../plan/plan-seen.ts';
import type { Job } from '../planner/evidence.ts';
import { type Giteas, LONGEST_TURN_MS } from '../serve/looks/giteas.ts';
import type { TargetBook } from '../serve/looks/targets.ts';
import { seenGroups, watchedCluster } from '../serve/planning/reconcile.ts';
import type { FeatureContext } from '../serve/task.ts';
import { pause } from '../shared/clock.ts';
import { Failure, orFailure, successes } from '../shared/failure.ts';
import { atMost, keyText } from '../shared/keys.ts';
import type { Scope } from '../shared/scope.ts';
import { normalBase } from '../shared/url.ts';
import type { OwnGroup } from './trends.ts';
import type { Figures } from './view.ts';

interface LookerOptions extends FeatureContext {
  /** Base URL of a Gitea, as RunnerGroups write it. Groups of this Gitea are shown, no others. */
  readonly gitea: string;
  readonly giteas: Giteas;
  /** CPU time that this process has used. */
  readonly cpuMs: () => number;
}

type LiveGroups = ReturnType<LookerOptions['cluster']['groups']>;

/** The last figures, when their look ended (by this machine's clock), and why they are not newer. */
type Shown = Readonly<{ figures?: Figures; atMs: number; trouble?: Pick<Failure, 'kind' | 'message'> }>;

type LookResult = (Figures & { readonly costMs: number }) | Pick<Failure, 'kind' | 'message'>;

/** Younger figures are shown without another look. */
export const FRESH_MS = 5_000;
/** Looks use at most one part of a core in so many. */
const CPU_PARTS = 8;
/** The queue of looks at Gitea. */
export const LOOK = 'look';
/** How long a person who opens the page waits for a look, ms. After that the page shows the last figures. */
const PATIENCE_MS = 2_000;
const KEY = 'page';
/** Runs that are remembered, half a KB each, and the time for all questions about them in one look. */
const MOST_RUNS = 5_000;
/** Time limit for reading the runs of a look, ms. Runs that are not read by then are left out. */
const RUNS_MS = 5_000;
/** A run that Gitea has not told of is asked for again after this time. */
const AGAIN_MS = 60_000;

/** Runs by id, which a Gitea gives once. */
type Runs = LRUCache<number, { readonly run?: Run }>;
type LookAsking = ObserveOptions & Pick<GiteaAccess, 'http' | 'versions'>;

export type Looker = ReturnType<typeof startLooker>;

/** Starts the looks of the page. It makes none until somebody watches. */
export function startLooker(options: LookerOptions) {
  const { clock, clocks, env, gitea, giteas, queue, tell, timeoutMs } = options;
  const targets = options.openTargets();
  const runs: Runs = new LRUCache({ ...atMost(MOST_RUNS), ttlResolution: 0, perf: { now: () => clock.steadyMs() } });
  const watchers = new Set<() => void>();
  let nextMs = Number.NEGATIVE_INFINITY;
  let shownState: Shown = { atMs: 0 };
  const sending = { deadlineMs: timeoutMs, clock, clocks, env, http: giteas.http, queue: LOOK };
  const needsRows = async (): Promise<boolean> => true;
  const asking = { ...sending, versions: new Map(), includeBlocked: true, careful: true, needsRows };
  const show = (result: LookResult): void => {
    const restMs = 'costMs' in result ? result.costMs * CPU_PARTS : 0;
    nextMs = clock.steadyMs() + Math.max(FRESH_MS, restMs, giteas.turnInMs({ url: gitea }, LOOK));
    shownState = 'message' in result ? { ...shownState, trouble: result } : { figures: result, atMs: clock.now() };
    if ('message' in result) tell({ is: 'page-look-failed', message: result.message });
    for (const onLook of watchers) onLook();
  };
  let ownGroups: readonly OwnGroup[] = [];
  const line = queue.open('page-look', {
    width: 1,
    deadlineMs: LONGEST_TURN_MS + timeoutMs + PATIENCE_MS,
    // There is no next try until somebody opens the page again.
    mostTries: 1,
    onFailure: (_, failure) => show(failure),
    run: async (_, { signal }) => {
      const work = async () => {
        if (!options.cluster.fresh) return UNSEEN;
        const live = options.cluster.groups();
        ownGroups = await ownGroupsOf(options, live, targets);
        return await look(options, live, ownGroups, asking, runs);
      };
      show(await giteas.visit({ url: gitea }, LOOK, () => orFailure(work()), signal));
      return watchers.size > 0 ? { inMs: nextMs - clock.steadyMs() } : undefined;
    },
  });
  /** Looks again and again while somebody watches, and calls `onLook` after each look. Answers a function that ends the watching. */
  const watch = (onLook: () => void): (() => void) => {
    watchers.add(onLook);
    line.add(KEY, Math.max(0, nextMs - clock.steadyMs()));
    return () => {
      watchers.delete(onLook);
      if (watchers.size === 0 && !line.isRunning(KEY)) line.set(KEY, undefined);
    };
  };
  return {
    watch,
    ownGroups: () => ownGroups,
    /** The newest figures. If they are old, it waits for a look, and if there are none, for longer. */
    shown: async (): Promise<Shown> => {
      if (clock.steadyMs() < nextMs) return shownState;
      const wait = new AbortController();
      // Stops at once, so that no further look is made for this person.
      const stop = watch(() => {
        stop();
        wait.abort();
      });
      await pause(clock, shownState.figures ? PATIENCE_MS : timeoutMs + PATIENCE_MS, wait.signal);
      stop();
      return shownState;
    },
  };
}

const UNSEEN = { kind: 'cluster', message: 'serve does not see the cluster at the moment' } as const;

/** The groups of the page's Gitea, each with its target. */
async function ownGroupsOf({ clock, gitea }: LookerOptions, live: LiveGroups, book: TargetBook) {
  const targetOf = await book.resolve(live, clock.now());
  return live.flatMap(({ group }) => {
    const target = group && normalBase(group.giteaUrl) === normalBase(gitea) ? targetOf.get(group) : undefined;
    return group && target ? [{ group, target }] : [];
  });
}

/** Looks at Gitea, plans as `serve` does, and makes the figures. @throws Failure when no group can be shown */
async function look(
  options: LookerOptions,
  live: LiveGroups,
  ownGroups: readonly OwnGroup[],
  asking: LookAsking,
  runs: Runs,
): Promise<LookResult> {
  const { clock, cluster, cpuMs, instance } = options;
  const targets = new Set(ownGroups.flatMap(({ target }) => (target instanceof Failure ? [] : target)));
  // Ended jobs are shown, too.
  const lookTargets = [...targets].map((target) => ({ ...target, readsEnds: true as const }));
  const memory = new LookMemory(namespacesOf(new Map(ownGroups.map(({ group, target }) => [group, target]))));
  const looks = await observeEach(lookTargets, { ...asking, memory });
  // Other work has its turn between two computations.
  await clock.nextTurn();
  const begunMs = cpuMs();
  const { atMs, plan, seen, troubles = [] } = planOf(options, live, ownGroups, looks);
  const failed = new Set(troubles.map(keyText));
  const sound = ownGroups.flatMap(({ group }) => (failed.has(keyText(group)) ? [] : group));
  const groupsNow = ownGroups.map(({ group }) => withNamesNow([group], plan)[0] ?? group);
  const broken = [
    ...troubles.map(({ failure, ...key }) => ({ group: keyText(key), problem: failure.message })),
    ...live.flatMap(({ key, problem }) => (problem === undefined ? [] : { group: key, problem })),
  ];
  const statuses = live.map(({ key, object }) => statusSeen({ ...object, status: cluster.statusOf(key) }));
  const lookedAt = new Date(clock.now()).toISOString();
  // The page shows neither the cluster, nor who leads, nor Applications.
  const unshown = { server: '', namespaces: [], serve: { leader: '', isLate: false }, applications: [] };
  await clock.nextTurn();
  const { details, outline } = explainerOf(sound, plan, atMs, seen);
  const explanation = withNotCreated({ ...outline(), where: { ...unshown, lookedAt, broken, statuses } });
  const costMs = cpuMs() - begunMs;
  // The runs are read last, so that the plan above is made before the answers are older.
  const deadline = new Deadline(RUNS_MS, clock);
  const jobsOf = ({ key }: GiteaTarget) => successes(looks).get(key)?.jobs ?? [];
  const learn = (target: GiteaTarget) =>
    learnRuns(target.scope, jobsOf(target), { ...asking, ...target, deadline }, runs);
  await Promise.all(lookTargets.map(learn));
  return {
    details,
    explanation,
    repositories: new Set(plan.jobs.map(({ job }) => job.repository)),
    scopes: new Map(groupsNow.map((group) => [keyText(group), group.scope])),
    begun: plan.jobs.flatMap(({ job, verdict }) => (verdict === 'done' || verdict === 'running' ? job : [])),
    runOf: (id) => runs.get(id)?.run,
    pods: cluster.podPlaces(),
    instance,
    costMs,
  };
}

/** Plans as `serve` does, from the page's own looks. @throws Failure */
function planOf(
  { clock, clocks, cluster, instance, kubernetes }: LookerOptions,
  live: LiveGroups,
  ownGroups: readonly OwnGroup[],
  looks: Awaited<ReturnType<typeof observeEach>>,
) {
  const planning = planSeen({
    instance,
    groups: ownGroups.flatMap(({ group, target }) => seenGroups(group, target, (key) => looks.get(key))),
    broken: [],
    // Some readers of the page must not know who suspended a group, and why.
    suspended: new Map([...suspendedOf(live.map(({ object }) => object)).keys()].map((key) => [key, ''])),
    cluster: watchedCluster(kubernetes, cluster.runners(), cluster.podsAlive(), clock.now()),
    clockOf: (origin) => clocks.boundsFor(origin),
    nowMs: clock.now(),
  });
  if (planning.is === 'planned') return planning;
  throw planning.is === 'failed' ? planning.failure : new Error('a look is missing');
}

/** Reads the unknown runs of these jobs. A run does not change, so it is read once. A failure stops nothing. */
async function learnRuns(scope: Scope, jobs: readonly Job[], access: GiteaAccess, runs: Runs): Promise<void> {
  const ids = new Set(jobs.flatMap(({ runId }) => (runs.has(runId) ? [] : runId)));
  if (ids.size === 0) return;
  const latest = await orFailure(readRuns(access, scope, ids));
  for (const id of ids) runs.set(id, {}, { ttl: AGAIN_MS });
  if (!(latest instanceof Failure)) for (const run of latest) runs.set(run.id, { run });
}
