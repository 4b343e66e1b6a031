/** Joins groups, plan and evidence into all that `explain` tells. Pure. */
import { describeScope } from '../clients/gitea/endpoints.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { withSizes } from '../config/runnergroup/sizes.ts';
import type { PlanOfNow } from '../plan/look-and-plan.ts';
import { withNamesNow } from '../plan/plan-groups.ts';
import { memo } from '../planner/collections.ts';
import {
  type EmittedRunner,
  type GroupKey,
  type GroupSummary,
  type JobDecision,
  type Plan,
  type RunnerDecision,
  takesSlot,
} from '../planner/decisions.ts';
import { type Evidence, type Job, type LiveJob, liveJobsOf, type PodTrouble } from '../planner/evidence.ts';
import { parseRunnerName } from '../planner/names.ts';
import { patienceMs } from '../planner/runners.ts';
import { defined } from '../shared/defined.ts';
import { groupBy, keyText, stayKey } from '../shared/keys.ts';
import { once } from '../shared/once.ts';
import { hasJobsOf } from '../shared/scope.ts';
import { blockedBy } from './blocked.ts';
import { JOB_STATES, type JobState } from './job-state.ts';
import {
  type ExplainedGroup,
  type ExplainedJob,
  type Explanation,
  emittedRunners,
  findGroup,
  groupOfJob,
  type Holder,
  isNotCovered,
  type OpenDecision,
  type Progress,
  type SlotDelay,
  type Wait,
} from './model.ts';
import { behindGit, differsFromGit, unregistered, whyNotCreated } from './not-created.ts';
import { HELD, isUnderSame } from './reasons.ts';
import { runnersIn } from './runner-counts.ts';
import { hintsFor } from './uncovered-labels.ts';
import { durationsIn, estimateWaits, overtimeOf } from './wait-estimate.ts';
import type { UnservedGroup, WhereIAm } from './where.ts';

/** Jobs of runners in Kubernetes, by name. */
type Lives = ReadonlyMap<string, LiveJob>;

/** Explains the jobs that have not finished. Finished jobs wait for nothing. */
export function explanationOf(...evidence: Parameters<typeof explainerOf>): Explanation {
  const { details, outline } = explainerOf(...evidence);
  const explanation = outline();
  return { ...explanation, jobs: explanation.jobs.map(details()) };
}

/**
 * Explains in two steps, so that a turn of the event loop is short with 10,000 jobs: `outline` has the state of each job,
 * and `details` adds the rest to the jobs that are shown. Common facts are calculated at the first job that needs them.
 */
export function explainerOf(
  groups: readonly RunnerGroup[],
  plan: Plan,
  nowMs: number,
  observations?: PlanOfNow['seen'],
) {
  const cluster = observations?.evidence.cluster;
  const unseen = cluster?.is === 'unseen' && { isUnseen: true as const };
  const lives = once((): Lives => new Map(liveJobsOf(observations?.evidence).map((each) => [each.name, each])));
  const emitted = once(() => emittedRunners(plan));
  const waitsByJob = once(() => waitsOf(groups, plan, nowMs, lives(), emitted(), progress()));
  const blockers = once(() => blockedBy(plan));
  const progress = once(() => progressOf(groups, plan, lives(), nowMs, observations?.evidence));
  const waitUntil = once(() => waitUntilOf(groups, plan, lives(), nowMs));
  return {
    outline: (): Explanation => {
      const explained = explainedGroups(groups, plan).map((group) => {
        const suspension = observations?.suspended?.get(keyText(group));
        return { ...group, ...unseen, ...(suspension !== undefined && { suspended: true, suspension }) };
      });
      const byKey = new Map(explained.map((group) => [keyText(group), group]));
      const stateOf = stateIn(byKey, emitted(), progress(), nowMs);
      const jobs = plan.jobs.flatMap((decision): ExplainedJob | readonly [] =>
        decision.verdict === 'done'
          ? []
          : { ...decision, ...waitUntil()(decision), state: stateOf(decision, waitUntil()(decision)) },
      );
      return {
        checkedAt: new Date(nowMs).toISOString(),
        groups: explained,
        jobs: jobs.sort(byState),
        runners: plan.runners,
        ...(cluster?.is === 'seen' && { liveJobs: cluster.jobs.filter(({ state }) => state !== 'complete') }),
      };
    },
    /** Each call makes its own hints: their number has a bound (`MOST_STEPS`). */
    details: () => {
      const hints = once(() => hintsFor(withNamesNow(groups, plan).flatMap(withSizes)));
      return <T extends OpenDecision>(job: T) => ({
        ...job,
        ...(job.verdict === 'held' && hints()(job)),
        ...(job.verdict === 'served' && job.by === 'new-runner' && unseen),
        ...waitsByJob()(job),
        ...blockers()(job),
        ...progress()(job),
      });
    },
  };
}

