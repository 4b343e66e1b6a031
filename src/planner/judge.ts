/**
 * What is true of each runner. One runner has one state. The first line that fits decides:
 *
 *     runs a job in Gitea ............... busy        (lost, when its Job has ended, or is unseen and the runner is silent;
 *                                                      foreign, when nothing of ours is there: foreign.ts)
 *     its Job has ended ................. used-up     (failed, when nothing shows that it ran a CI job)
 *     online and busy, no job listed .... finishing   (a job that is being cancelled is in no list, Gitea 1.27)
 *     its Job is being deleted .......... deleting
 *     its Job is of another place ....... moved       (replaced, when it was not at work at the last sync)
 *     its CI job failed, its pod waits .. kept        (used-up, when its time is over: kept.ts)
 *     online, Jobs are seen, not its own  gone        (it was pruned idle; Gitea lists it for another minute)
 *     online ............................ free        (disabled, when somebody disabled it)
 *     has finished a job ................ used-up     (not when its pod has not started: that Job was re-created)
 *     its pod may still come ............ free        (replaced, when it is of an older pod template)
 *     its pod comes no more ............. never-came
 *     only an offline row ............... offline
 *
 * A re-created Job runs a second runner under the name of the first. So an online row counts before "has finished a job": Gitea deletes
 * the row of an ephemeral runner with its job. No rule compares a time of Kubernetes with a time of Gitea, because clocks differ.
 */
import { type Evidence, type Group, hasEnded, type Job, type LiveJob } from './evidence.ts';
import { isForeign, runnersAtWork } from './foreign.ts';
import { type Keep, keepOf } from './kept.ts';
import type { ListedJob } from './listed-jobs.ts';
import { isOfOtherPlace } from './moved.ts';
import { OF_POOL, ORDINALS_SEARCHED, type RunnerName, type RunnerNamer, runnerNamer } from './names.ts';
import { isWaitedFor } from './patience.ts';
import type { GroupRunners, Runner, RunnerState } from './runners.ts';
import { RING } from './slots.ts';
import type { RunnerTraces } from './traces.ts';

/** Gitea calls a runner offline after so long without a word (`models/actions/runner.go` RunnerOfflineTime). One at work reports every second. */
export const OFFLINE_AFTER_MS = 60_000;
/** When Gitea is back, runners at work have reported after so long. */
const REPORTS_WITHIN_MS = 15_000;
/** A look takes at most so long from its first list to its last (`GITEA_RUNNERS_TIMEOUT`). */
const LOOK_TAKES_MS = 20_000;
/** Gitea shows whole seconds, and clocks are never quite alike. */
const CLOCKS_APART_MS = 2000;

interface Context {
  readonly group: Group;
  readonly nameOf: RunnerNamer;
  readonly nowMs: number;
  /** The live Jobs are as they were at this time, or later. */
  readonly liveSinceMs: number;
  readonly jobsAreSeen: boolean;
  /** All Jobs of ours were listed, whether or not this group has one. */
  readonly jobsWereListed: boolean;
  /** All rows of the group's scope were read. */
  readonly rowsWereRead: boolean;
  /** True when Gitea was there lately: a runner at work would have reported. */
  readonly giteaWasUp: () => boolean;
  /** True when Gitea lists any runner of the group. */
  readonly rowsAreSeen: () => boolean;
  /** How many runners are known that were made for the same stay of a job in the queue. */
  readonly countMadeFor: (stay: RunnerName) => number;
}

/** Judges the runners of each group. `jobs`: of all looks. */
export function judgeRunners(
  traces: ReadonlyMap<Group, readonly RunnerTraces[]>,
  { instance, looks, jobsWereListed, nowMs, liveSinceMs = nowMs - LOOK_TAKES_MS }: Evidence,
  jobs: readonly ListedJob[],
): readonly GroupRunners[] {
  // Only silent runners ask.
  let up: ReadonlySet<string> | undefined;
  const wasUp = (origin: string): boolean => {
    up ??= new Set(jobs.flatMap((listed) => (showsGiteaUp(listed.job, nowMs) ? listed.origin : [])));
    return up.has(origin);
  };
  return [...traces].map(([group, ofGroup]) => {
    const nameOf = runnerNamer(instance, group);
    const jobsAreSeen = ofGroup.some(({ live }) => live !== undefined);
    const giteaWasUp = (): boolean => wasUp(group.origin);
    const countMadeFor = ({ jobId, attempt }: RunnerName): number =>
      ofGroup.filter(({ madeFor }) => madeFor.jobId === jobId && madeFor.attempt === attempt).length;
    const rowsAreSeen = (): boolean => ofGroup.some(({ row }) => row !== undefined);
    const rowsWereRead = looks.get(group.look)?.rowsWereRead === true;
    const seen = { jobsAreSeen, jobsWereListed: jobsWereListed === true, rowsWereRead, rowsAreSeen, giteaWasUp };
    const context = { group, nameOf, nowMs, liveSinceMs, countMadeFor, ...seen };
    return { group, nameOf, jobsAreSeen, runners: ofGroup.map((each) => judge(each, context)) };
  });
}

