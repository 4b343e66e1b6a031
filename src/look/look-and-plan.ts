/**
 * From RunnerGroups to a plan: the way that `generate`, `explain` and `cdk8s synth` share.
 *
 *     groups ──► tokens ──► looks at Gitea (one per origin, scope and token) ─┐
 *        │                  look at Kubernetes (optional) ────────────────────┼──► plan
 *        └────► planner and cdk8s app, with a template per group (while the answers are on their way) ──┘
 */

import type { RunnersApp } from '../charts/app.ts';
import { Failure } from '../failure.ts';
import { describeScope } from '../gitea/endpoints.ts';
import { type GiteaTarget, observe } from '../gitea/observe.ts';
import { prepareToRead } from '../gitea/shapes.ts';
import { ServerClocks } from '../http/clock.ts';
import { Deadline, nowMs as steadyMs } from '../http/deadline.ts';
import type { RequestLine } from '../http/request.ts';
import { type ClusterChoice, findCluster } from '../kubernetes/find-cluster.ts';
import type { Plan } from '../plan/decisions.ts';
import type { Evidence, Group, LiveJob } from '../plan/evidence.ts';
import { keepsPool, type RunnerGroup } from '../runnergroup/runner-group.ts';
import { findToken, type SecretsMode, type TokenSources } from '../tokens/api-token.ts';
import type { Token } from '../tokens/token.ts';
import { correctClocks, shiftJobs } from './clock-correction.ts';
import type { Pods } from './pods.ts';
import { endsReader } from './read-ends.ts';

/** Everything from outside that a look depends on; made from flags and environment in `src/cli/settings.ts`. */
export interface Settings extends ClusterChoice {
  /** Default: `files`. */
  readonly secrets?: SecretsMode;
  readonly secretsDir: string;
  /** For everything, from start to end, ms. */
  readonly timeoutMs: number;
  /** PEM of a private CA. */
  readonly ca?: string;
  readonly instance: string;
  readonly now: () => number;
  /** Told about each request. */
  readonly onRequest?: (line: RequestLine) => void;
  /** Told what the administrator should know although all went well: one line, no line end. */
  readonly onWarning?: (text: string) => void;
}

/** A plan, and the time for which it was made. */
export interface PlanOfNow {
  readonly plan: Plan;
  /** By Gitea's clock, as all times of CI jobs. */
  readonly nowMs: number;
  /** The Jobs in the cluster were listed. */
  readonly jobsWereListed: boolean;
  /** Absent: there are no groups. */
  readonly app?: RunnersApp;
  /** What the plan was made from, for `explain`. Absent: there are no groups. */
  readonly seen?: { readonly groups: readonly Group[]; readonly evidence: Evidence };
}

/** Jobs that were listed so long ago are listed again before a plan is made of them, ms. */
const FRESH_MS = 400;

/** How Gitea is looked at. */
export interface LookOptions {
  /** Blocked jobs are listed too, for `explain`. */
  readonly includeBlocked: boolean;
  /** Everything is asked for at once (`ObserveOptions.ahead`). */
  readonly ahead?: boolean;
  /** Needed when a group has a podTemplate or a securityProfile. */
  readonly pods?: Pods | undefined;
}

/** Looks at Gitea (and Kubernetes) for all groups and plans. @throws Failure when that is not done by the time limit, a plan that came too late included. */
export async function lookAndPlan(
  groups: readonly RunnerGroup[],
  settings: Settings,
  { includeBlocked, ahead = false, pods }: LookOptions,
): Promise<PlanOfNow> {
  const { instance, timeoutMs } = settings;
  const deadline = new Deadline(timeoutMs);
  if (groups.length === 0) {
    // A kubeconfig that is named must exist, also when there is nothing to look for.
    if (settings.kubeconfig !== undefined) await findCluster(settings);
    const { planOrRefuse } = await import('./plan-groups.ts');
    const plan = planOrRefuse([], { instance, looks: new Map(), liveJobs: [], nowMs: 0 });
    return { plan, nowMs: settings.now(), jobsWereListed: false };
  }
  const { targets, lookOf } = await findTargets(groups, settings, deadline);
  // Reading Secrets over the network has taken its part of the time limit.
  const leftMs = settings.secrets === 'api' ? Math.max(1, deadline.remainingMs()) : timeoutMs;
  const clocks = new ServerClocks();
  const beganMs = steadyMs();
  let listedAtMs = settings.now();
  const asked = lookAtCluster(groups, settings, clocks);
  const looking = Promise.all([
    observe(targets, {
      deadlineMs: leftMs,
      includeBlocked,
      ahead,
      // Without live Jobs the planner replays the past.
      needsHistory: () => asked.then((seen) => (seen?.jobs ?? []).length === 0),
      now: settings.now,
      env: settings.env,
      clocks,
      ...(settings.ca !== undefined && { ca: settings.ca }),
      ...(settings.onRequest && { onRequest: settings.onRequest }),
    }),
    asked,
  ]);
  // A rejection while the templates are made must wait for its await below instead of ending the process.
  looking.catch(() => undefined);
  // What can be done while the answers are on their way, once the questions have left; these modules are loaded so late for that.
  await new Promise(setImmediate);
  prepareToRead();
  const { planOrRefuse, toPlanned } = await import('./plan-groups.ts');
  const { RunnersApp } = await import('../charts/app.ts');
  const app = new RunnersApp(groups, { finish: pods?.finish });
  await pods?.check();
  const planned = app.groupCharts.map(({ group, templateHash }) => toPlanned(group, lookOf(group), templateHash));
  const [looks, listed] = await looking;
  // A runner needs half a second from its Job to its row: Jobs listed longer before the rows could make it look as if its Job were gone.
  const isStale = steadyMs() - beganMs > FRESH_MS;
  if (isStale) listedAtMs = settings.now();
  const seen = isStale ? await lookAtCluster(groups, settings, clocks) : listed;
  const clock = (origin: string) => ({ origin, bounds: clocks.of(origin) });
  const giteas = [...new Set(targets.map(({ url }) => new URL(url).origin))].map(clock);
  const correction = correctClocks(giteas, seen && clock(seen.origin));
  for (const { code, message } of correction.warnings) settings.onWarning?.(`warning: ${code} ${message}`);
  const liveJobs = shiftJobs(seen?.jobs ?? [], correction.jobShiftMs);
  const nowMs = settings.now() + correction.nowShiftMs;
  const liveSinceMs = listedAtMs + correction.nowShiftMs;
  const evidence = { instance, looks, liveJobs, liveSinceMs, nowMs };
  const plan = planOrRefuse(planned, evidence);
  if (deadline.remainingMs() > 0)
    return { plan, nowMs, jobsWereListed: seen !== undefined, app, seen: { groups: planned, evidence } };
  throw new Failure(
    'GR-PLAN-01',
    1,
    `plan ${groups.length} RunnerGroups: not done within the time limit of ${timeoutMs / 1000} s. Raise --timeout, or spread the RunnerGroups over several Applications.`,
  );
}

