/** Short words for planner tests: a group, jobs, rows and Jobs with defaults that say nothing. */
import type { EmittedBecause, GroupKey, Plan, RunnerDecision } from '../../src/planner/decisions.ts';
import type { Evidence, Group, Job, LiveJob, Look, RegisteredRunner } from '../../src/planner/evidence.ts';
import { runnerName } from '../../src/planner/names.ts';
import { plan } from '../../src/planner/plan.ts';

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
  readonly listedAtMs?: number;
  readonly nowMs?: number;
  readonly troubled?: readonly GroupKey[];
  readonly application?: string;
}

export function planScene(scene: Scene): Plan {
  return plan(scene.groups ?? [group()], evidenceOfScene(scene));
}

/** What the planner may know in this scene. */
export function evidenceOfScene(scene: Scene): Evidence {
  const { jobs = [], runners = [], liveJobs, nowMs = NOW } = scene;
  const looks = new Map(Object.entries(scene.looks ?? { acme: { jobs, runners } }));
  const { listedAtMs = nowMs - 20_000, troubled, application } = scene;
  const cluster: Evidence['cluster'] = liveJobs ? { is: 'seen', jobs: liveJobs, listedAtMs } : { is: 'unseen' };
  return {
    instance: INSTANCE,
    looks,
    cluster,
    nowMs,
    ...(troubled && { troubled }),
    ...(application && { application }),
  };
}

/** Why a Job is in the output although its runner is not wanted. */
const NOT_WANTED: readonly string[] = [
  'back-off-record',
  'lost',
  'spare',
  'unpinning',
  'group-in-trouble',
  'foreign',
] satisfies EmittedBecause[];

/** Runners in the output that are wanted there. */
export function emitted(planned: Plan): readonly (RunnerDecision & { emit: true })[] {
  return planned.runners.filter(
    (decision): decision is RunnerDecision & { emit: true } => decision.emit && !NOT_WANTED.includes(decision.because),
  );
}

export function emittedNames(planned: Plan): readonly string[] {
  return emitted(planned).map(({ runner }) => runner);
}

/** Ids of the ready jobs that have a runner, whatever its name. */
export function servedIds(planned: Plan): readonly number[] {
  return planned.jobs.flatMap(({ job: { id }, verdict }) => (verdict === 'served' ? id : []));
}

/** One word per job: what happens to it. */
export function verdicts(planned: Plan): Readonly<Record<number, string>> {
  return Object.fromEntries(
    planned.jobs.map((decision) => {
      if (decision.verdict === 'served') return [decision.job.id, `${decision.by} ${decision.runner}`];
      if (decision.verdict === 'held') return [decision.job.id, decision.because];
      return [decision.job.id, decision.verdict];
    }),
  );
}

/** `verdicts` of the plan of a scene. */
export const verdictsIn = (scene: Scene) => verdicts(planScene(scene));
/** `emitted` of it. */
export const emittedIn = (scene: Scene) => emitted(planScene(scene));
/** `emittedNames` of it. */
export const namesIn = (scene: Scene) => emittedNames(planScene(scene));
/** `servedIds` of it. */
export const servedIn = (scene: Scene) => servedIds(planScene(scene));
/** Why each of its runners is in the output, or is not. */
export const reasonsIn = (scene: Scene): Readonly<Record<string, string>> =>
  Object.fromEntries(planScene(scene).runners.map(({ runner, because }) => [runner, because]));
/** The same without their names. */
export const becauseIn = (scene: Scene) => planScene(scene).runners.map(({ because }) => because);
