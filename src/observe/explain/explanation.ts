/** Joins groups, plan and evidence into all that `explain` tells. Pure. */
import { describeScope } from '../../clients/gitea/endpoints.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { withSizes } from '../../config/runnergroup/sizes.ts';
import type { EmittedRunner, GroupKey, JobDecision, Plan } from '../../planner/decisions.ts';
import { type Evidence, type Job, type LiveJob, liveJobsOf, memo } from '../../planner/evidence.ts';
import { parseRunnerName } from '../../planner/names.ts';
import { patienceMs } from '../../planner/runners.ts';
import { groupBy, keyText, stayKey } from '../../shared/keys.ts';
import { once } from '../../shared/once.ts';
import type { PlanOfNow } from '../look-and-plan.ts';
import { withNamesNow } from '../plan-groups.ts';
import { blockedBy, hintsFor } from './held-back.ts';
import { JOB_STATES, type JobState } from './job-state.ts';
import {
  type ExplainedGroup,
  type ExplainedJob,
  type Explanation,
  emittedRunners,
  type Holder,
  isNotCovered,
  type OpenDecision,
  type Progress,
  type Wait,
} from './model.ts';
import { unregistered, whyNotCreated } from './not-created.ts';
import { HELD } from './reasons.ts';
import { runnersIn } from './runner-counts.ts';
import { durationsIn, estimateWaits, overtimeOf } from './wait-estimate.ts';

/** Jobs of runners in Kubernetes, by name. */
type Lives = ReadonlyMap<string, LiveJob>;

/** Finished jobs are left out: they wait for nothing. */
export function explanationOf(...of: Parameters<typeof explainerOf>): Explanation {
  const { details, outline } = explainerOf(...of);
  const explanation = outline();
  return { ...explanation, jobs: explanation.jobs.map(details()) };
}

/**
 * The same in two steps, for `serve`: people may queue 10,000 jobs, and a turn of the event loop must be short. `outline` has no more of a
 * job than its state. `details` tells the rest of those that are shown. What many jobs share is worked out when the first one asks.
 */
export function explainerOf(groups: readonly RunnerGroup[], plan: Plan, nowMs: number, seen?: PlanOfNow['seen']) {
  const cluster = seen?.evidence.cluster;
  const unseen = cluster?.is === 'unseen' && { isUnseen: true as const };
  const lives = once((): Lives => new Map(liveJobsOf(seen?.evidence).map((each) => [each.name, each])));
  const waits = once(() => waitsOf(plan, nowMs, lives()));
  const blockers = once(() => blockedBy(plan));
  const progress = once(() => progressOf(plan, seen?.evidence, lives(), nowMs));
  const waitUntil = once(() => waitUntilOf(groups, plan, lives()));
  return {
    outline: (): Explanation => {
      const explained = explainedGroups(groups, plan).map((group) => {
        const suspension = seen?.suspended?.get(keyText(group));
        return { ...group, ...unseen, ...(suspension !== undefined && { suspended: true, suspension }) };
      });
      const byKey = new Map(explained.map((group) => [keyText(group), group]));
      const emitted = emittedRunners(plan);
      const jobs = plan.jobs.flatMap((decision): ExplainedJob | readonly [] =>
        decision.verdict === 'done'
          ? []
          : { ...decision, ...waitUntil()(decision), state: stateOf(decision, byKey, emitted) },
      );
      return {
        checkedAt: new Date(nowMs).toISOString(),
        groups: explained,
        jobs: jobs.sort(byState),
        runners: plan.runners,
        ...(cluster?.is === 'seen' && { liveJobs: cluster.jobs.filter(({ state }) => state !== 'complete') }),
      };
    },
    /** Each call begins with hints of its own: they have a bound (`MOST_STEPS`). */
    details: () => {
      const hints = once(() => hintsFor(withNamesNow(groups, plan).flatMap(withSizes)));
      return <T extends OpenDecision>(job: T) => ({
        ...job,
        ...(isNotCovered(job) && hints()(job)),
        ...(job.verdict === 'served' && job.by === 'new-runner' && unseen),
        ...waits()(job),
        ...blockers()(job),
        ...progress()(job),
      });
    },
  };
}

