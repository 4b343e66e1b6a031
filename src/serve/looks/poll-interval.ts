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
 *   looks fail ............................................. the next one comes after the shortest interval, then twice as long each
 *                                                            time, 5 minutes at most; a minute if it seems to be a blip
 *   Gitea refuses the token (401, 403) ..................... the same, from 30 s on: asking again does not help
 *
 * A change is a job of the active ones (queued, in progress) that appears, gets another status, or is gone. Attempts do not count: up to
 * Gitea 1.26 they grow at the claim. The doubt is needed because Gitea sends a webhook up to seconds after the job has changed: its queue of webhooks sleeps up to 2 s when idle.
 * Jobs of a deleted repository are never announced, also where webhooks work. That costs some quick looks.
 */
import { doubled } from '../../shared/clock.ts';

export type AnnouncedJob = Readonly<{ id: number; status: string }>;

/** The polling state of one target (a scope of one Gitea with one token). */
export interface PollPace {
  readonly intervalMs: number;
  /** Status of each active job in the last look, by id. Absent before the first look. */
  readonly jobs?: ReadonlyMap<number, string>;
  /** Changes that webhooks told of, with the time, oldest first. */
  readonly announced: ReadonlyMap<string, number>;
  /** Changes without a webhook so far, with the time of the look that showed them. */
  readonly doubtful: ReadonlyMap<string, number>;
  /** Looks that failed in a row, for the same kind of reason; `refused`: Gitea refuses the token. Absent: the last one was good. */
  readonly trouble?: { readonly failures: number; readonly refused: boolean };
}

const STRETCH = 1.5;
/** Longest interval, unless the shortest one is longer. */
const LONGEST_MS = 60_000;
/** First pause after Gitea has refused the token, ms. Another token is another target (targets.ts). */
const REFUSED_MS = 30_000;
const LONGEST_BACK_OFF_MS = 300_000;
/** A pause between looks that fail is up to a quarter shorter, by chance. */
const BACK_OFF_JITTER = 0.25;
/** How long after a look a webhook for one of its changes may still arrive, ms. */
const GRACE_MS = 5000;
/** How long an announced change is remembered, ms. The look that it causes comes at once. */
const KEEP_ANNOUNCED_MS = 15_000;
/** Most announced changes that are remembered. More belong to a burst, and the next look shows all of it. */
const MAX_ANNOUNCED = 1000;
/** Share of a pause that chance decides, ± a tenth: many replicas and targets must not look at the same moments. */
const JITTER = 0.2;

/** Returns the state before the first look. @param shortestMs shortest time between two polls, as in the functions below */
export function newPace(shortestMs: number): PollPace {
  return { intervalMs: shortestMs, announced: new Map(), doubtful: new Map() };
}

/** A webhook has told of a job, which may be none of this target's. */
export function afterAnnouncement(pace: PollPace, job: AnnouncedJob, nowMs: number): PollPace {
  const change = changeTo(job);
  const doubtful = new Map(pace.doubtful);
  // The look came first, so nothing is left to announce.
  if (doubtful.delete(change)) return { ...pace, doubtful };
  const kept = [...new Map(pace.announced).set(change, nowMs)].slice(-MAX_ANNOUNCED);
  return { ...pace, announced: new Map(kept) };
}

/** A look has failed; what changed meanwhile is judged by the next good one. */
export function afterFailure(pace: PollPace, refused = false): PollPace {
  const before = pace.trouble?.refused === refused ? pace.trouble.failures : 0;
  return { ...pace, trouble: { failures: before + 1, refused } };
}

export function afterLook(
  pace: PollPace,
  active: readonly AnnouncedJob[],
  nowMs: number,
  shortestMs: number,
): PollPace {
  const jobs = new Map(active.map(({ id, status }) => [id, status]));
  const before = pace.jobs ?? jobs;
  const gone = [...before.keys()].filter((id) => !jobs.has(id));
  const changes = [
    // The name of this change in webhooks, also if the job was cancelled.
    ...gone.map((id) => changeTo({ id, status: 'completed' })),
    ...active.filter(({ id, status }) => before.get(id) !== status).map(changeTo),
  ];
  const announced = new Map([...pace.announced].filter(([, atMs]) => atMs >= nowMs - KEEP_ANNOUNCED_MS));
  const isOverdue = (since: number): boolean => nowMs - since >= GRACE_MS;
  const doubtful = new Map([
    ...[...pace.doubtful].filter(([, since]) => !isOverdue(since)),
    ...changes.filter((change) => !announced.has(change)).map((change) => [change, nowMs] as const),
  ]);
  for (const change of changes) announced.delete(change);
  const missed = [...pace.doubtful.values()].some(isOverdue);
  const proven = changes.length > 0 && doubtful.size === 0;
  const longestMs = Math.max(shortestMs, LONGEST_MS);
  const longerMs = proven ? Math.min(longestMs, Math.round(pace.intervalMs * STRETCH)) : pace.intervalMs;
  return { intervalMs: missed ? shortestMs : longerMs, jobs, announced, doubtful };
}

/** Returns the pause before the next look. @param random from 0 to below 1 @param isBlip the connection failed, and other scopes there are well */
export function nextLookMs(pace: PollPace, random: number, shortestMs: number, isBlip = false): number {
  const { doubtful, intervalMs, trouble } = pace;
  if (trouble) return Math.round(backOffMs(trouble, shortestMs, isBlip) * (1 - BACK_OFF_JITTER * random));
  const wait = doubtful.size > 0 ? shortestMs : intervalMs;
  return Math.round(wait * (1 + JITTER * (random - 0.5)));
}

function backOffMs({ failures, refused }: NonNullable<PollPace['trouble']>, shortestMs: number, isBlip: boolean) {
  const first = refused ? Math.max(shortestMs, REFUSED_MS) : shortestMs;
  const longest = isBlip ? LONGEST_MS : LONGEST_BACK_OFF_MS;
  return doubled(first, failures - 1, Math.max(first, longest));
}

function changeTo({ id, status }: AnnouncedJob): string {
  return `${id} ${status}`;
}
