/** Short words for planner tests: a group, jobs, rows and Jobs with defaults that say nothing. */
import { count } from '../../src/planner/collections.ts';
import type { EmittedBecause, EmittedRunner, GroupKey, JobDecision, Plan } from '../../src/planner/decisions.ts';
import type { Evidence, Group, Job, LiveJob, Look, RegisteredRunner } from '../../src/planner/evidence.ts';
import { runnerName } from '../../src/planner/names.ts';
import { plan } from './plan.ts';

export const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);
export const ORIGIN = 'https://gitea.example.com';
export const INSTANCE = 'test';

export function group(over: Partial<Group> = {}): Group {
  return {
    namespace: 'runners',
    name: 'ci',
    origin: ORIGIN,
    look: 'acme',
    scope: 'owner',
    labels: ['linux'],
    maxActiveRunners: 10,
    minIdleRunners: 0,
    suspend: false,
    acceptUnlabelledJobs: false,
    fairness: 'oldest',
    spawnTimeoutMs: 300_000,
    pendingDeadlineMs: 900_000,
    longestRunMs: 32_430_000,
    priorityTiers: [],
    templateHash: 't1',
    ...over,
  };
}

/** A job that became ready 20 s ago; smaller ids are older. */
export function job(id: number, over: Partial<Job> = {}): Job {
  return {
    id,
    attempt: 1,
    runId: id,
    repository: 'acme/web',
    name: `job ${id}`,
    url: `${ORIGIN}/acme/web/actions/runs/${id}`,
    labels: ['linux'],
    status: 'queued',
    createdAtMs: NOW - 20_000 + id,
    ...over,
  };
}

export function running(id: number, runner: string, over: Partial<Job> = {}): Job {
  return job(id, { status: 'in_progress', runner, startedAtMs: NOW - 5_000, ...over });
}

export function done(id: number, runner: string, over: Partial<Job> = {}): Job {
  return job(id, { status: 'completed', runner, startedAtMs: NOW - 9_000, completedAtMs: NOW - 1_000, ...over });
}

export function row(name: string, over: Partial<RegisteredRunner> = {}): RegisteredRunner {
  return { id: 1, name, online: true, busy: false, disabled: false, ephemeral: true, labels: ['linux'], ...over };
}

export function live(name: string, state: LiveJob['state'], over: Partial<LiveJob> = {}): LiveJob {
  return { namespace: 'runners', name, state, createdAtMs: NOW - 10_000, ...over };
}

/** A runner that has started so many minutes ago, and was given no job. */
export function idleFor(name: string, minutes: number, over: Partial<LiveJob> = {}): LiveJob {
  const runningSinceMs = NOW - minutes * 60_000;
  return live(name, 'running', { createdAtMs: runningSinceMs - 60_000, runningSinceMs, ...over });
}

/** Name of the runner that `group` makes for a job. */
export function named(of: Group, id: number, ordinal = 0, attempt = 1): string {
  return runnerName(INSTANCE, of, { id, attempt }, ordinal);
}

export interface Scene {
  readonly groups?: readonly Group[];
  readonly jobs?: readonly Job[];
  readonly runners?: readonly RegisteredRunner[];
  readonly looks?: Readonly<Record<string, Look>>;
  /** Absent: the cluster is unseen. */
  readonly liveJobs?: readonly LiveJob[] | undefined;
  /** Jobs with one pod that may work, by name. Absent: those of all runners at work. */
  readonly pods?: readonly string[];
  readonly listedAtMs?: number;
  readonly nowMs?: number;
  readonly troubled?: readonly GroupKey[];
  readonly application?: string;
  readonly shards?: number;
}

/** The plan of a scene, with what tests read from it. */
export interface ScenePlan extends Plan {
  /** One word per job: its verdict. */
  readonly verdicts: Readonly<Record<number, string>>;
  /** Ids of the ready jobs that have a runner, whatever its name. */
  readonly served: readonly number[];
  /** Runners in the output that are wanted there, and their names. */
  readonly emitted: readonly EmittedRunner[];
  readonly names: readonly string[];
  /** Reason of each runner's place in the output, or of its absence: by name, in the order of the plan. */
  readonly reasons: Readonly<Record<string, string>>;
  readonly because: readonly string[];
}

export function planScene(scene: Scene): ScenePlan {
  const planned = plan(scene.groups ?? [group()], evidenceOfScene(scene));
  return {
    ...planned,
    verdicts: Object.fromEntries(planned.jobs.map((decision) => [decision.job.id, verdictOf(decision)])),
    served: planned.jobs.flatMap(({ job: { id }, verdict }) => (verdict === 'served' ? id : [])),
    emitted: emitted(planned),
    names: emitted(planned).map(({ runner }) => runner),
    reasons: Object.fromEntries(planned.runners.map(({ runner, because }) => [runner, because])),
    because: planned.runners.map(({ because }) => because),
  };
}

function verdictOf(decision: JobDecision): string {
  if (decision.verdict === 'served') return `${decision.by} ${decision.runner}`;
  return decision.verdict === 'held' ? decision.because : decision.verdict;
}

/** Returns the evidence of this scene. */
export function evidenceOfScene(scene: Scene): Evidence {
  const { jobs = [], runners = [], liveJobs, nowMs = NOW } = scene;
  const looks = new Map(Object.entries(scene.looks ?? { acme: { jobs, runners } }));
  const { listedAtMs = nowMs - 20_000, troubled, application, shards } = scene;
  const pods = podsOf(scene.pods ?? namesAtWork(looks.values()), scene.groups);
  const cluster: Evidence['cluster'] = liveJobs ? { is: 'seen', jobs: liveJobs, pods, listedAtMs } : { is: 'unseen' };
  return {
    instance: INSTANCE,
    looks,
    cluster,
    nowMs,
    ...(troubled && { troubled }),
    ...(application && { application }),
    ...(shards !== undefined && { shards }),
  };
}

/** Names of runners at work, once for each of their CI jobs: what they say of themselves is true in most scenes. */
export function namesAtWork(looks: Iterable<Look>): readonly string[] {
  return [...looks].flatMap(({ jobs, runners }) => [
    ...jobs.flatMap(({ status, runner }) => (status === 'in_progress' && runner) || []),
    ...runners.flatMap(({ name, busy }) => (busy ? name : [])),
  ]);
}

/** Counts the pods of these Jobs, as `PodCounts`. A name that stands twice has two pods. */
export function podsOf(names: readonly string[], groups: readonly GroupKey[] = [group()]): ReadonlyMap<string, number> {
  const pods = new Map<string, number>();
  for (const namespace of new Set(groups.map((each) => each.namespace)))
    for (const name of names) count(pods, `${namespace}/${name}`, 1);
  return pods;
}

/** Reasons of Jobs in the output whose runner is not wanted. */
const NOT_WANTED: readonly string[] = [
  'back-off-record',
  'lost',
  'spare',
  'unpinning',
  'group-in-trouble',
  'foreign',
] satisfies EmittedBecause[];

/** Runners in the output that are wanted there. */
export function emitted({ runners }: Plan): readonly EmittedRunner[] {
  return runners.filter(
    (decision): decision is EmittedRunner => decision.emit && !NOT_WANTED.includes(decision.because),
  );
}