function explainedGroups(groups: readonly RunnerGroup[], plan: Plan): readonly ExplainedGroup[] {
  const groupOfKey = new Map(groups.map((group) => [keyText(group), group]));
  const stuckRunners = groupBy(plan.runners.filter(isKeptFromStarting), ({ group }) => keyText(group));
  const heavy = [...emittedRunners(plan).values()].filter((each) => takesSlot(each) && (each.weight ?? 1) > 1);
  const heavyRunners = groupBy(heavy, ({ group }) => keyText(group));
  return plan.groups.flatMap(({ group: key, ...counts }) => {
    const group = groupOfKey.get(keyText(key));
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
      cannotStart: stuckRunners.get(keyText(key))?.length ?? 0,
      ...slotsOf(counts, heavyRunners.get(keyText(key)) ?? []),
      ...(group.registrationToken && { registrationSecret: group.registrationToken.name }),
    };
  });
}

function slotsOf(counts: Omit<GroupSummary, 'group'>, heavy: readonly EmittedRunner[]): { readonly slots?: number } {
  const extraSlots = heavy.reduce((sum, { weight = 1 }) => sum + weight - 1, 0);
  return extraSlots === 0 ? {} : { slots: runnersIn(counts) + extraSlots };
}

/** The wait of jobs held by a cap or a limit, and what keeps slots taken. Common facts of a group's jobs are calculated at the first of them. */
function waitsOf(
  runnerGroups: readonly RunnerGroup[],
  { groups, jobs }: Plan,
  nowMs: number,
  lives: Lives,
  emitted: ReadonlyMap<string, EmittedRunner>,
  progress: (decision: JobDecision) => Progress,
): (decision: JobDecision) => Wait {
  const caps = new Map(groups.map(({ cap, group }) => [group, cap]));
  const atWork = groupBy(
    jobs.flatMap((each) => (each.verdict === 'running' || each.verdict === 'served' ? each : [])),
    ({ group }) => group,
  );
  const lines = groupBy(jobs.filter(isHeldByCap), ({ group }) => group);
  const jobsOfGitea = groupBy(jobs, ({ origin }) => origin);
  const durations = memo((origin: string) => durationsIn((jobsOfGitea.get(origin) ?? []).map(({ job }) => job)));
  const estimates = memo((group: GroupKey) => {
    const line = (lines.get(group) ?? []).toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0));
    const jobsOf = (decisions: readonly JobDecision[]): readonly Job[] => decisions.map(({ job }) => job);
    const slots = { cap: caps.get(group) ?? 0, atWork: jobsOf(atWork.get(group) ?? []), line: jobsOf(line) };
    return line[0] ? estimateWaits(slots, durations(line[0].origin), nowMs) : [];
  });
  const delayOf = (decision: JobDecision): SlotDelay => {
    const runner = runnerOf(decision);
    const { isLate, ...trouble } = emitted.get(runner)?.trouble ?? {};
    return defined({
      overtime: overtimeOf(decision.job, durations(decision.origin), nowMs),
      endsByMs: lives.get(runner)?.endsByMs,
      disruption: lives.get(runner)?.disruption,
      trouble: isLate && decision.verdict === 'served' ? (trouble as PodTrouble) : undefined,
      offline: progress(decision).offline,
    });
  };
  const holders = memo((group: GroupKey) =>
    (atWork.get(group) ?? []).flatMap((decision): Holder | readonly [] => {
      const delay = delayOf(decision);
      const { id, repository } = decision.job;
      return Object.keys(delay).length > 0 ? { id, repository, group, runner: runnerOf(decision), ...delay } : [];
    }),
  );
  const sized = new Map(runnerGroups.map((group) => [keyText(group), withSizes(group)]));
  const weightOf = (group: GroupKey, { labels }: Job): number | undefined =>
    sized.get(keyText(group))?.find(({ labels: own, size }) => size && labels.includes(own.at(-1)?.name ?? ''))?.size
      ?.weight;
  return (decision) => {
    if (decision.verdict === 'running' && decision.group) return delayOf(decision);
    if (decision.verdict !== 'held' || !decision.group) return {};
    const { because, group, limit } = decision;
    if (because === 'limit' && limit) {
      const isUnder = isUnderSame(limit, group);
      const ofLimit = [...atWork.keys()].flatMap(holders).filter(({ runner }) => {
        const holder = emitted.get(runner);
        return holder && isUnder(holder);
      });
      return defined({ weight: weightOf(group, decision.job), holders: ofLimit.length > 0 ? ofLimit : undefined });
    }
    if (because !== 'cap') return {};
    const slotHolders = holders(group);
    return defined({
      cap: caps.get(group) ?? 0,
      weight: weightOf(group, decision.job),
      estimate: estimates(group)[(decision.position ?? 0) - 1],
      holders: slotHolders.length > 0 ? slotHolders : undefined,
    });
  };
}

