/**
 * 2 JUDGE: what is true of each runner. One runner has one state. The first line that fits decides:
 *
 *     runs a job in Gitea ............... busy        (lost, when its Job has ended, or is unseen and the runner is silent;
 *                                                      or Gitea shows the job longer than any runner lives;
 *                                                      foreign, when nothing of ours is there)
 *     its Job has ended ................. used-up     (failed, when nothing shows that it ran a CI job)
 *     online and busy, no job listed .... finishing   (a job that is being cancelled is in no list, Gitea 1.27;
 *                                                      foreign, when nothing of ours is there)
 *     online and pinned, no job listed .. finishing   (its repository moved away, and the CI job writes nothing;
 *                                                      of a bound runner the row may not have been read)
 *     its Job is being deleted .......... deleting
 *     its Job is of another place ....... moved       (replaced, when it was not at work at the last sync)
 *     its CI job failed, its pod waits .. debugging   (used-up, when its time is over: debugging.ts)
 *     online, but without a Job ......... gone        (where Jobs are seen: it was pruned idle; Gitea lists it for another minute)
 *     online ............................ free        (disabled, when somebody disabled it)
 *     has finished a job ................ used-up     (not when its pod has not started: that Job was re-created)
 *     its pod may still come ............ free        (replaced, when it is of an older pod template)
 *     its pod comes no more ............. never-came
 *     only an offline row ............... offline
 *
 * A re-created Job runs a second runner under the name of the first. So an online row counts before "has finished a job": Gitea deletes
 * the row of an ephemeral runner with its job. No rule compares a time of Kubernetes with a time of Gitea, because clocks differ.
 */
import { addTo, memo } from './collections.ts';
import { type Hold, holdOf } from './debugging.ts';
import {
  type ClusterEvidence,
  type Evidence,
  type Group,
  hasEnded,
  isOver,
  type Job,
  type JobList,
  type LiveJob,
  type Look,
} from './evidence.ts';
import { isMadeForSame, ORDINALS_SEARCHED, poolIndexOf, type RunnerNamer, runnerNamer } from './names.ts';
import { nameNow } from './repositories.ts';
import { type GroupRunners, patienceMs, type Runner, type RunnerState } from './runners.ts';
import { isOfOtherScope, type RunnerTraces, sizesKey } from './traces.ts';

/** A pod that is on its way has so many spawn timeouts (an hour by default). Then its node will not come. */
export const PENDING_TIMEOUTS = 12;
/** Gitea calls a runner offline after so long without a word (`models/actions/runner.go` RunnerOfflineTime). One at work reports every second. */
export const OFFLINE_AFTER_MS = 60_000;
/** Runners at work have reported again this long after Gitea is back, ms. */
const REPORTS_WITHIN_MS = 15_000;
/** Gitea shows whole seconds, and clocks are never quite alike. */
const CLOCKS_APART_MS = 2000;

interface Context {
  readonly group: Group;
  readonly nameOf: RunnerNamer;
  readonly nowMs: number;
  readonly cluster: ClusterEvidence;
  readonly look: Look | undefined;
  /** True when Gitea was there lately: a runner at work would have reported. */
  readonly giteaWasUp: () => boolean;
  /** Traces of all runners of the RunnerGroup, of all sizes: used-up names do not tell the size. */
  readonly ofGroup: readonly RunnerTraces[];
  readonly findJob: JobList['findJob'];
}

/** Judges the runners of each group. `jobs`: of all looks. */
export function judgeRunners(
  traces: ReadonlyMap<Group, readonly RunnerTraces[]>,
  { instance, looks, cluster, nowMs }: Evidence,
  { jobs, findJob }: JobList,
): readonly GroupRunners[] {
  // Only silent runners need this.
  const wasUp = memo((origin: string) =>
    jobs.some((listed) => listed.origin === origin && showsGiteaUp(listed.job, nowMs)),
  );
  const ofSizes = new Map<string, RunnerTraces[]>();
  for (const each of [...traces.values()].flat()) addTo(ofSizes, sizesKey(each.group), each);
  return [...traces].map(([group, ofThisSize]) => {
    const nameOf = runnerNamer(instance, group);
    const giteaWasUp = (): boolean => wasUp(group.origin);
    const look = looks.get(group.look);
    const ofGroup = ofSizes.get(sizesKey(group)) ?? [];
    const context = { group, nameOf, nowMs, cluster, look, giteaWasUp, ofGroup, findJob };
    return { group, nameOf, runners: ofThisSize.map((each) => judge(each, context)) };
  });
}

