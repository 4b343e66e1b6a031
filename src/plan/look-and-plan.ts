/**
 * From RunnerGroups to a plan: the way that `generate`, `explain` and `cdk8s synth` share.
 *
 *     groups ──► tokens ──► looks at Gitea (one per origin, scope and token) ─┐
 *        │                  look at Kubernetes (optional) ────────────────────┼──► plan (plan-seen.ts)
 *        └────► planner and cdk8s app, with a template per group (while the answers are on their way) ──┘
 */
import { collectLooks, observe, observeEach } from '../clients/gitea/observe-gitea.ts';
import { prepareToRead } from '../clients/gitea/shapes.ts';
import { Deadline } from '../clients/http/request.ts';
import { ServerClocks } from '../clients/http/server-clocks.ts';
import type { ClusterConfig } from '../clients/kubernetes/config.ts';
import type { BrokenGroup } from '../config/runnergroup/broken.ts';
import type { Problem } from '../config/runnergroup/problems.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { baseOf } from '../config/runnergroup/sizes.ts';
import type { RunnersApp } from '../manifests/app.ts';
import type { Plan } from '../planner/decisions.ts';
import { type Evidence, hasEnded, isBoundAtWork, isPinnedAlive, type LiveJob } from '../planner/evidence.ts';
import { systemClock } from '../shared/clock.ts';
import { Failure } from '../shared/failure.ts';
import { keyText } from '../shared/keys.ts';
import { firstNames } from '../shared/printable.ts';
import { findTargetsOf } from './find-targets.ts';
import type { Pods } from './group-pods.ts';
import type { SomeKept } from './kept-looks.ts';
import { livingGroups } from './living-groups.ts';
import type { Planning, PlanSource } from './plan-seen.ts';
import { findCluster, refuseShard, requestOptions, type Settings, type Shard } from './settings.ts';
import { faultyPods, refuseAll, type Trouble, troubleOfBroken } from './troubles.ts';

export interface PlanOfNow {
  readonly plan: Plan;
  /** Time of Gitea's clock, like all times of CI jobs, ms. */
  readonly nowMs: number;
  /** The printed part of the plan. Absent: all of it. */
  readonly shard?: Shard | undefined;
  /** The app that renders the plan. Absent: there are no groups. */
  readonly app?: RunnersApp;
  /** Sources of the plan, for `explain`. Absent: there are no groups. */
  readonly seen?: PlanSource;
  /** Groups that were left out. The plan keeps their Jobs. */
  readonly troubles: readonly Trouble[];
  /** Groups in trouble whose spec cannot be used. `app` has no chart for them. */
  readonly broken: readonly BrokenGroup[];
}

/** Most age of a list of Jobs, ms. An older list is read again before the plan. */
const FRESH_MS = 400;

/** Largest share of the time limit for looks, if a failed look does not end the run. */
const SHARE_OF_LOOKS = 0.75;

export interface LookOptions {
  /** Blocked jobs are listed too, for `explain`. */
  readonly includeBlocked: boolean;
  /** Everything is asked for at once (`ObserveOptions.ahead`). */
  readonly ahead?: boolean;
  /** URL at which `serve` gives its looks (docs/adr/0111). Absent: Gitea is asked. */
  readonly looks?: string | undefined;
  /** Needed when a group has a podTemplate or a securityProfile. */
  readonly pods?: Pods | undefined;
  /** Broken groups so far. If the Jobs are listed, further trouble affects its group only (docs/adr/0036). Absent: any trouble is a Failure. */
  readonly isolate?: readonly BrokenGroup[];
  /** Problems of files that hide groups: living objects in no other file may be theirs. Only with `isolate`. */
  readonly hidden?: readonly Problem[];
  /** The Application and its number of shards, if they are not those of this process. */
  readonly printedBy?: Pick<Evidence, 'application' | 'shards'> | undefined;
  /** True for a plan that is only read: a trouble affects its group only, too. Only with `isolate`. */
  readonly isOnlyRead?: boolean;
}