function explainedGroups(groups: readonly RunnerGroup[], plan: Plan): readonly ExplainedGroup[] {
  const written = new Map(groups.map((group) => [keyText(group), group]));
  const stuck = groupBy(plan.runners.filter(cannotStart), ({ group }) => keyText(group));
  return plan.groups.flatMap(({ group: key, ...counts }) => {
    const group = written.get(keyText(key));
    if (!group) return [];
    return {
      namespace: key.namespace,
      name: key.name,
      file: group.place.file,
      gitea: group.giteaUrl,
      scope: describeScope(group.scope),
      labels: group.labels.map((label) => label.name),
      suspended: group.suspend,
      ...counts,
      cannotStart: stuck.get(keyText(key))?.length ?? 0,
    };
  });
}

/** The cap of a job that one holds back, and the estimate. Those of a group are made when one of its jobs asks. */
function waitsOf({ groups, jobs }: Plan, nowMs: number, lives: Lives): (decision: JobDecision) => Wait {
  const caps = new Map(groups.map(({ cap, group }) => [group, cap]));
  const atWork = groupBy(
    jobs.flatMap((each) => (each.verdict === 'running' || each.verdict === 'served' ? each : [])),
    ({ group }) => group,
  );
  const lines = groupBy(jobs.filter(isHeldByCap), ({ group }) => group);
  const ofGitea = groupBy(jobs, ({ origin }) => origin);
  const durations = memo((origin: string) => durationsIn((ofGitea.get(origin) ?? []).map(({ job }) => job)));
  const estimates = memo((group: GroupKey) => {
    const line = (lines.get(group) ?? []).toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0));
    const jobsOf = (decisions: readonly JobDecision[]): readonly Job[] => decisions.map(({ job }) => job);
    const slots = { cap: caps.get(group) ?? 0, atWork: jobsOf(atWork.get(group) ?? []), line: jobsOf(line) };
    return estimateWaits(slots, durations(line[0]?.origin ?? ''), nowMs);
  });
  const holders = memo((group: GroupKey) =>
    (atWork.get(group) ?? []).flatMap(({ job, origin }): Holder | readonly [] => {
      const { endsByMs } = lives.get(job.runner ?? '') ?? {};
      const overtime = overtimeOf(job, durations(origin), nowMs);
      if (!overtime && endsByMs === undefined) return [];
      const { id, repository } = job;
      return { id, repository, ...(overtime && { overtime }), ...(endsByMs !== undefined && { endsByMs }) };
    }),
  );
  return (decision) => {
    if (!isHeldByCap(decision) || !decision.group) return {};
    const held = holders(decision.group);
    const estimate = estimates(decision.group)[(decision.position ?? 0) - 1];
    return {
      cap: caps.get(decision.group) ?? 0,
      ...(estimate && { estimate }),
      ...(held.length > 0 && { holders: held }),
    };
  };
}

function isHeldByCap(decision: JobDecision): decision is JobDecision & { readonly verdict: 'held' } {
  return decision.verdict === 'held' && decision.because === 'cap';
}

/**
 * Until when a runner may take its time: `spawnTimeoutSeconds` after it was made, else after its job was created, after the last end in the run
 * of the job, which it may have needed, and in a full group after the last end of all, which may have left it a slot.
 */
function waitUntilOf(groups: readonly RunnerGroup[], plan: Plan, lives: Lives) {
  const ends = new Map<string, number>();
  for (const { job, origin } of plan.jobs) {
    for (const key of [origin, `${origin} ${job.runId}`])
      ends.set(key, Math.max(job.completedAtMs ?? 0, ends.get(key) ?? 0));
  }
  const full = new Set(plan.groups.flatMap((each) => (runnersIn(each) >= each.cap ? keyText(each.group) : [])));
  const patience = new Map(groups.map((group) => [keyText(group), group.spawnTimeoutSeconds * 1000]));
  return (decision: OpenDecision): { readonly waitUntilMs?: number } => {
    if (decision.verdict !== 'served') return {};
    const { group, job, origin, runner } = decision;
    const key = keyText(group);
    const live = lives.get(runner);
    const end = ends.get(full.has(key) ? origin : `${origin} ${job.runId}`) ?? 0;
    const sinceMs = live?.createdAtMs ?? Math.max(job.createdAtMs, end);
    return { waitUntilMs: sinceMs + patienceMs(live ?? {}, patience.get(key) ?? 0) };
  };
}