function judge(traces: RunnerTraces, context: Context): Runner {
  const { name, group, madeFor, running, completed, row, live } = traces;
  const hasWorked = completed !== undefined && !isRecreated(traces, completed, context);
  const rowsAreSeen = (): boolean => !isUnlisted(traces) && !isOfOldPool(traces, context) && listsRows(context);
  const hold = holdOf(traces, { nowMs: context.nowMs, hasWorked, rowsAreSeen });
  return {
    name,
    group,
    madeFor,
    state: stateOf(traces, hold, context),
    hold,
    slots: runnersAtWork(traces, context) + (isRecreated(traces, running, context) ? 1 : 0),
    registered: row?.online ?? false,
    job: running ?? completed,
    live,
    boundTo: boundTo(traces, context),
    labels: row?.online ? row.labels : undefined,
    isCurrent: () => isOfThisTemplate(traces, context),
  };
}

function stateOf(traces: RunnerTraces, hold: Hold | undefined, context: Context): RunnerState {
  const { running, completed, row, live } = traces;
  if (running) return stateAtWork(traces, running, context);
  // `complete` counts too: the dind images always exit with 0 (runner repository, Dockerfile, s6).
  if (hasEnded(live?.state)) return hasHadJob(traces) ? 'used-up' : 'failed';
  if (isAtUnlistedJob(traces, hold)) return stateAtUnlistedJob(traces, context);
  if (live?.state === 'deleting') return 'deleting';
  const moved = stateIfMoved(traces, context);
  if (moved) return moved;
  if (hold && !row?.online) return hold.isOver ? 'used-up' : 'debugging';
  if (row?.online && !live && context.cluster.is === 'seen') return 'gone';
  if (row?.online) return row.disabled ? 'disabled' : 'free';
  if (completed && !isRecreated(traces, completed, context)) return 'used-up';
  return live ? stateOfComing(traces, live, context) : 'offline';
}

/**
 * True for a runner at work whose CI job no list has. Gitea shows it idle when it has reported nothing for 10 s. Then its pin tells, because
 * only runners at work are pinned. After a completed job the row is that of a second runner: the first one's row went with its job.
 */
function isAtUnlistedJob(traces: RunnerTraces, hold: Hold | undefined): boolean {
  const { row, live, completed } = traces;
  const mayWork = live?.pinned === true && live.state === 'running' && completed === undefined;
  if (row?.online) return row.busy || mayWork;
  return mayWork && !hold && isUnlisted(traces);
}

/** Anybody can keep a row busy for ever. So it counts only while Kubernetes may have the runner. */
function stateAtUnlistedJob({ name, group, live }: RunnerTraces, { cluster }: Context): 'finishing' | 'foreign' {
  const mayBeOurs = live !== undefined || cluster.is === 'unseen' || cluster.pods.has(`${group.namespace}/${name}`);
  return mayBeOurs ? 'finishing' : 'foreign';
}

/** True for a bound runner whose row is missing. That proves nothing: only a few lists of repositories are read (docs/adr/0084). */
function isUnlisted({ row, live, group }: RunnerTraces): boolean {
  const isBound = live ? live.boundTo !== undefined : group.isBound === true;
  return row === undefined && isBound && group.scope === 'owner';
}

/** Returns the current name of a bound runner's repository, by the job that it runs. Without one, only a new name of the owner is known. */
function boundTo({ group, live, madeFor }: RunnerTraces, { findJob, look }: Context): string | undefined {
  if (live?.boundTo === undefined) return undefined;
  const repository = 'id' in madeFor ? findJob(group.origin, madeFor.id)?.job.repository : undefined;
  return (repository ?? nameNow(live.boundTo, group, look) ?? live.boundTo).toLowerCase();
}

/** Gitea believes a lost runner busy for 10-15 minutes. The end of its Job is the newer truth and frees the slot. */
function stateAtWork(traces: RunnerTraces, running: Job, context: Context): RunnerState {
  if (isOutlived(traces, running, context.nowMs)) return 'lost';
  // A runner of ours goes silent when its Job and pod are deleted with its node.
  if (isForeign(traces, running, context)) return traces.row?.online === false ? 'lost' : 'foreign';
  return isLost(traces, running, context) ? 'lost' : 'busy';
}