function runnerOf(decision: JobDecision): string {
  return decision.verdict === 'served' ? decision.runner : (decision.job.runner ?? '');
}

function isHeldByCap(decision: JobDecision): decision is JobDecision & { readonly verdict: 'held' } {
  return decision.verdict === 'held' && decision.because === 'cap';
}

/**
 * Returns until when a runner is not late: `spawnTimeoutSeconds` after its Job was created, else after the last of these:
 *
 *   - its CI job was created
 *   - the last runner of its CI job ended, or ends now
 *   - a job of its run ended, which it may have needed
 *   - in a full group: any job ended, or a runner ends now
 */
function waitUntilOf(groups: readonly RunnerGroup[], plan: Plan, lives: Lives, nowMs: number) {
  const ends = new Map<string, number>();
  const endsAt = (key: string, ms = 0): unknown => ends.set(key, Math.max(ms, ends.get(key) ?? 0));
  for (const { job, origin } of plan.jobs)
    for (const key of [origin, `${origin} ${job.runId}`]) endsAt(key, job.completedAtMs);
  const stayOf = staysOf(groups);
  for (const decision of plan.runners) {
    const live = lives.get(decision.runner);
    if (!live) continue;
    const stay = stayOf(decision);
    if (stay !== undefined) endsAt(stay, live.finishedAtMs ?? nowMs);
    if (!decision.emit) endsAt(keyText(decision.group), nowMs);
  }
  const full = new Set(plan.groups.flatMap((each) => (runnersIn(each) >= each.cap ? keyText(each.group) : [])));
  const patience = new Map(groups.map((group) => [keyText(group), group.spawnTimeoutSeconds * 1000]));
  return (decision: OpenDecision): { readonly waitUntilMs?: number } => {
    if (decision.verdict !== 'served') return {};
    const { group, job, origin, runner } = decision;
    const key = keyText(group);
    const live = lives.get(runner);
    const keys = [stayKey(decision), ...(full.has(key) ? [origin, key] : [`${origin} ${job.runId}`])];
    const { createdAtMs, stillSinceMs = 0, runningSinceMs = 0 } = live ?? {};
    const sinceMs = createdAtMs
      ? Math.max(createdAtMs, stillSinceMs, runningSinceMs)
      : Math.max(job.createdAtMs, ...keys.map((each) => ends.get(each) ?? 0));
    return { waitUntilMs: sinceMs + patienceMs(live ?? {}, patience.get(key) ?? 0) };
  };
}

/** The stay in the queue that a runner was made for. Each Gitea counts its jobs from 1. */
function staysOf(groups: readonly RunnerGroup[]) {
  const origins = new Map(groups.map((group) => [keyText(group), group.giteaUrl]));
  return ({ group, runner }: RunnerDecision): string | undefined => {
    const [origin, madeFor] = [origins.get(keyText(group)), parseRunnerName(runner)?.madeFor];
    return origin !== undefined && madeFor && 'id' in madeFor ? stayKey({ origin, job: madeFor }) : undefined;
  };
}

/** True for a runner that takes a slot although its pod does not start. */
function isKeptFromStarting(decision: RunnerDecision): boolean {
  return decision.emit && decision.because !== 'back-off-record' && decision.trouble?.isLate === true;
}