function judge(traces: RunnerTraces, context: Context): Runner {
  const { name, group, madeFor, running, completed, row, live } = traces;
  const hasWorked = completed !== undefined && !isRecreated(traces, completed, context);
  const keep = keepOf(traces, { ...context, hasWorked });
  return {
    name,
    group,
    madeFor,
    state: stateOf(traces, keep, context),
    keep,
    slots: runnersAtWork(traces, context) + (isRecreated(traces, running, context) ? 1 : 0),
    registered: row?.online ?? false,
    job: running ?? completed,
    live,
    labels: row?.online ? row.labels : undefined,
    isCurrent: () => isOfThisTemplate(traces, context),
  };
}

function stateOf(traces: RunnerTraces, keep: Keep | undefined, context: Context): RunnerState {
  const { running, completed, row, live } = traces;
  if (running) return stateAtWork(traces, running, context);
  // `complete` counts too: the dind images always exit with 0 (runner repository, Dockerfile, s6).
  if (hasEnded(live?.state)) return hasHadJob(traces) ? 'used-up' : 'failed';
  if (row?.online && row.busy) return 'finishing';
  if (live?.state === 'deleting') return 'deleting';
  const moved = stateIfMoved(traces, context);
  if (moved) return moved;
  if (keep && !row?.online) return stateOfStay(keep);
  if (row?.online && !live && context.jobsAreSeen) return 'gone';
  if (row?.online) return row.disabled ? 'disabled' : 'free';
  if (completed && !isRecreated(traces, completed, context)) return 'used-up';
  return live ? stateOfComing(traces, live, context) : 'offline';
}

/** Gitea believes a lost runner busy for 10-15 minutes. The end of its Job is the newer truth and frees the slot. */
function stateAtWork(traces: RunnerTraces, running: Job, context: Context): RunnerState {
  if (isForeign(traces, running, context)) return 'foreign';
  return isLost(traces, running, context) ? 'lost' : 'busy';
}

function stateOfStay({ isOver }: Keep): RunnerState {
  return isOver ? 'used-up' : 'kept';
}

/** Of a runner of which Kubernetes shows a Job and Gitea nothing. */
function stateOfComing(traces: RunnerTraces, live: LiveJob, context: Context): RunnerState {
  if (!isWaitedFor(live, context.group, context.nowMs) && !isUnheard(traces, context)) return 'never-came';
  return isOfThisTemplate(traces, context) ? 'free' : 'replaced';
}

/**
 * Undefined when the Job is of the place where its group is, or when the group's Gitea shows what it did: then that counts. Another group that
 * has stayed at the old place may list the row. Then the name tells the scope of a runner of a pool.
 */
function stateIfMoved(traces: RunnerTraces, context: Context): 'moved' | 'replaced' | undefined {
  const { row, isListedHere, completed, live, madeFor } = traces;
  if (!live || isListedHere || completed || live.endedAtMs !== undefined) return undefined;
  const isOfOldPool = row !== undefined && madeFor.jobId === OF_POOL && !isOfThisTemplate(traces, context);
  if (!isOfOldPool && !isOfOtherPlace(live, context.group)) return undefined;
  return live.pinned && live.state !== 'starting' ? 'moved' : 'replaced';
}

/**
 * True when the pod of a runner at work has ended and Gitea does not know. Either its Job has ended. Or its Job is unseen, and Gitea was
 * there and has heard nothing from the runner.
 */
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
function isRecreated({ live }: RunnerTraces, job: Job | undefined, { liveSinceMs }: Context): boolean {
  return live?.state === 'starting' && (job?.startedAtMs ?? liveSinceMs) + CLOCKS_APART_MS < liveSinceMs;
}

/**
 * True when the Job that has ended is that of a second runner of this name: a CI job that began later has ended, too. The Job was
 * re-created while the first runner worked, so the first one still does.
 */
function hasEndedAnother({ running, completed }: RunnerTraces): boolean {
  return (completed?.startedAtMs ?? 0) > (running?.startedAtMs ?? 0);
}

/**
 * True when an idle runner of a pool may live although Gitea does not show it online. It has registered, because its container runs
 * (docs/adr/0023). Either Gitea was away lately, so all rows look offline. Or this token lists no rows.
 */
function isUnheard({ madeFor, row, live }: RunnerTraces, { giteaWasUp, rowsAreSeen }: Context): boolean {
  if (madeFor.jobId !== OF_POOL || live?.state !== 'running') return false;
  return row ? !giteaWasUp() : !rowsAreSeen();
}

/** False when the name was made from another pod template: then nobody knows what that runner can do. */
function isOfThisTemplate({ name, madeFor }: RunnerTraces, { nameOf, countMadeFor }: Context): boolean {
  const stay = { id: madeFor.jobId, attempt: madeFor.attempt };
  const isAmong = (first: number, count: number): boolean => {
    for (let ordinal = first; ordinal < first + count; ordinal += 1) if (nameOf(stay, ordinal) === name) return true;
    return false;
  };
  const searched = madeFor.jobId === OF_POOL ? RING : ORDINALS_SEARCHED;
  // Names that are used up are passed over, however many they are.
  return isAmong(0, searched) || isAmong(searched, countMadeFor(madeFor));
}