/** Pods of this runner that may still work. Undefined: nobody sees them. Kueue may have brought them to another cluster. */
function podsOf({ name, group, live }: RunnerTraces, { cluster }: Context): number | undefined {
  if (cluster.is === 'unseen' || (live ?? group).queue !== undefined) return undefined;
  return cluster.pods.get(`${group.namespace}/${name}`) ?? 0;
}

/** How long a job waits before Gitea gives up on it (`ABANDONED_JOB_TIMEOUT`), ms. An older one has begun. */
const ABANDONED_MS = 24 * 3_600_000;

/** True when Gitea shows a CI job in progress for longer than a runner lives, and no Job may still work on it (docs/adr/0078). */
export function isOutlived(
  { group, live }: Pick<Runner, 'group' | 'live'>,
  job: Job | undefined,
  nowMs: number,
): boolean {
  const mayWork = live !== undefined && !isOver(live.state);
  if (mayWork || !job) return false;
  return nowMs - (job.startedAtMs ?? job.createdAtMs + ABANDONED_MS) > group.longestRunMs;
}

/**
 * True for a runner of somebody else under a name of our form. The owner of a repository can register a runner of any name, give it any
 * labels, and let it run any number of CI jobs. Names of ours stand in the page of every job. What it does takes no slot of a group.
 *
 * Kubernetes shows neither a Job nor a pod of it. Where nobody sees its pods, two of three things must speak against it:
 *
 * - All Jobs were listed, and its own is not among them.
 * - The rows were read, and its own is not among them. Gitea deletes the row of an ephemeral runner only with the end of its CI job.
 * - Its CI job has labels that the group has not.
 *
 * One of them proves nothing. A Job may be pruned while its pod finishes, token and scope may list no rows, and labels of groups change.
 */
function isForeign(traces: RunnerTraces, { labels }: Job, context: Context): boolean {
  const { group, cluster } = context;
  if (traces.live) return false;
  const pods = podsOf(traces, context);
  if (pods !== undefined) return pods === 0;
  const hasNoRow = rowsAreKnown(traces, context) && !traces.row;
  const isUncovered = !labels.every((label) => group.labels.includes(label));
  return [cluster.is === 'seen', hasNoRow, isUncovered].filter(Boolean).length >= 2;
}

/** True if a row of the runner would be in a list that was read. */
function rowsAreKnown(traces: RunnerTraces, { look }: Context): boolean {
  return look?.rowsWereRead === true && !isUnlisted(traces);
}

/** Returns how many runners of one name work, at least 1. A second one, whose Job was re-created, has a row and a pod of its own. */
function runnersAtWork(traces: RunnerTraces, context: Context): number {
  const { runs, rowIds } = traces;
  const most = [rowsAreKnown(traces, context) ? rowIds.size : runs, podsOf(traces, context) ?? runs];
  return Math.max(1, Math.min(runs, ...most));
}

/** The state of a runner of which Kubernetes shows a Job and Gitea nothing. */
function stateOfComing(traces: RunnerTraces, live: LiveJob, context: Context): RunnerState {
  if (!isWaitedFor(live, context.group, context.nowMs) && !isUnheard(traces, context)) return 'never-came';
  return isOfThisTemplate(traces, context) ? 'free' : 'replaced';
}

/**
 * True while the planner waits for the runner of a Job. A pod that has not started is not exchanged: a new one would be
 * as slow or as stuck. A pod whose container runs has one spawn timeout. A suspended Job is waited for: a new one would
 * come last in its queue.
 */
function isWaitedFor(live: LiveJob, { spawnTimeoutMs, pendingDeadlineMs }: Group, nowMs: number): boolean {
  const { state, trouble, createdAtMs, runningSinceMs = createdAtMs } = live;
  if (trouble?.isSuspended) return true;
  const pendingMs = Math.max(PENDING_TIMEOUTS * spawnTimeoutMs, pendingDeadlineMs);
  return nowMs - runningSinceMs < patienceMs(live, state === 'starting' ? pendingMs : spawnTimeoutMs);
}

/**
 * Undefined when the Job is of the place where its group is, or when the group's Gitea shows what it did: then that counts. Another group that
 * has stayed at the old place may list the row. Then the name tells the scope of a runner of a pool.
 */
