/** Bars of our planner by kind of history, as docs/planner.md promises them. */
import type { Kind } from './kinds.ts';
import { OURS, type PolicyName } from './policies/index.ts';
import type { Figures } from './tally.ts';

/** The most that a figure may be. */
type Bars = Partial<Figures>;

/** Bars for every kind of history. */
const ALWAYS: Bars = { killedAtDefault: 0, overCap: 0, doubleSpawns: 0, neverServed: 0, gaps: 0, beyondLimit: 0.05 };

const BARS: Readonly<Record<Kind, Readonly<Partial<Record<PolicyName, Bars>>>>> = {
  // Groups are renamed and moved, commits rolled back: the exact policy has 1.35 here, and 1.3 in mixed ones.
  wide: {
    'ours, live Jobs': { prunedAtWork: 1.2, p99: 1.02, later: 2, needless: 1.5 },
    'ours, Gitea alone': { p99: 1.05, needless: 5 },
  },
  ordinary: {
    'ours, live Jobs': { prunedAtWork: 1, p99: 1.02, later: 2, needless: 1.2 },
    'ours, Gitea alone': { p99: 1.05, needless: 4 },
  },
  warm: {
    'ours, live Jobs': { prunedAtWork: 1, p99: 1.02, later: 4, needless: 2, needlessWarm: 2 },
    'ours, Gitea alone': { p99: 1.05, needless: 15, needlessWarm: 10 },
  },
  /** The time in which a group cannot be seen decides how long its jobs wait. */
  apart: {},
  mixed: { 'ours, live Jobs': { prunedAtWork: 1.2, p99: 1.02, needless: 2, needlessWarm: 2 } },
  limited: { 'ours, live Jobs': { prunedAtWork: 1.2, p99: 1.02, needless: 3, needlessWarm: 2 } },
  /** The first Application to take a slot decides how long a job waits: each Application knows its own jobs only. */
  'limited-apart': {},
  /** Only Gitea knows which jobs free runners get, and that decides how long others wait. */
  'per-repository': {},
  'per-branch': {},
  /** Order and turns decide how long a job waits: exact knows neither. */
  bound: { 'ours, live Jobs': { prunedAtWork: 1.5, needless: 3, beyondLimit: 0 } },
  /** A bound runner gets jobs of its repository only: nobody else waits, and no limit is ever passed (law P38). */
  'bound-per-repository': { 'ours, live Jobs': { prunedAtWork: 1.5, p99: 1.02, needless: 3, beyondLimit: 0 } },
  /**
   * Groups that are not bound, and RunnerGroups that are renamed in git. Both cost waiting: p99 was 1.15 of exact with
   * either, in 120 histories. A runner that claims in the second in which its group is renamed counts nowhere
   * (docs/limits.md).
   */
  'bound-beside': { 'ours, live Jobs': { prunedAtWork: 1.5, needless: 3, beyondLimit: 0.05 } },
  'bound-per-branch': { 'ours, live Jobs': { beyondLimit: 0 } },
  /** The time of a low cap, a suspended group or an absent Argo CD decides how long jobs wait. */
  changed: {},
  /** Histories of three kinds: the bars of each hold where names stay. */
  renamed: { 'ours, live Jobs': { prunedAtWork: 1.5, p99: 1.05, needless: 3, needlessWarm: 2 } },
  /** The time in which a pod hangs or is suspended decides how long its job waits. */
  held: {},
  /** The shard of a job, and the time for which it is broken, decide how long the job waits. */
  sharded: { 'ours, live Jobs': { prunedAtWork: 1.5, needless: 2, needlessWarm: 2 } },
  calm: {
    'ours, live Jobs': { prunedAtWork: 0.1, p99: 1.01, later: 1, needless: 0.5 },
    'ours, Gitea alone': { p99: 1.01, needless: 1.5 },
  },
};

const SIGHTED: readonly Kind[] = [
  'mixed',
  'held',
  'sharded',
  'limited',
  'renamed',
  'changed',
  'limited-apart',
  'bound',
  'bound-per-repository',
  'bound-beside',
  'bound-per-branch',
  'per-repository',
  'per-branch',
];

/**
 * Returns the policies for these bars. Kept runners, sizes and limits require Kubernetes: `generate` refuses them
 * without it (GR-INPUT-92).
 */
export function judgedIn(kind: Kind): readonly PolicyName[] {
  return SIGHTED.includes(kind) ? ['ours, live Jobs'] : OURS;
}

/**
 * The bars that are missed, in words. A bar of 0 is a law: one case breaks it.
 * @param least what chance leaves of the figures (`interval.ts`): bars of cost are missed by more than chance
 */
export function missedBars(kind: Kind, policy: PolicyName, figures: Figures, least = figures): readonly string[] {
  const bars = { ...ALWAYS, ...BARS[kind][policy] };
  return (Object.keys(bars) as (keyof Figures)[]).flatMap((name) => {
    const most = bars[name];
    if (most === undefined || (most === 0 ? figures : least)[name] <= most) return [];
    return `${policy}, ${kind} histories: ${name} is ${figures[name].toFixed(3)}, at most ${most} is promised`;
  });
}