function stateIn(
  groups: ReadonlyMap<string, ExplainedGroup>,
  emitted: ReadonlyMap<string, EmittedRunner>,
  progress: (decision: OpenDecision) => Progress,
  nowMs: number,
) {
  return (decision: OpenDecision, { waitUntilMs = nowMs }: { readonly waitUntilMs?: number }): JobState => {
    if (decision.verdict === 'running') return 'running';
    if (decision.verdict === 'served') {
      const { trouble } = emitted.get(decision.runner) ?? {};
      // Nothing says why the runner does not come. Then time decides.
      const isOverdue = decision.by === 'own-runner' && !trouble && waitUntilMs < nowMs;
      return trouble?.isLate || isOverdue || progress(decision).inVain ? 'unserved' : 'starting';
    }
    const group = isHeldByCap(decision) && decision.group && groups.get(keyText(decision.group));
    // The cap is 0, or runners that cannot start take all slots.
    const noSlotComesFree = group && group.cannotStart >= group.cap;
    return noSlotComesFree ? 'unserved' : HELD[decision.because].state;
  };
}

/** The worst first. Jobs that have stopped come before jobs whose labels no group has: those may be typos. */
export function byState(a: ExplainedJob, b: ExplainedJob): number {
  const rank = (job: ExplainedJob): number => JOB_STATES.indexOf(job.state) + (isNotCovered(job) ? 0.5 : 0);
  return rank(a) - rank(b);
}

/** A registered runner asks Gitea every two seconds or so. */
const IDLE_TOO_LONG_MS = 60_000;

/** Reasons of runners that failed the job they were made for: their Job failed, or they were given up. */
const CAME_TO_NOTHING: ReadonlySet<RunnerDecision['because']> = new Set([
  'back-off-record',
  'stuck',
  'never-came',
  'surplus',
  'disabled',
]);

const DISABLED: PodTrouble = { reason: 'Disabled', message: 'somebody switched it off in Gitea' };

function progressOf(groups: readonly RunnerGroup[], plan: Plan, lives: Lives, nowMs: number, evidence?: Evidence) {
  const looks = [...(evidence?.looks.values() ?? [])];
  // Runners of others may have one name in two Giteas. The online one counts.
  const rows = looks.flatMap(({ runners }) => runners).sort((a, b) => Number(a.online) - Number(b.online));
  const rowOfRunner = new Map(rows.map((row) => [row.name, row] as const));
  const isOffline = (runner: string): boolean => rowOfRunner.get(runner)?.online === false;
  const decisionOfRunner = new Map(plan.runners.map((decision) => [decision.runner, decision]));
  const pastRunners = plan.runners.filter(({ because }) => CAME_TO_NOTHING.has(because));
  const stayOf = staysOf(groups);
  const lastRunnerOfJob = new Map(pastRunners.map((decision) => [stayOf(decision), decision]));
  /** Returns how a runner ended, or why its pod did not start. */
  const endOf = (runner: string): Pick<Progress, 'ended'> => {
    const { trouble, end = trouble } = lives.get(runner) ?? {};
    return end ? { ended: { runner, ...end } } : {};
  };
  const progressOfRunning = (runner: string, isOurs: boolean): Progress => {
    if (!isOurs) return isOffline(runner) ? { offline: {} } : {};
    const decision = decisionOfRunner.get(runner);
    const end = endOf(runner);
    const isGone = evidence?.cluster.is === 'seen' && !lives.has(runner);
    if (decision?.because === 'lost' && decision.emit && decision.isOutlived) return { ...end, loss: 'outlived' };
    // Events may tell why the Job has gone.
    if (decision?.because === 'lost' && !(isGone && isOffline(runner))) return { ...end, loss: 'lost' };
    if (end.ended) return { ...end, loss: 'lost' };
    const sidecar = lives.get(runner)?.sidecarEnd;
    if (!isOffline(runner)) return defined({ sidecar });
    return { offline: isGone ? { isGone: true } : {} };
  };
  const endOfLastRunner = (decision: JobDecision): Progress => {
    const last = lastRunnerOfJob.get(stayKey(decision));
    if (!last) return {};
    const { because, runner } = last;
    if (because === 'disabled') return { ended: { runner, ...DISABLED } };
    // The job has another runner already, whose Job does not exist yet.
    const isReplaced = decision.verdict === 'served' && decision.by === 'new-runner';
    if (because === 'surplus') return isReplaced ? { inVain: 'idle' } : {};
    if (because === 'never-came' && isOffline(runner)) return { ...endOf(runner), inVain: 'offline' };
    return { ...endOf(runner), ...(because !== 'back-off-record' && { inVain: 'tried' }) };
  };
  const progressOfServed = (decision: JobDecision & { readonly verdict: 'served' }): Progress => {
    const row = rowOfRunner.get(decision.runner);
    const runner = decisionOfRunner.get(decision.runner);
    const { boundTo, runningSinceMs = Number.NaN } = lives.get(decision.runner) ?? {};
    const idleMs = nowMs - Math.max(runningSinceMs, decision.job.createdAtMs);
    // The job's own runner was made when the job was ready. Other runners may have been idle before.
    if (decision.by === 'own-runner' && row?.online && !row.busy && idleMs >= IDLE_TOO_LONG_MS)
      return { idleMs, inVain: 'idle' };
    const isAgain = runner?.emit && runner.triedBefore !== undefined && !row?.online;
    const progress: Progress = { ...(isAgain && { inVain: 'tried' }), ...endOfLastRunner(decision) };
    if (row?.online || !(nowMs - runningSinceMs >= IDLE_TOO_LONG_MS)) return progress;
    if (row) return { row: 'offline', ...progress };
    // The row of a bound runner is in another list.
    return boundTo === undefined ? { row: 'missing', ...progress } : progress;
  };
  return (decision: JobDecision): Progress => {
    const { job, verdict } = decision;
    if (verdict === 'running') return progressOfRunning(job.runner ?? '', decision.group !== undefined);
    if (verdict === 'served') return progressOfServed(decision);
    const isWaiting = verdict === 'held' && (decision.because === 'backing-off' || decision.because === 'cap');
    return isWaiting ? endOfLastRunner(decision) : {};
  };
}