/** Looks at Gitea (and Kubernetes) and plans. @throws Failure if that is not done by the time limit */
export async function lookAndPlan(
  groups: readonly RunnerGroup[],
  settings: Settings,
  options: LookOptions,
): Promise<PlanOfNow> {
  const { pods, isolate, hidden = [], isOnlyRead = false } = options;
  const deadline = new Deadline(settings.timeoutMs);
  const isolated = isolate ?? [];
  if (groups.length === 0) {
    refuseAll([{ problems: hidden }, ...isolated]);
    return await planNothing(settings);
  }
  const [config, tokens] = await Promise.all([findCluster(settings), findTargetsOf(groups, settings, deadline)]);
  refuseShard(settings, config !== undefined);
  const { targets, failed, lookOf, memory } = tokens;
  const isolates = isolate !== undefined && (isOnlyRead || config !== undefined);
  if (!isolates) refuseAll([{ problems: hidden }, ...isolated], failed);
  const isPrinted = isolates && !isOnlyRead;
  const living = isPrinted && config ? await livingGroups(groups, isolated, hidden, config, settings) : isolated;
  const namespaces = [...groups, ...living].map(({ namespace }) => namespace);
  // Reading Secrets over the network has used a part of the time limit.
  const leftMs = settings.secrets === 'api' ? Math.max(1, deadline.remainingMs()) : settings.timeoutMs;
  // A Gitea that hangs must leave the others time for their plan.
  const deadlineMs = isolates && targets.length > 1 ? leftMs * SHARE_OF_LOOKS : leftMs;
  const clocks = new ServerClocks();
  const list = () => listJobs(namespaces, config, settings, clocks);
  const listing = list();
  const asking = { ...questionsFor(settings, options, listing), deadlineMs, memory, clocks };
  const observeNow = isolates ? observeEach : observe;
  const seeNow = async (request: typeof asking): Promise<SomeKept> => ({ looks: await observeNow(targets, request) });
  const see = async (): Promise<SomeKept> => {
    // Without a cluster, nobody knows whether a runner has ended since the look.
    if (options.looks === undefined || !config) return await seeNow(asking);
    return await (await import('./kept-looks.ts')).looksKept(targets, asking, observeNow, settings, options.looks);
  };
  const looking = Promise.all([see(), listing]);
  // A rejection while the templates are made must wait for its await below instead of ending the process.
  looking.catch(() => undefined);
  // This work and the loading of its modules are done while the answers are on their way.
  await new Promise(setImmediate);
  prepareToRead();
  const { planSeen } = await import('./plan-seen.ts');
  const { appOf } = await import('./platform-app.ts');
  const app = await appOf(groups, pods?.finish);
  const faulty = isolates ? await faultyPods(pods) : await pods?.check();
  let [answers, before] = await looking;
  const broken = [...living, ...(faulty ?? [])];
  const inTrouble = [...new Set([...isolated, ...broken])];
  const planOf = async ({ jobsThen, looks }: SomeKept, before: Listed) => {
    // A runner needs half a second from its Job to its row, so with an older list its Job could seem to be gone.
    const isStale = systemClock.steadyMs() - before.steadyMs > FRESH_MS;
    const listed = isStale ? await list() : before;
    const { origin, atMs: listedAtMs, pods } = listed;
    const endedJobs = endedMeanwhile(before.jobs, listed.jobs);
    const jobs = jobsThen?.(endedJobs, settings.now(), clocks.boundsFor(origin ?? '')) ?? endedJobs;
    return planSeen({
      instance: settings.instance,
      ...(options.printedBy ?? { application: settings.env['ARGOCD_APP_NAME'], shards: settings.shard?.of }),
      groups: app.groupCharts.map(({ group, templateHash }) => {
        const lookKey = lookOf(baseOf(group));
        return { group, templateHash, lookKey, look: failed.get(baseOf(group)) ?? looks.get(lookKey) };
      }),
      broken: inTrouble.map(troubleOfBroken),
      suspended: before.suspended,
      cluster: origin === undefined ? undefined : { origin, jobs, pods, listedAtMs },
      withPast: origin === undefined ? (await import('../planner/unseen/unseen.ts')).withPast : undefined,
      clockOf: (server) => clocks.boundsFor(server),
      nowMs: settings.now(),
    });
  };
  let planning = await planOf(answers, before);
  if (answers.isInDoubt?.(planning)) {
    [answers, before] = await Promise.all([seeNow({ ...asking, deadlineMs: deadline.remainingMs() }), list()]);
    planning = await planOf(answers, before);
  }
  if (planning.is === 'failed') {
    // Argo CD shows all causes.
    collectLooks(answers.looks);
    refuseAll(inTrouble, failed);
  }
  const { atMs, plan, seen, troubles = [] } = soundOf(planning, settings);
  if (deadline.remainingMs() <= 0) throw planTooLate(groups.length, settings.timeoutMs);
  return { plan, nowMs: atMs, shard: settings.shard, app, ...(seen && { seen }), troubles, broken };
}

