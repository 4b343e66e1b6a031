/**
 * From RunnerGroups to a plan: the way that `generate`, `explain` and `cdk8s synth` share.
 *
 *     groups ──► tokens ──► looks at Gitea (one per origin, scope and token) ─┐
 *        │                  look at Kubernetes (optional) ────────────────────┼──► plan
 *        └────► pod templates (cdk8s, loaded while the answers are on their way) ┘
 */
import { Failure } from './failure.ts';
import { describeScope } from './gitea/endpoints.ts';
import { type GiteaTarget, observe } from './gitea/observe.ts';
import type { RequestLine } from './http/client.ts';
import { type ClusterMode, clusterConfig } from './kubernetes/config.ts';
import { observeCluster } from './kubernetes/observe.ts';
import type { Plan } from './plan/decisions.ts';
import type { Evidence, Group, LiveJob, ScopeWidth } from './plan/evidence.ts';
import { plan } from './plan/plan.ts';
import { GroupsCollide } from './plan/roster.ts';
import { findToken } from './policy/api-token.ts';
import type { RunnerGroup, Scope } from './runnergroup/runner-group.ts';

/** Everything from outside that a look depends on; made from flags and environment in `src/cli/settings.ts`. */
export interface Settings {
  readonly secretsDir: string;
  readonly cluster: ClusterMode;
  /** For everything, from start to end, ms. */
  readonly timeoutMs: number;
  /** PEM of a private CA. */
  readonly ca?: string;
  readonly instance: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  /** Told about each request. */
  readonly onRequest?: (line: RequestLine) => void;
}

/** Looks at Gitea (and Kubernetes) for all groups and plans. `includeBlocked`: blocked jobs are listed too, for `explain`. */
export async function lookAndPlan(
  groups: readonly RunnerGroup[],
  settings: Settings,
  { includeBlocked }: { readonly includeBlocked: boolean },
): Promise<Plan> {
  if (groups.length === 0) return plan([], { instance: settings.instance, looks: new Map(), liveJobs: [], nowMs: 0 });
  const { targets, lookOf } = await findTargets(groups, settings);
  const looking = Promise.all([
    observe(targets, {
      deadlineMs: settings.timeoutMs,
      includeBlocked,
      alwaysList: false,
      env: settings.env,
      ...(settings.ca !== undefined && { ca: settings.ca }),
      ...(settings.onRequest && { onRequest: settings.onRequest }),
    }),
    lookAtCluster(groups, settings),
  ]);
  // A rejection while the templates are made must wait for its await below instead of ending the process.
  looking.catch(() => undefined);
  const { templateHash } = await import('./charts/pod-template.ts');
  const planned = groups.map((group) => toPlanned(group, lookOf(group), templateHash(group)));
  const [looks, liveJobs] = await looking;
  return planOrRefuse(planned, { instance: settings.instance, looks, liveJobs, nowMs: settings.now() });
}

async function lookAtCluster(groups: readonly RunnerGroup[], settings: Settings): Promise<readonly LiveJob[]> {
  const config = await clusterConfig(settings.cluster, settings.env);
  if (!config) return [];
  const namespaces = [...new Set(groups.map(({ namespace }) => namespace))].sort();
  return observeCluster(namespaces, config, {
    deadlineMs: settings.timeoutMs,
    ...(settings.onRequest && { onRequest: settings.onRequest }),
  });
}

interface Targets {
  readonly targets: readonly GiteaTarget[];
  readonly lookOf: (group: RunnerGroup) => string;
}

/** One target for all groups that share Gitea, scope and token. */
async function findTargets(groups: readonly RunnerGroup[], settings: Settings): Promise<Targets> {
  const targets: GiteaTarget[] = [];
  const keys = new Map<RunnerGroup, string>();
  for (const group of groups) {
    const token = await findToken(group, settings);
    const same = targets.find(
      ({ url, scope, token: other }) =>
        url === group.giteaUrl && describeScope(scope) === describeScope(group.scope) && token.equals(other),
    );
    const key = same?.key ?? `look ${targets.length + 1}`;
    if (!same) targets.push({ key, url: group.giteaUrl, scope: group.scope, token });
    keys.set(group, key);
  }
  return { targets, lookOf: (group) => keys.get(group) ?? '' };
}

const WIDTH: Readonly<Record<Scope['kind'], ScopeWidth>> = {
  global: 'global',
  org: 'owner',
  user: 'owner',
  repo: 'repo',
};

function toPlanned(group: RunnerGroup, look: string, templateHash: string): Group {
  return {
    namespace: group.namespace,
    name: group.name,
    origin: group.giteaUrl,
    look,
    scope: WIDTH[group.scope.kind],
    labels: group.labels.map(({ name }) => name),
    maxActiveRunners: group.maxActiveRunners,
    suspend: group.suspend,
    acceptUnlabelledJobs: group.acceptUnlabelledJobs,
    spawnTimeoutMs: group.spawnTimeoutSeconds * 1000,
    templateHash,
  };
}

function planOrRefuse(groups: readonly Group[], evidence: Evidence): Plan {
  try {
    return plan(groups, evidence);
  } catch (error) {
    if (error instanceof GroupsCollide) throw new Failure('GR-INPUT-90', 2, `plan: ${error.message}.`);
    throw error;
  }
}