/** Adds to jobs what may cover them or let them go on: a group that cannot be served, or git. Not for readers who own no group. */
export function withBroken(explanation: Explanation): Explanation {
  const { groups, jobs, where } = explanation;
  const behind = where && behindGit(where);
  const brokenOf = (job: ExplainedJob): UnservedGroup | undefined => {
    const inScope = isNotCovered(job) ? brokenFor(job.job.repository, where) : [];
    const has = ({ labels }: UnservedGroup): boolean =>
      labels?.some((label) => job.job.labels.includes(label)) === true;
    const isUnlike = !job.elsewhere && !job.didYouMean;
    return inScope.find(has) ?? inScope.find(({ labels }) => labels === undefined && isUnlike);
  };
  const coverOf = (job: ExplainedJob) => {
    const group = groupOfJob(job);
    const isOfFile = job.verdict === 'held' && HELD[job.because].isOfFile && !findGroup(group, groups)?.suspension;
    if (isOfFile && group)
      return defined({
        behindGit: where?.applications.flatMap((each) => differsFromGit(each, keyText(group)) ?? [])[0],
      });
    const brokenGroup = brokenOf(job);
    const mayBeInGit = isNotCovered(job) && !brokenGroup && !job.elsewhere && !job.didYouMean;
    return defined({ brokenGroup, behindGit: mayBeInGit ? behind : undefined });
  };
  return { ...explanation, jobs: jobs.map((job) => ({ ...job, ...coverOf(job) })) };
}

/** Returns the RunnerGroups that cannot be served, and may have jobs of the repository. */
export function brokenFor(repository: string, where: WhereIAm | undefined): readonly UnservedGroup[] {
  return (where?.broken ?? []).filter(({ scope }) => !scope || hasJobsOf(scope, repository));
}

/** Adds to jobs why the runner that they want has no Job in the cluster, or why its pod waits for credentials. */
export function withNotCreated(explanation: Explanation): Explanation {
  const { liveJobs, where } = explanation;
  // Nobody looked: an unseen Job may exist.
  if (!liveJobs) return explanation;
  const liveJobOf = new Map(liveJobs.map((each) => [each.name, each]));
  const emitted = emittedRunners(explanation);
  const nowMs = Date.parse(explanation.checkedAt);
  const jobs = explanation.jobs.map((job): ExplainedJob => {
    if (job.verdict !== 'served') return job;
    const live = liveJobOf.get(job.runner);
    const isMissing = !live && job.by === 'new-runner';
    const shard = emitted.get(job.runner)?.shard;
    const notCreated = isMissing
      ? whyNotCreated(where, { ...job, shard }, nowMs)
      : live && where && unregistered(where, job, live);
    if (!notCreated) return job;
    return { ...job, notCreated, ...(notCreated.isUnserved && { state: 'unserved' as const }) };
  });
  jobs.sort(byState);
  const sourceOf = new Map(where?.applications.map(({ name, source }) => [name, source]));
  const fileOf = new Map(where?.statuses.map(({ application = '', group }) => [group, sourceOf.get(application)]));
  const groups = explanation.groups.map((each) => ({ ...each, file: fileOf.get(keyText(each)) ?? each.file }));
  return { ...explanation, groups, jobs };
}