/** What is asked of each Gitea, as the settings and the Jobs in the cluster want it. */
function questionsFor(settings: Settings, { includeBlocked, ahead = false }: LookOptions, listing: Promise<Listed>) {
  return {
    ...requestOptions(settings),
    includeBlocked,
    ahead,
    clock: { ...systemClock, now: settings.now },
    // Without live Jobs, the planner replays the past.
    needsHistory: () => listing.then(({ origin }) => origin === undefined),
    needsRows: () => listing.then(({ jobs }) => jobs.some(isPinnedAlive)),
    boundRunners: () => listing.then(({ jobs }) => jobs.filter(isBoundAtWork)),
  };
}

function planTooLate(groups: number, timeoutMs: number): Failure {
  const subject = `plan ${groups} RunnerGroups: not done within the time limit of ${timeoutMs / 1000} s`;
  const remedy = 'Raise --timeout, or spread the RunnerGroups over several Applications';
  return new Failure('GR-PLAN-01', 1, `${subject}. ${remedy}.`);
}

async function planNothing(settings: Settings): Promise<PlanOfNow> {
  // A kubeconfig that is named must exist, also when there is nothing to look for.
  if (settings.kubeconfig !== undefined || settings.shard)
    refuseShard(settings, (await findCluster(settings)) !== undefined);
  const nothing = { groups: [], jobs: [], runners: [] };
  return { plan: nothing, nowMs: settings.now(), shard: settings.shard, troubles: [], broken: [] };
}

/** Tells what the administrator should know. @throws Failure for what stops more than one group: who prints all or nothing stops, too */
function soundOf(planning: Planning, { onWarning }: Settings): Planning & { readonly is: 'planned' } {
  if (planning.is !== 'planned') throw planning.is === 'failed' ? planning.failure : new Error('a look is missing');
  const { clockWarnings = [], plan, stopping = [] } = planning;
  for (const failure of stopping) throw failure;
  for (const { code, message } of clockWarnings) onWarning?.(`warning: ${code} ${message}`);
  const renamed = plan.groups.flatMap(({ group, renamedTo: to }) => (to ? `${keyText(group)} (renamed to ${to})` : []));
  const warning = `warning: GR-GITEA-19 Gitea has other names for scopes of RunnerGroups: ${firstNames(renamed, 10)}. Change the spec.`;
  if (renamed.length > 0) onWarning?.(warning);
  return planning;
}

/** The Jobs of a cluster at one moment. `origin` of its API server: undefined if there is none to look at. `suspended`: RunnerGroups, by key. */
async function listJobs(
  namespaces: readonly string[],
  config: ClusterConfig | undefined,
  settings: Settings,
  clocks: ServerClocks,
) {
  const times = { atMs: settings.now(), steadyMs: systemClock.steadyMs() };
  if (!config) return { ...times, origin: undefined, jobs: [], pods: new Map(), suspended: new Map() };
  const { observeRunners, runnerGroupsIn, suspendedOf } = await import('../clients/kubernetes/observe-cluster.ts');
  const options = { ...requestOptions(settings), clocks };
  const [runners, objects] = await Promise.all([
    observeRunners(namespaces, config, options),
    runnerGroupsIn(namespaces, config, options).catch((error: unknown) => notSeen(error, settings)),
  ]);
  return { ...times, origin: new URL(config.url).origin, ...runners, suspended: suspendedOf(objects) };
}

type Listed = Awaited<ReturnType<typeof listJobs>>;

/** RunnerGroups cannot be read without the CRD or the right to it. Then only `spec.suspend` in git counts. */
function notSeen(error: unknown, settings: Settings): readonly [] {
  if (!(error instanceof Failure && ['cluster-forbidden', 'not-found'].includes(error.kind))) throw error;
  if (error.kind === 'cluster-forbidden')
    settings.onWarning?.(
      `warning: ${error.code} ${error.message} Groups that are suspended in the cluster get runners.`,
    );
  return [];
}

/** Returns the Jobs of the second list. One that has ended since the first counts as running: its CI job could seem to wait, and get a second runner. */
function endedMeanwhile(before: readonly LiveJob[], now: readonly LiveJob[]): readonly LiveJob[] {
  if (now === before) return now;
  const earlier = new Map(before.map((job) => [keyText(job), job]));
  return now.map((job) => {
    const earlierJob = earlier.get(keyText(job));
    return hasEnded(job.state) && !hasEnded(earlierJob?.state) ? asRunning(job, earlierJob) : job;
  });
}

function asRunning({ finishedAtMs, trouble, end, ...job }: LiveJob, earlierJob: LiveJob | undefined): LiveJob {
  const { runningSinceMs } = earlierJob ?? {};
  return { ...job, state: 'running', ...(runningSinceMs !== undefined && { runningSinceMs }) };
}
