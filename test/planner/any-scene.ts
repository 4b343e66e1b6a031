/** Arbitraries of the planner's properties: any groups and any evidence, including evidence that contradicts itself. */
import type { Plan } from '../../src/planner/decisions.ts';
import type {
  Evidence,
  Group,
  Job,
  LiveJob,
  Look,
  PriorityTier,
  RegisteredRunner,
} from '../../src/planner/evidence.ts';
import { runnerName } from '../../src/planner/names.ts';
import { plan } from '../support/plan.ts';
import { fc } from '../support/property.ts';
import { INSTANCE, NOW, ORIGIN, podsOf } from '../support/scenario.ts';

const LABELS = ['linux', 'gpu', 'arm'];
const IDS = fc.integer({ min: 1, max: 8 });

const anyGroup = fc.record({
  scope: fc.constantFrom('repo', 'owner', 'global'),
  labels: fc.subarray(LABELS, { minLength: 1 }),
  maxActiveRunners: fc.nat(4),
  minIdleRunners: fc.constantFrom(0, 0, 1, 2, 3),
  suspend: fc.boolean(),
  acceptUnlabelledJobs: fc.boolean(),
  fairness: fc.constantFrom('oldest', 'per-repository'),
  templateHash: fc.constantFrom('t1', 't2'),
  look: fc.constantFrom('one', 'two'),
  queue: fc.constantFrom(undefined, undefined, 'team-a', 'team-b'),
  /** Slots of the tiers. The last one gets the rest of the cap. Empty: no tiers. */
  tierPlaces: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }),
});

/** A runner's name: of one of the groups, under the current or an older template, or a stranger's. */
const anyRunner = fc.record({
  group: fc.nat(2),
  id: IDS,
  ordinal: fc.nat(2),
  /** 0: it was made for a job. */
  poolIndex: fc.constantFrom(0, 0, 0, 1, 2, 3),
  old: fc.boolean(),
  stranger: fc.boolean(),
});

const anyJob = fc.record({
  id: IDS,
  attempt: fc.nat(1),
  labels: fc.subarray(LABELS),
  status: fc.constantFrom('queued', 'queued', 'queued', 'blocked', 'in_progress', 'completed'),
  ageSeconds: fc.nat(1_000),
  /** Seconds from its creation. Only claimed and completed jobs have begun. */
  begunAfterSeconds: fc.nat(100),
  runner: fc.option(anyRunner, { nil: undefined }),
});

const anyRow = fc.record({
  runner: anyRunner,
  online: fc.boolean(),
  busy: fc.boolean(),
  disabled: fc.boolean(),
  labels: fc.subarray(LABELS),
});
const anyLive = fc.record({
  runner: anyRunner,
  state: fc.constantFrom('starting', 'running', 'complete', 'failed', 'deleting', 'unknown'),
  ageSeconds: fc.oneof(fc.nat(700), fc.nat(4_000)),
  trouble: fc.constantFrom(undefined, 'Unschedulable', 'ImagePullBackOff', 'NoPod', 'RegistrationFailed'),
  priorityClass: fc.constantFrom(undefined, 'tier0', 'tier1', 'former'),
  pinned: fc.boolean(),
  queue: fc.constantFrom(undefined, undefined, 'team-a', 'team-c'),
  waits: fc.boolean(),
  isStopped: fc.constantFrom(false, false, true),
  printedFor: fc.option(IDS, { nil: undefined }),
});
const anyLook = fc.record({
  jobs: fc.uniqueArray(anyJob, { selector: ({ id }) => id }),
  rows: fc.array(anyRow, { maxLength: 6 }),
});

const anyParts = fc.record({
  groups: fc.array(anyGroup, { minLength: 1, maxLength: 3 }),
  looks: fc.record({ one: anyLook, two: anyLook }),
  live: fc.array(anyLive, { maxLength: 8 }),
  /** Jobs that have a pod, whether they are there or not. */
  pods: fc.array(anyRunner, { maxLength: 4 }),
  isSeen: fc.constantFrom(true, true, false),
});
export const anyScene = anyParts.map(buildScene);

export interface Scene {
  readonly groups: readonly Group[];
  readonly evidence: Evidence;
}

type Of<T> = T extends fc.Arbitrary<infer V> ? V : never;