function stateIfMoved(traces: RunnerTraces, context: Context): 'moved' | 'replaced' | undefined {
  const { row, isListedHere, completed, live } = traces;
  if (!live || isListedHere || completed || live.endedAtMs !== undefined) return undefined;
  const isListedElsewhere = row !== undefined && isOfOldPool(traces, context);
  if (!isListedElsewhere && !isOfOtherScope(live, context.group, context.look)) return undefined;
  return live.pinned && live.state !== 'starting' ? 'moved' : 'replaced';
}

/** True for an idle runner of a pool of another template. Its scope may be another one, too: no CI job tells it. */
function isOfOldPool(traces: RunnerTraces, context: Context): boolean {
  return poolIndexOf(traces.madeFor) !== undefined && !isOfThisTemplate(traces, context);
}

/** True when a runner at work has ended and Gitea does not know: its Job has ended, or is unseen and Gitea, though up, has heard nothing. */
function isLost(traces: RunnerTraces, running: Job, { nowMs, giteaWasUp }: Context): boolean {
  const { live, row } = traces;
  if (hasEnded(live?.state)) return !hasEndedAnother(traces);
  if (live || !row || row.online || !giteaWasUp()) return false;
  return nowMs - (running.startedAtMs ?? nowMs) > OFFLINE_AFTER_MS;
}

/** True when a time of this job shows that Gitea was up: within the last minute, but long enough ago for all runners to report since. */
function showsGiteaUp({ createdAtMs, startedAtMs = 0, completedAtMs = 0 }: Job, nowMs: number): boolean {
  return [createdAtMs, startedAtMs, completedAtMs].some(
    (atMs) => nowMs - atMs < OFFLINE_AFTER_MS && nowMs - atMs > REPORTS_WITHIN_MS,
  );
}

/**
 * True when a runner whose Job has ended had a CI job. The pin shows it, too: only runners at work are pinned. Gitea does not always show
 * it. Only its newest completed jobs are read, by id, and a long CI job in a busy Gitea is not among them when it ends. A pinned Job that
 * failed may be a re-created one, which proves nothing.
 */
function hasHadJob({ completed, live }: RunnerTraces): boolean {
  return completed !== undefined || (live?.state === 'complete' && live.pinned === true);
}

/**
 * True when the Job was re-created under the name of a runner that has taken this CI job. Its pod has not started, so it has run nothing.
 * A CI job that began after the Jobs were listed proves nothing, because the lists of one look are not of the same second.
 */
function isRecreated({ live }: RunnerTraces, job: Job | undefined, { cluster }: Context): boolean {
  if (live?.state !== 'starting' || cluster.is === 'unseen') return false;
  return (job?.startedAtMs ?? cluster.listedAtMs) + CLOCKS_APART_MS < cluster.listedAtMs;
}

/** True if the ended Job is that of a second runner of this name, made while the first one worked: a CI job that began later has ended, too. */
function hasEndedAnother({ running, completed }: RunnerTraces): boolean {
  return (completed?.startedAtMs ?? 0) > (running?.startedAtMs ?? 0);
}

/**
 * True if an idle runner of a pool may live although Gitea does not show it online. Its container runs, so it has
 * registered (docs/adr/0023). Either Gitea was away lately, so that all rows look offline, or this token lists no rows.
 */
function isUnheard({ madeFor, row, live }: RunnerTraces, context: Context): boolean {
  if (poolIndexOf(madeFor) === undefined || live?.state !== 'running') return false;
  return row ? !context.giteaWasUp() : !listsRows(context);
}

/** True when Gitea lists any runner of the group. */
function listsRows({ ofGroup }: Context): boolean {
  return ofGroup.some(({ row }) => row !== undefined);
}

/** False when the name was made from another pod template: then nobody knows what that runner can do. */
function isOfThisTemplate({ name, madeFor }: RunnerTraces, { nameOf, ofGroup }: Context): boolean {
  // Names that are used up are passed over, however many they are.
  const most = ORDINALS_SEARCHED + ofGroup.filter((each) => isMadeForSame(each.madeFor, madeFor)).length;
  for (let ordinal = 0; ordinal < most; ordinal += 1) if (nameOf(madeFor, ordinal) === name) return true;
  return false;
}
