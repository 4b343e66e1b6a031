/** Estimates how long a job held by the cap will wait, from CI jobs of the same name (errors: docs/explain.md). Pure. */
import { memo } from '../planner/collections.ts';
import type { Job } from '../planner/evidence.ts';
import { groupBySeveral } from '../shared/keys.ts';
import { duration } from '../shared/printable.ts';

/** A span of time, ms. Half of all waits should end between `fromMs` and `toMs`. `samples`: how many finished jobs it is made from. */
export type WaitEstimate = Readonly<Record<'ms' | 'fromMs' | 'toMs' | 'samples', number>>;

/** `about 4m00s (2m10s to 6m30s)` */
export function estimateText({ ms, fromMs, toMs }: WaitEstimate): string {
  return `about ${duration(ms)} (${duration(fromMs)} to ${duration(toMs)})`;
}

/** The jobs in the slots of a group, and those that wait for slots. */
interface Slots {
  readonly cap: number;
  /** CI jobs on runners of the group, and those that have a runner which has not taken them yet. */
  readonly atWork: readonly Job[];
  /** The jobs that the cap holds back, in the order in which they get slots. */
  readonly line: readonly Job[];
}

/** Jobs that count, the newest ones: workflows change. */
const MOST_SAMPLES = 20;
/** Fewest finished jobs for an estimate: of the name, else of the repository, else of all. With fewer, none is made. */
const FEWEST_SAMPLES = 3;
/** Time from a free slot to the begin of the next CI job, ms: a wake of Argo CD, a pod, a registration. */
const START_MS = 5_000;
/** Jobs of one line that get an estimate. Others wait so long that none helps, and each costs a search among all slots. */
const MOST_ESTIMATED = 1_000;
/** A job that has run longer than all before it needs this share of its time more. */
const OVERTIME = 0.25;

/** How long a job has run, and how long jobs of its name usually run, ms. */
export type Overtime = Readonly<Record<'ranMs' | 'usualMs', number>>;

/** A job that has run so many times as long as all before it, and longer than this time, may hang. */
const TIMES_LONGER = 4;
/** A job that has run for less is never called too long, ms. */
const LEAST_OVERTIME_MS = 1_800_000;

/** Undefined: it has not run for long, or too few jobs like it have finished. */
export function overtimeOf(job: Job, durationsOf: DurationsOf, nowMs: number): Overtime | undefined {
  const samples = durationsOf(job);
  const ranMs = job.status === 'in_progress' ? nowMs - (job.startedAtMs ?? nowMs) : 0;
  const isLong = ranMs > Math.max(LEAST_OVERTIME_MS, TIMES_LONGER * (samples.at(-1) ?? 0));
  return isLong && samples.length >= FEWEST_SAMPLES ? { ranMs, usualMs: quantile(samples, 0.5) } : undefined;
}

/** Returns the durations of similar jobs, ascending, ms. Empty: none has finished. */
type DurationsOf = (job: Job) => readonly number[];

/** @param jobs of one Gitea. Only completed ones count */
export function durationsIn(jobs: readonly Job[]): DurationsOf {
  const finished = jobs.flatMap((job) => {
    const { status, startedAtMs = Number.NaN, completedAtMs = Number.NaN } = job;
    const ms = completedAtMs - startedAtMs;
    return status === 'completed' && ms > 0 ? [{ job, ms, completedAtMs }] : [];
  });
  finished.sort((a, b) => b.completedAtMs - a.completedAtMs);
  const newest = [...groupBySeveral(finished, ({ job }) => keysOf(job))].map(([key, sameKey]) => {
    const durations = sameKey.slice(0, MOST_SAMPLES).map(({ ms }) => ms);
    return [key, durations.sort((a, b) => a - b)] as const;
  });
  const durationsOfKey = new Map(newest);
  return (job) => {
    const durationLists = keysOf(job).map((key) => durationsOfKey.get(key) ?? []);
    return durationLists.find((list) => list.length >= FEWEST_SAMPLES) ?? durationLists.at(-1) ?? [];
  };
}

/** The wait of each job in `line`. Empty: too few CI jobs have finished, or no slot will ever be free. */
export function estimateWaits(
  { cap, atWork, line: wholeLine }: Slots,
  durations: DurationsOf,
  nowMs: number,
): readonly WaitEstimate[] {
  const line = wholeLine.slice(0, MOST_ESTIMATED);
  const durationsOf = memo(durations);
  const samples = [...atWork, ...line].reduce((most, job) => Math.max(most, durationsOf(job).length), 0);
  if (cap === 0 || samples < FEWEST_SAMPLES) return [];
  const waitsAtQuantile = (part: number): readonly number[] => waitsAt(part, { cap, atWork, line }, durationsOf, nowMs);
  const [from, median, to] = [waitsAtQuantile(0.25), waitsAtQuantile(0.5), waitsAtQuantile(0.75)];
  return line.map((_, index) => ({ ms: median[index] ?? 0, fromMs: from[index] ?? 0, toMs: to[index] ?? 0, samples }));
}

/** The waits if each job takes as long as this quantile of its samples. */
function waitsAt(
  part: number,
  { cap, atWork, line }: Slots,
  durationsOf: DurationsOf,
  nowMs: number,
): readonly number[] {
  const ends = atWork.map((job) => remaining(part, job, durationsOf, nowMs)).sort((a, b) => a - b);
  // A cap that was lowered gets no free slot until so many runners have ended.
  const free = [
    ...Array<number>(Math.max(0, cap - ends.length)).fill(0),
    ...ends.slice(Math.max(0, ends.length - cap)),
  ];
  return line.map((job) => {
    const startMs = (free.shift() ?? 0) + START_MS;
    const endMs = startMs + quantile(durationsOf(job), part);
    free.splice(free.findLastIndex((ms) => ms <= endMs) + 1, 0, endMs);
    return startMs;
  });
}

/** Returns how much longer a job will run. Only samples that took longer than its time so far count. */
function remaining(part: number, job: Job, durationsOf: DurationsOf, nowMs: number): number {
  const samples = durationsOf(job);
  if (job.startedAtMs === undefined) return START_MS + quantile(samples, part);
  const ranMs = Math.max(0, nowMs - job.startedAtMs);
  const longer = samples.filter((ms) => ms > ranMs);
  return longer.length === 0 ? ranMs * OVERTIME * part : quantile(longer, part) - ranMs;
}

function quantile(ascending: readonly number[], part: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * part))] ?? 0;
}

/** Returns keys by name, by repository and for all: the narrowest key comes first. */
function keysOf({ repository, name }: Job): readonly string[] {
  return [`${repository} ${name}`, repository, ''];
}