function buildScene(raw: Of<typeof anyParts>): Scene {
  const groups: Group[] = raw.groups.map(({ tierPlaces, ...group }, i) => ({
    ...group,
    namespace: 'runners',
    name: `g${i}`,
    origin: ORIGIN,
    spawnTimeoutMs: 300_000,
    pendingDeadlineMs: 900_000,
    longestRunMs: 32_430_000,
    priorityTiers: tiersOf(tierPlaces, group.maxActiveRunners),
  }));
  const nameOf = (runner: Of<typeof anyRunner>): string => {
    const group = groups[runner.group % groups.length];
    if (!group || runner.stranger) return `stranger-${runner.id}`;
    const of = runner.old ? { ...group, templateHash: 'older' } : group;
    const madeFor = runner.poolIndex > 0 ? { poolIndex: runner.poolIndex } : { id: runner.id, attempt: 1 };
    return runnerName(INSTANCE, of, madeFor, runner.ordinal);
  };
  const lookOf = (look: Of<typeof anyLook>): Look => ({
    jobs: look.jobs.map((raw): Job => {
      const createdAtMs = NOW - raw.ageSeconds * 1_000;
      const hasBegun = raw.status === 'in_progress' || raw.status === 'completed';
      // Not in the last seconds: the lists of one look are not of the same second.
      const startedAtMs = Math.min(createdAtMs + raw.begunAfterSeconds * 1_000, NOW - 10_000);
      return {
        id: raw.id,
        attempt: raw.attempt,
        runId: raw.id % 3,
        repository: raw.id % 2 === 0 ? 'acme/web' : 'acme/api',
        ...(raw.id % 4 !== 0 && { branch: raw.id % 3 === 0 ? 'main' : 'fix/a' }),
        name: `job ${raw.id}`,
        url: urlOf(raw.id),
        labels: raw.labels,
        status: raw.status,
        createdAtMs,
        ...(hasBegun && { startedAtMs }),
        ...(raw.status === 'completed' && { completedAtMs: startedAtMs + 1_000 }),
        ...(raw.runner && hasBegun && { runner: nameOf(raw.runner) }),
      };
    }),
    runners: look.rows.map(
      ({ runner, ...flags }, i): RegisteredRunner => ({ id: i + 1, name: nameOf(runner), ephemeral: true, ...flags }),
    ),
  });
  const liveJobs = new Map<string, LiveJob>();
  for (const {
    runner,
    state,
    ageSeconds,
    pinned,
    printedFor,
    queue,
    trouble,
    priorityClass,
    waits,
    isStopped,
  } of raw.live) {
    const createdAtMs = NOW - ageSeconds * 1_000;
    liveJobs.set(nameOf(runner), {
      namespace: 'runners',
      name: nameOf(runner),
      state,
      createdAtMs,
      finishedAtMs: createdAtMs,
      pinned,
      ...(trouble &&
        (state === 'starting' || state === 'failed') && {
          trouble: { reason: trouble, ...(trouble === 'ImagePullBackOff' && { ofNode: true }) },
        }),
      ...(priorityClass && { priorityClass }),
      ...(queue && { queue }),
      ...(queue && isStopped && { isStopped: true as const }),
      ...(queue && waits && state === 'starting' && { trouble: { reason: 'Suspended', isSuspended: true, queue } }),
      ...(printedFor !== undefined && { jobUrl: urlOf(printedFor), giteaUrl: ORIGIN }),
    });
  }
  const looks = new Map(Object.entries(raw.looks).map(([key, look]) => [key, lookOf(look)]));
  const cluster: Evidence['cluster'] = raw.isSeen
    ? { is: 'seen', jobs: [...liveJobs.values()], pods: podsOf(raw.pods.map(nameOf)), listedAtMs: NOW - 20_000 }
    : { is: 'unseen' };
  return { groups, evidence: { instance: INSTANCE, looks, cluster, nowMs: NOW } };
}

/** Returns the evidence with every look changed in the same way. */
export function changeLooks(evidence: Evidence, change: (look: Look) => Look): Evidence {
  return { ...evidence, looks: new Map([...evidence.looks].map(([key, look]) => [key, change(look)])) };
}

/** Returns the evidence with other Jobs, if Jobs are seen. */
export function withLiveJobs(evidence: Evidence, jobs: readonly LiveJob[]): Evidence {
  const { cluster } = evidence;
  return cluster.is === 'seen' ? { ...evidence, cluster: { ...cluster, jobs } } : evidence;
}

/** Cumulative; the last threshold is the cap. */
function tiersOf(places: readonly number[], cap: number): readonly PriorityTier[] {
  const thresholds = places.map((_, nth) => places.slice(0, nth + 1).reduce((sum, each) => sum + each, 0));
  const below = thresholds.filter((threshold) => threshold < cap);
  if (places.length === 0 || cap === 0) return [];
  return [...below, cap].map((threshold, nth) => ({ priorityClassName: `tier${nth}`, threshold }));
}

function urlOf(id: number): string {
  return `${ORIGIN}/acme/web/actions/runs/1/jobs/${id}`;
}

export const planOf = ({ groups, evidence }: Scene): Plan => plan(groups, evidence);
export const looksOf = ({ groups, evidence }: Scene): readonly Look[] =>
  [...new Set(groups.map(({ look }) => look))].flatMap((key) => evidence.looks.get(key) ?? []);
