/**
 * How long to wait until Gitea is looked at again. Pure: time and chance are handed in.
 *
 * Polling is the truth and webhooks are the quick way. While webhooks prove to arrive, polling may be rare:
 *
 *   a look shows changes, all announced by webhook ......... interval × 1.5, up to the longest
 *   a look shows a change that no webhook announced ........ doubt: the next look comes after the shortest interval,
 *       its webhook came by the next look after 5 s ........ the interval stays as it was
 *       it still did not .................................. missed: back to the shortest
 *   a look shows no change ................................. proves nothing, the interval stays
 *   a look fails ........................................... the next one comes after the shortest interval
 *   Gitea refuses the token (401, 403) ..................... the next one comes after 30 s: asking again does not help
 *
 * A change is a job of the active ones (queued, in progress) that appears, gets another status or attempt, or is gone. The doubt is
 * needed because Gitea sends a webhook up to seconds after the job has changed: its queue of webhooks sleeps up to 2 s when idle.
 * Not announced although webhooks work: jobs of a deleted repository; that costs some quick looks.
 */

/** A job as a look or a webhook shows it. */
export interface AnnouncedJob {
  readonly id: number;
  readonly attempt: number;
  readonly status: string;
}

/** What is known of one target (a scope of one Gitea with one token). Made by `newPace`, changed only by the functions below. */
export interface PollPace {
  readonly intervalMs: number;
  /** By id, what the last look showed of each active job, as the change that led to it; absent before the first. */
  readonly jobs?: ReadonlyMap<number, string>;
  /** Changes that webhooks told of, with the time, oldest first. */
  readonly announced: ReadonlyMap<string, number>;
  /** Changes seen without a webhook, with the time of that look. */
  readonly doubtful: ReadonlyMap<string, number>;
  /** The last look failed; `refused`: because of its token. */
  readonly blind: boolean | 'refused';
}

export interface PollLimits {
  readonly shortestMs: number;
  readonly longestMs: number;
}

const STRETCH = 1.5;
/** Another token is another target, which is looked at at once (targets.ts). */
const REFUSED_MS = 30_000;
/** How long after a look a webhook may still arrive for what it showed. */
const GRACE_MS = 5000;
/** Announcements are kept until the change must have been seen. */
const KEEP_ANNOUNCED_LOOKS = 3;
/** More are of a burst whose changes the next look shows all at once. */
const MAX_ANNOUNCED = 1000;
/** ± a tenth: many replicas and targets must not fall into step. */
const JITTER = 0.2;

/** The limits for a shortest interval: the longest is a minute, or the shortest when that is more. */
export function pollLimits(shortestMs: number): PollLimits {
  return { shortestMs, longestMs: Math.max(shortestMs, 60_000) };
}

export function newPace({ shortestMs }: PollLimits): PollPace {
  return { intervalMs: shortestMs, announced: new Map(), doubtful: new Map(), blind: false };
}

/** A webhook has told of a job, which may be none of this target's. */
export function announced(pace: PollPace, job: AnnouncedJob, nowMs: number): PollPace {
  const change = changeTo(job);
  const doubtful = new Map(pace.doubtful);
  // The look came first, so nothing is left to announce.
  if (doubtful.delete(change)) return { ...pace, doubtful };
  const kept = new Map(pace.announced).set(change, nowMs);
  for (const oldest of kept.keys()) {
    if (kept.size <= MAX_ANNOUNCED) break;
    kept.delete(oldest);
  }
  return { ...pace, announced: kept };
}

/** A look has failed; what changed meanwhile is judged by the next good one. */
export function failed(pace: PollPace, because?: 'refused'): PollPace {
  return { ...pace, blind: because ?? true };
}

/** A look has succeeded and shown these active jobs. */
export function looked(pace: PollPace, active: readonly AnnouncedJob[], nowMs: number, limits: PollLimits): PollPace {
  const jobs = new Map(active.map((job) => [job.id, changeTo(job)]));
  const changes = pace.jobs === undefined ? [] : changesBetween(pace.jobs, jobs);
  const isOverdue = (since: number) => nowMs - since >= GRACE_MS;
  const doubtful = new Map([
    ...[...pace.doubtful].filter(([, since]) => !isOverdue(since)),
    ...changes.filter((change) => !pace.announced.has(change)).map((change) => [change, nowMs] as const),
  ]);
  const missed = [...pace.doubtful.values()].some(isOverdue);
  const proven = changes.length > 0 && doubtful.size === 0;
  return {
    intervalMs: nextInterval(pace.intervalMs, { missed, proven }, limits),
    jobs,
    announced: stillNeeded(pace.announced, changes, nowMs - KEEP_ANNOUNCED_LOOKS * limits.longestMs),
    doubtful,
    blind: false,
  };
}

/** Time until the next look. @param random from 0 to below 1. */
export function nextLookMs(pace: PollPace, random: number, limits: PollLimits): number {
  return Math.round(intervalAfter(pace, limits) * (1 + JITTER * (random - 0.5)));
}

function intervalAfter({ blind, doubtful, intervalMs }: PollPace, { shortestMs }: PollLimits): number {
  if (blind === 'refused') return Math.max(shortestMs, REFUSED_MS);
  return blind || doubtful.size > 0 ? shortestMs : intervalMs;
}

function nextInterval(
  intervalMs: number,
  { missed, proven }: { readonly missed: boolean; readonly proven: boolean },
  { shortestMs, longestMs }: PollLimits,
): number {
  if (missed) return shortestMs;
  return proven ? Math.min(longestMs, Math.round(intervalMs * STRETCH)) : intervalMs;
}

/** As webhooks call them: a job that is gone from the active ones is `completed`, also when it was cancelled. */
function changesBetween(before: ReadonlyMap<number, string>, after: ReadonlyMap<number, string>): readonly string[] {
  const gone = [...before.keys()].filter((id) => !after.has(id));
  const changed = [...after].filter(([id, change]) => before.get(id) !== change);
  return [
    ...gone.map((id) => changeTo({ id, attempt: 0, status: 'completed' })),
    ...changed.map(([, change]) => change),
  ];
}

/** The attempt of a job that is done does not matter: the look that no longer shows it does not tell which it was. */
function changeTo({ id, attempt, status }: AnnouncedJob): string {
  return status === 'completed' ? `${id} completed` : `${id} ${status} ${attempt}`;
}

/** Announcements whose change was not seen yet. */
function stillNeeded(
  announced: ReadonlyMap<string, number>,
  seen: readonly string[],
  sinceMs: number,
): ReadonlyMap<string, number> {
  const kept = new Map([...announced].filter(([, at]) => at >= sinceMs));
  for (const change of seen) kept.delete(change);
  return kept;
}
