/**
 * Finds the CI jobs of a group that have lost their runners: `followLosses` is pure, and `LossBook` keeps its results for all groups.
 *
 *     pod evicted, OOM-killed, gone … ─► suspect ─► a later look shows its CI job in progress ─► lost
 *                                                └─ it shows none ─► the runner was idle, or had reported the end: nothing
 *     its Job and its pod, which was seen, have gone, and nobody saw the Job end ─► suspect
 *     suspect ─► its Job is re-created before a look has told ─► nothing: a look names runners, and both have one name
 *     its node does not answer, but Gitea has heard of it in the last minute ─► suspect still: it may report the end
 *     lost ─► its node answers again, or Gitea hears of it, while the CI job is in progress ─► returned: the runner reports the end
 *     lost ─► the kubelet has told the end of the runner, or its pod was closed and Gitea has not heard of it for a minute ─► ended
 *
 * A runner reports the end of its CI job before it ends itself. So nobody will report the end of a CI job that is in progress at a look which
 * began after the end of its runner: Gitea fails it after `ZOMBIE_TASK_TIMEOUT` (10 minutes), or ends it sooner if it is asked to. It is asked
 * only for runners that have ended. One on a node that does not answer may live, and report to Gitea.
 */
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import type { EndToldBy, LossReason } from '../../clients/kubernetes/kube-pods.ts';
import type { RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { type LostJob, MOST_LOST_JOBS, RunnerGroupStatus } from '../../config/runnergroup/status.ts';
import { servesRepository } from '../../plan/plan-groups.ts';
import { isOver, type Look } from '../../planner/evidence.ts';
import { groupHash, namePrefix, parseRunnerName } from '../../planner/names.ts';
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/keys.ts';
import { timeText } from '../../shared/marks.ts';
import { once } from '../../shared/once.ts';
import type { LiveCluster } from '../cluster/live-cluster.ts';
import type { Tell } from '../planning/events.ts';
import type { ReconcileInput } from '../planning/reconcile.ts';
import type { LiveGroup, LiveRunner, Observation } from '../seen/live.ts';

/** A runner that was lost; nobody knows yet whether it had a CI job. */
interface Suspect {
  readonly reason: LossReason | 'JobDeleted';
  /** When the end was noticed, or the runner last known to live, by the steady clock, ms. Later looks count. */
  readonly sinceMs: number;
  /** True if a look has decided. The suspect is remembered while its Job exists. */
  readonly isChecked: boolean;
  /** Set while the node is silent and nobody has reported an end. `no-row`: the newest look had none. */
  readonly silent?: 'row' | 'no-row';
}

export interface GroupLosses {
  readonly suspects: ReadonlyMap<string, Suspect>;
  /** Runners whose Jobs are there and have not ended, or whose pods are still there, by name. */
  readonly alive: ReadonlyMap<string, { readonly podSeen: boolean }>;
  readonly lost: readonly LostJob[];
  /** When this process noticed the loss, by job id, by the steady clock, ms. Absent: the status says so, which others may write. */
  readonly lostSince: ReadonlyMap<number, number>;
}

/** The newest successful look at the scope of a group. */
type GoodLook = Pick<Look, 'jobs' | 'renamedTo' | 'runners'> & Pick<Observation, 'beganSteadyMs'>;

export interface FollowInput {
  readonly runners: readonly LiveRunner[];
  readonly hasPod: (name: string) => boolean;
  /** Returns who reported the end of the runner with this name. */
  readonly endToldBy: (name: string) => EndToldBy | undefined;
  /** The newest look. Absent: it failed, or there was none yet. */
  readonly look?: GoodLook;
  readonly nowMs: number;
  readonly steadyMs: number;
}

export const NO_LOSSES: GroupLosses = { suspects: new Map(), alive: new Map(), lost: [], lostSince: new Map() };

/** Returns the losses of a group after this input. `lost` stays the same list while nothing changes. */
export function followLosses(before: GroupLosses, input: FollowInput) {
  const living = new Set(input.runners.flatMap(({ job }) => (isOver(job.state) ? [] : [job.name])));
  const suspects = suspectsOf(before, input, living);
  const needsLook = [...suspects].some(([name, suspect]) => before.suspects.get(name) !== suspect);
  // Most of these runners were idle, and Gitea takes minutes to fail a CI job. So no look is requested for them.
  const { alive, gone } = followJobs(before.alive, input);
  for (const name of gone) if (!suspects.has(name)) suspects.set(name, newSuspect(name, 'JobDeleted', input));

  const returned = returnedJobs(before, input);
  const stillLost = returned.length > 0 ? before.lost.filter((each) => !returned.includes(each)) : before.lost;
  for (const { runner } of returned)
    if (suspects.has(runner)) suspects.set(runner, newSuspect(runner, 'NodeLost', input));

  const lostIds = new Set(stillLost.map(({ jobId }) => jobId));
  const news = judgeSuspects(suspects, input).filter(({ jobId }) => !lostIds.has(jobId));
  const room = Math.max(0, MOST_LOST_JOBS - stillLost.length);
  const found = news.slice(0, room);
  const lost = found.length > 0 ? [...stillLost, ...found] : stillLost;
  const keptIds = new Set(lost.map(({ jobId }) => jobId));
  const sinceFound = found.map(({ jobId, runner }) => [jobId, suspects.get(runner)?.sinceMs ?? 0] as const);
  const endsNow = (each: LostJob): boolean =>
    !each.runnerEnded && !living.has(each.runner) && hasEnded(each, noticedMs(each, before), input);
  return {
    losses: {
      suspects,
      alive,
      lostSince: new Map([...before.lostSince, ...sinceFound].filter(([jobId]) => keptIds.has(jobId))),
      lost: lost.some(endsNow) ? lost.map((each) => (endsNow(each) ? { ...each, runnerEnded: true } : each)) : lost,
    } satisfies GroupLosses,
    /** A runner was noticed whose loss only a look from now on explains. */
    needsLook,
    found,
    /** Losses that the group has no room for: they are not re-run. */
    more: news.slice(room),
    returned,
  };
}

/** Returns when this process noticed the loss. 0: an earlier process noticed it. */
function noticedMs({ jobId }: LostJob, { lostSince }: GroupLosses): number {
  return lostSince.get(jobId) ?? 0;
}

/** Returns the jobs in progress whose runners are heard of again. */
function returnedJobs(before: GroupLosses, input: FollowInput): readonly LostJob[] {
  const back = new Set(input.runners.flatMap(({ job, isBack }) => (isBack ? [job.name] : [])));
  const isThere = (each: LostJob): boolean =>
    back.has(each.runner) || isHeard(each.runner, each.reason, noticedMs(each, before), input);
  const stateOf = ({ jobId }: LostJob) => input.look?.jobs.find(({ id }) => id === jobId)?.status;
  return before.lost.filter((each) => isThere(each) && stateOf(each) === 'in_progress');
}

/** Judges each suspect, in place. Returns the CI jobs in progress of those that the look has decided about. */
function judgeSuspects(suspects: Map<string, Suspect>, input: FollowInput): readonly LostJob[] {
  const aheadMs = input.nowMs - input.steadyMs;
  return [...suspects].flatMap(([runner, suspect]) => {
    const judged = judge(runner, suspect, input);
    suspects.set(runner, judged);
    if (suspect.isChecked || !judged.isChecked) return [];
    const jobs = input.look?.jobs.filter((job) => job.status === 'in_progress' && job.runner === runner) ?? [];
    const loss = { runner, reason: suspect.reason, lostAt: timeText(aheadMs + suspect.sinceMs) };
    return jobs.map(({ id: jobId, runId, repository, attempt }) => ({ ...loss, repository, runId, jobId, attempt }));
  });
}

/** Returns the runners that Kubernetes shows as lost, and those that no look has decided yet. */
function suspectsOf(before: GroupLosses, input: FollowInput, living: ReadonlySet<string>): Map<string, Suspect> {
  const suspects = new Map<string, Suspect>();
  const suspect = (name: string, reason: Suspect['reason'], earlier = before.suspects.get(name)): void => {
    // The kubelet tells the end of a silent one now: a look from before does not know it.
    const isKnown = earlier && !(earlier.silent && !mayLive(name, earlier.reason, input));
    suspects.set(name, isKnown ? earlier : newSuspect(name, reason, input));
  };
  for (const { job, loss } of input.runners) if (loss !== undefined) suspect(job.name, loss);
  // Argo CD may remove the Job before a look has decided. Once it is re-created, the CI job may be that of the new runner.
  for (const [name, { isChecked, reason }] of before.suspects)
    if (!isChecked && !suspects.has(name) && !living.has(name)) suspect(name, reason);
  return suspects;
}

function newSuspect(name: string, reason: Suspect['reason'], input: FollowInput): Suspect {
  return { reason, sinceMs: input.steadyMs, isChecked: false, ...(mayLive(name, reason, input) && { silent: 'row' }) };
}

/** Judges a suspect by the look: it becomes `isChecked`, or waits for a later look. */
function judge(name: string, suspect: Suspect, input: FollowInput): Suspect {
  const { look, steadyMs: sinceMs } = input;
  if (suspect.isChecked || look === undefined || look.beganSteadyMs < suspect.sinceMs) return suspect;
  const { silent, ...suspectNow } = suspect;
  if (mayLive(name, suspect.reason, input)) {
    const rows = look.runners.filter((row) => row.name === name);
    if (rows.some(({ online }) => online)) return { ...suspectNow, sinceMs, silent: 'row' };
    // A look reads jobs before runners, and the end of the CI job removes the row. So a second look decides.
    if (rows.length === 0 && silent !== 'no-row') return { ...suspectNow, sinceMs, silent: 'no-row' };
  }
  return { ...suspectNow, isChecked: true };
}

/** True if nothing of a lost runner lives any more. Gitea calls a runner offline that it has not heard of for a minute. */
function hasEnded({ runner }: LostJob, sinceMs: number, { endToldBy, look }: FollowInput): boolean {
  const sender = endToldBy(runner);
  if (sender !== 'others') return sender === 'kubelet';
  const rows = rowsSince(sinceMs, runner, look);
  return rows.length > 0 && rows.every(({ online }) => !online);
}

/** True for a runner on a node that does not answer: nobody has told its end. */
function mayLive(runner: string, reason: string, { endToldBy }: FollowInput): boolean {
  return reason === 'NodeLost' && endToldBy(runner) !== 'kubelet';
}

/** True if a runner on a silent node lives: Gitea has heard of it in the last minute. */
function isHeard(runner: string, reason: string, sinceMs: number, input: FollowInput): boolean {
  return mayLive(runner, reason, input) && rowsSince(sinceMs, runner, input.look).some(({ online }) => online);
}

function rowsSince(sinceMs: number, runner: string, look: GoodLook | undefined) {
  return look && look.beganSteadyMs > sinceMs ? look.runners.filter(({ name }) => name === runner) : [];
}

/**
 * Returns the runners that are alive, and those that have gone although nobody saw their end: deleted by force, or told
 * to stop in the very request that gave them a CI job (docs/adr/0018). A runner that was first seen while it was being
 * deleted may have ended before.
 */
function followJobs(before: GroupLosses['alive'], { endToldBy, hasPod, runners }: FollowInput) {
  const liveNames = new Set(runners.map(({ job }) => job.name));
  const absent = [...before.keys()].filter((name) => !liveNames.has(name));
  const present = runners.flatMap(({ job: { name, state } }) => {
    return !isOver(state) || (state === 'deleting' && before.has(name)) ? [name] : [];
  });
  const wasSeen = (name: string): boolean => before.get(name)?.podSeen === true || endToldBy(name) !== undefined;
  const living = [...present, ...absent.filter(hasPod)];
  return {
    alive: new Map(living.map((name) => [name, { podSeen: wasSeen(name) || hasPod(name) }])),
    // A pod that was never seen may be there: its Job tells it to stop, and it ends its CI job first.
    gone: absent.filter((name) => wasSeen(name) && !hasPod(name)),
  };
}

/** A group with losses, and the data that a re-run of its jobs needs. */
export interface GroupAtLoss {
  readonly live: LiveGroup;
  readonly group: RunnerGroup;
  readonly target: GiteaTarget;
  readonly lost: readonly LostJob[];
  readonly lostSince: GroupLosses['lostSince'];
  readonly look?: GoodLook;
}

/** State of a group. `context` is absent while none of its jobs can be re-run. */
type Entry = { readonly losses: GroupLosses; readonly context?: Omit<GroupAtLoss, 'lost' | 'lostSince'> };

type SeenCluster = Pick<LiveCluster, 'endToldBy' | 'hasPod' | 'statusOf'>;

export type LossBook = ReturnType<typeof openLossBook>;

/** Keeps the lost CI jobs of all groups with `maxEvictionRetries`. A new leader reads them from the status. */
export function openLossBook(cluster: SeenCluster, tell: Tell) {
  let entries: ReadonlyMap<string, Entry> = new Map();

  const lostInStatus = (key: string): readonly LostJob[] =>
    RunnerGroupStatus.safeParse(cluster.statusOf(key) ?? {}).data?.lostJobs ?? NO_LOSSES.lost;

  const lossesOf = (key: string): GroupLosses => entries.get(key)?.losses ?? { ...NO_LOSSES, lost: lostInStatus(key) };

  const change = (key: string, toNext: (lost: readonly LostJob[]) => readonly LostJob[]): void => {
    const entry = entries.get(key);
    if (!entry) return;
    const losses = { ...entry.losses, lost: toNext(entry.losses.lost) };
    entries = new Map(entries).set(key, { ...entry, losses });
  };

  return {
    atLoss: (): readonly GroupAtLoss[] =>
      [...entries.values()].flatMap(({ context, losses: { lost, lostSince } }) =>
        context && lost.length > 0 ? [{ ...context, lost, lostSince }] : [],
      ),

    /** The lost CI jobs of a group; the same list until it changes. */
    of: (key: string): readonly LostJob[] => entries.get(key)?.losses.lost ?? NO_LOSSES.lost,

    /** Notes what a reconcile sees. Answers the targets to look at now: a runner was lost, and polls may be a minute apart. */
    follow: (input: Omit<ReconcileInput, 'clocks' | 'lostJobs' | 'unregistered'>): ReadonlySet<GiteaTarget> => {
      const managed = new Set(
        [...input.snapshot.byApp].flatMap(([application, groups]) => {
          const listing = input.wakes.get(application)?.listing;
          return groups.filter(({ key }) => listing?.get(key));
        }),
      );
      const targetsToLook = new Set<GiteaTarget>();
      const next = new Map<string, Entry>();
      for (const live of input.snapshot.groups) {
        const { group, key, object } = live;
        // The spec of this group is not valid now.
        if (!group) next.set(key, { losses: lossesOf(key) });
        if (!group || group.maxEvictionRetries === 0) continue;
        const targetOrFailure = input.targetOf.get(group);
        const target = targetOrFailure instanceof Failure ? undefined : targetOrFailure;
        const look = lookAt(target, input.observations);
        const { namespace } = object.metadata;
        const outcome = followLosses(withoutForeign(lossesOf(key), group, input.instance, look.look), {
          runners: input.snapshot.runnersOfGroup.get(key) ?? [],
          hasPod: (name) => cluster.hasPod(keyText({ namespace, name })),
          endToldBy: (name) => cluster.endToldBy(keyText({ namespace, name })),
          nowMs: input.nowMs,
          steadyMs: input.steadyMs,
          ...look,
        });
        eventsOf(outcome, object).forEach(tell);
        if (outcome.needsLook && target) targetsToLook.add(target);
        const context = target && managed.has(live) && { live, group, target, ...look };
        next.set(key, { losses: outcome.losses, ...(context && { context }) });
      }
      entries = next;
      return targetsToLook;
    },

    settle: (key: string, { jobId }: LostJob): void =>
      change(key, (lost) => lost.filter((each) => each.jobId !== jobId)),

    /** Notes that Gitea is to end these jobs. */
    askEnd: (key: string, jobs: readonly LostJob[], nowMs: number): void => {
      const ids = new Set(jobs.map(({ jobId }) => jobId));
      const endAskedAt = timeText(nowMs);
      change(key, (lost) => lost.map((each) => (ids.has(each.jobId) ? { ...each, endAskedAt } : each)));
    },

    /** True if the status in the cluster says so. Then the next leader knows, too, that no person has ended the job. */
    isAskNoted: (key: string, { jobId }: LostJob): boolean =>
      lostInStatus(key).some((each) => each.jobId === jobId && each.endAskedAt !== undefined),
  };
}

/** Leaves out what a status says of runners that are not the group's own, or of repositories that it does not serve. */
function withoutForeign(before: GroupLosses, group: RunnerGroup, instance: string, look: GoodLook | undefined) {
  if (before.lost.length === 0) return before;
  const [prefix, hash] = [namePrefix(group.name), groupHash(instance, group)];
  const serves = once(() => servesRepository(group, look?.renamedTo));
  const lost = before.lost.filter(({ jobId, repository, runner }) => {
    if (before.lostSince.has(jobId)) return true;
    const name = parseRunnerName(runner);
    // Only a look tells that the scope was renamed. Without one nothing is asked.
    return name?.prefix === prefix && name.groupHash === hash && (!look || serves()(repository));
  });
  return lost.length < before.lost.length ? { ...before, lost } : before;
}

function eventsOf({ found, more, returned }: ReturnType<typeof followLosses>, object: RunnerGroupObject) {
  return [
    ...found.map((lost) => ({ is: 'runner-lost', object, lost, isNoted: true }) as const),
    ...more.map((lost) => ({ is: 'runner-lost', object, lost, isNoted: false }) as const),
    ...returned.map((lost) => ({ is: 'rerun', object, lost, outcome: 'returned' }) as const),
  ];
}

/** The newest look, if it was a good one. */
function lookAt(target: GiteaTarget | undefined, observations: ReconcileInput['observations']) {
  const { beganSteadyMs = 0, failure, look } = (target && observations.get(target.key)) ?? {};
  return look && !failure ? { look: { ...look, beganSteadyMs } } : {};
}