/** It takes a slot, and Kubernetes says why its pod does not start. */
function cannotStart(decision: Plan['runners'][number]): boolean {
  return decision.emit && decision.because !== 'back-off-record' && decision.trouble?.isLate === true;
}

function stateOf(
  decision: OpenDecision,
  groups: ReadonlyMap<string, ExplainedGroup>,
  emitted: ReadonlyMap<string, EmittedRunner>,
): JobState {
  if (decision.verdict === 'running') return 'running';
  if (decision.verdict === 'served') return emitted.get(decision.runner)?.trouble?.isLate ? 'unserved' : 'starting';
  const group = isHeldByCap(decision) && decision.group && groups.get(keyText(decision.group));
  // No slot comes free: there is none, or all are taken by runners that cannot start.
  return group && group.cannotStart >= group.cap ? 'unserved' : HELD[decision.because].state;
}

/** The worst first. Jobs that have stopped come before jobs whose labels no group has: those may be typos. */
export function byState(a: ExplainedJob, b: ExplainedJob): number {
  const rank = (job: ExplainedJob): number => JOB_STATES.indexOf(job.state) + (isNotCovered(job) ? 0.5 : 0);
  return rank(a) - rank(b);
}

/** A registered runner asks Gitea every two seconds or so. */
const IDLE_TOO_LONG_MS = 60_000;

function progressOf(
  plan: Plan,
  evidence: Evidence | undefined,
  lives: Lives,
  nowMs: number,
): (decision: JobDecision) => Progress {
  const looks = [...(evidence?.looks.values() ?? [])];
  const rows = new Map(looks.flatMap(({ runners }) => runners.map((each) => [each.name, each] as const)));
  const records = new Map(
    plan.runners.flatMap(({ because, runner }) => {
      const made = because === 'back-off-record' || because === 'stuck' ? parseRunnerName(runner)?.madeFor : undefined;
      return made && 'id' in made ? [[stayKey({ origin: '', job: made }), runner] as const] : [];
    }),
  );
  return (decision): Progress => {
    const runner = endedRunner(decision, records);
    // How it ended, or why its pod did not start.
    const { trouble, end = trouble } = lives.get(runner ?? '') ?? {};
    if (runner !== undefined && end) return { ended: { runner, ...end } };
    if (decision.verdict === 'running' && decision.group && rows.get(decision.job.runner ?? '')?.online === false)
      return { offline: {} };
    // Its own runner was made when its job was ready. Others may have been idle before that.
    if (decision.verdict !== 'served' || decision.by !== 'own-runner') return {};
    const row = rows.get(decision.runner);
    const sinceMs = lives.get(decision.runner)?.runningSinceMs;
    if (!row?.online || row.busy || sinceMs === undefined) return {};
    const idleMs = nowMs - Math.max(sinceMs, decision.job.createdAtMs);
    return idleMs >= IDLE_TOO_LONG_MS ? { idleMs } : {};
  };
}

/** The runner that has the job, or the newest one that was made for it and failed. */
function endedRunner(decision: JobDecision, records: ReadonlyMap<string, string>): string | undefined {
  if (decision.verdict === 'running') return decision.group && decision.job.runner;
  if (decision.verdict === 'held' ? decision.because !== 'backing-off' : decision.verdict !== 'served')
    return undefined;
  return records.get(stayKey({ origin: '', job: decision.job }));
}

/** The same explanation; jobs whose runner is wanted and has no Job in the cluster, or waits for `serve`, say why. */
export function withNotCreated(explanation: Explanation): Explanation {
  const { liveJobs, where } = explanation;
  // Nobody looked: a Job that is not seen may be there.
  if (!liveJobs) return explanation;
  const seen = new Map(liveJobs.map((each) => [each.name, each]));
  const nowMs = Date.parse(explanation.checkedAt);
  const jobs = explanation.jobs.map((job): ExplainedJob => {
    if (job.verdict !== 'served') return job;
    const live = seen.get(job.runner);
    const isMissing = !live && job.by === 'new-runner';
    const notCreated = isMissing ? whyNotCreated(where, job, nowMs) : live && where && unregistered(where, job, live);
    if (!notCreated) return job;
    return { ...job, notCreated, ...(notCreated.isUnserved && { state: 'unserved' as const }) };
  });
  jobs.sort(byState);
  return { ...explanation, jobs };
}