/** The live Jobs of a cluster, and the origin of its API server. */
interface SeenCluster {
  readonly origin: string;
  readonly jobs: readonly LiveJob[];
}

/** Undefined: there is none to look at. */
async function lookAtCluster(
  groups: readonly RunnerGroup[],
  settings: Settings,
  clocks: ServerClocks,
): Promise<SeenCluster | undefined> {
  const config = await findCluster(settings);
  if (!config) return undefined;
  const namespaces = [...new Set(groups.map(({ namespace }) => namespace))].sort();
  const { observeCluster } = await import('../kubernetes/observe.ts');
  const jobs = await observeCluster(namespaces, config, {
    deadlineMs: settings.timeoutMs,
    clocks,
    ...(settings.onRequest && { onRequest: settings.onRequest }),
  });
  return { origin: new URL(config.url).origin, jobs };
}

/** What is looked at, and which look belongs to a group. */
export interface Targets {
  readonly targets: readonly GiteaTarget[];
  readonly lookOf: (group: RunnerGroup) => string;
}

/** One target for all groups that share Gitea, scope and token. @throws Failure when a token is missing or bound to another origin. */
export async function findTargets(
  groups: readonly RunnerGroup[],
  settings: Settings,
  deadline = new Deadline(settings.timeoutMs),
): Promise<Targets> {
  const targets: GiteaTarget[] = [];
  const keys = new Map<RunnerGroup, string>();
  const readsEnds = endsReader(groups);
  await eachToken(groups, settings, deadline, (group, token) => {
    const same = targets.find(
      ({ url, scope, token: other }) =>
        url === group.giteaUrl && describeScope(scope) === describeScope(group.scope) && token.equals(other),
    );
    const key = same?.key ?? `look ${targets.length + 1}`;
    const { giteaUrl: url, scope } = group;
    if (!same) targets.push({ key, url, scope, token, ...(readsEnds(group) && { readsEnds: true }) });
    keys.set(group, key);
  });
  const lookOf = (group: RunnerGroup): string => keys.get(group) ?? '';
  const pools = new Set(groups.filter(keepsPool).map(lookOf));
  return { targets: targets.map((target) => (pools.has(target.key) ? { ...target, hasPool: true } : target)), lookOf };
}

/** Groups whose tokens are found at the same time: enough for all connections to the API server, few enough to cost no memory. */
const TOKENS_AT_ONCE = 100;

/** Finds the token of each group, in order. @throws the Failure of the first group that has none. */
async function eachToken(
  groups: readonly RunnerGroup[],
  settings: Settings,
  deadline: Deadline,
  take: (group: RunnerGroup, token: Token) => void,
): Promise<void> {
  const findAll = async (sources: TokenSources): Promise<void> => {
    for (let at = 0; at < groups.length; at += TOKENS_AT_ONCE) {
      const some = groups.slice(at, at + TOKENS_AT_ONCE);
      const found = await Promise.allSettled(
        some.map(async (group) => [group, await findToken(group, sources)] as const),
      );
      for (const one of found) {
        if (one.status === 'rejected') throw one.reason;
        take(...one.value);
      }
    }
  };
  if (settings.secrets !== 'api') {
    await findAll(settings);
    return;
  }
  // Loaded only when it is asked for: most runs read files.
  const { ClusterSecrets, needCluster, secretsClient } = await import('../kubernetes/secrets.ts');
  // `--cluster off` says that live Jobs are not looked at; the Secrets must come from somewhere.
  const config = needCluster(await findCluster({ ...settings, cluster: 'auto' }));
  const client = secretsClient(config, settings.onRequest);
  try {
    await findAll({ ...settings, clusterSecrets: new ClusterSecrets(client, deadline) });
  } finally {
    await client.close();
  }
}
