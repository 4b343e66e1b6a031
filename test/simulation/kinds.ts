/**
 * Makes the kinds of histories from seeds. Kinds that add something to the afternoon or to the wide one are made here.
 */
import type { Limit } from '../../src/planner/evidence.ts';
import { LIMITED_BRANCHES } from './ceilings.ts';
import type { Act, GroupSpec, History, PodFate, Push, Settings, Trouble } from './history.ts';
import { DRAIN_S } from './history.ts';
import { makeCalmHistory, makeHistory } from './make-history.ts';
import { makeWideHistory } from './make-wide-history.ts';
import { Random } from './random.ts';
import { ELSEWHERE } from './stage.ts';

export const KINDS = {
  wide: makeWideHistory,
  ordinary: makeHistory,
  calm: makeCalmHistory,
  warm: makeWarmHistory,
  apart: makeApartHistory,
  mixed: makeMixedHistory,
  limited: (seed: number) => makeLimitedHistory(seed, {}),
  'limited-apart': (seed: number) => makeLimitedHistory(seed, { isApart: true }),
  'per-repository': (seed: number) => makeLimitedHistory(seed, { isPer: true }),
  renamed: makeRenamedHistory,
  held: makeHeldHistory,
  changed: makeChangedHistory,
  bound: makeBoundHistory,
  'bound-per-repository': (seed: number) => allBound(makeLimitedHistory(seed, { isPer: true })),
  'bound-beside': (seed: number) => withBound(makeLimitedHistory(seed, { isPer: true }), seed),
  'bound-per-branch': (seed: number) => withBound(withBranches(makeLimitedHistory(seed, { isPer: true }), seed), seed),
  sharded: makeShardedHistory,
  'per-branch': (seed: number) => withBranches(makeLimitedHistory(seed, { isPer: true }), seed),
} as const;
export type Kind = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];

const LARGEST_POOL = 4;

/** The wide one, whose groups keep pools. The measure, `exact`, keeps none, so the wait times of the two show what a pool buys. */
function makeWarmHistory(seed: number): History {
  const random = new Random(seed, 'warm');
  const base = makeWideHistory(seed);
  // The first group always has a pool, the others in half of all histories.
  const withPool = (group: GroupSpec, nth: number): GroupSpec =>
    nth === 0 || random.chance(0.5) ? { ...group, minIdle: Math.min(group.cap, random.whole(1, LARGEST_POOL)) } : group;
  return { ...base, groups: base.groups.map(withPool) };
}

/** The CI afternoon, in which CI jobs fail and runners of failed ones stay for a look. */
export function makeKeptHistory(seed: number): History {
  return withFailures(makeHistory(seed), new Random(seed + 1_000_000));
}

function withFailures(history: History, random: Random): History {
  const groups = history.groups.map(
    (group): GroupSpec => (random.chance(0.8) ? { ...group, keepFailedS: random.pick([20, 60, 180]) } : group),
  );
  const often = random.pick([0.05, 0.2, 0.5]);
  const pushes = history.pushes.map(
    (push): Push => ({ ...push, fails: Array.from({ length: 8 }, () => random.chance(often)) }),
  );
  return { ...history, groups, pushes };
}

/** The afternoon with three groups, of which each now and then cannot be looked at while the others can (docs/adr/0036). */
function makeApartHistory(seed: number): History {
  const random = new Random(seed, 'apart');
  const base = makeHistory(seed);
  const groups = threeGroups(base, random);
  return {
    ...base,
    groups,
    pushes: base.pushes.map((push) => relabelled(push, random)),
    troubles: [...base.troubles, ...makeGroupOutages(groups, random, base.patienceS - DRAIN_S)],
  };
}

/** Returns three groups with overlapping coverage: one takes some jobs of another, but not all. */
function threeGroups({ groups }: History, random: Random): readonly GroupSpec[] {
  const [org] = groups;
  if (!org) throw new Error('no group');
  return [
    org,
    {
      ...org,
      name: 'gpu',
      scope: { kind: 'repo', repo: 'acme/api' },
      labels: ['linux', 'gpu'],
      cap: random.whole(1, 3),
    },
    { ...org, name: 'all', scope: { kind: 'global' }, labels: ['linux', 'arm'], cap: random.whole(1, 4) },
  ];
}

/** Gives each job that asks for a label one that a group has. */
function relabelled(push: Push, random: Random): Push {
  const jobs = push.run.jobs.map((job) => {
    if (!job.runsOn || job.runsOn.length === 0) return job;
    const special = push.repo === 'acme/api' ? 'gpu' : 'arm';
    return { ...job, runsOn: [random.chance(0.25) ? special : 'linux'] };
  });
  return { ...push, run: { ...push.run, jobs } };
}

function makeGroupOutages(groups: readonly GroupSpec[], random: Random, arrivalsS: number): readonly Trouble[] {
  return Array.from({ length: random.whole(1, 3) }, (): Trouble => {
    const atS = random.seconds(0, arrivalsS);
    const { name } = random.pick(groups) as GroupSpec;
    return { kind: 'group-outage', group: name, atS, untilS: atS + random.whole(20, 900) };
  });
}

/** The warm one, in which runners of failed CI jobs also stay, and single groups cannot be looked at for a while. Each in half of all. */
function makeMixedHistory(seed: number): History {
  const random = new Random(seed, 'mixed');
  const base = withGroupChanges(makeWarmHistory(seed), seed);
  const history = random.chance(0.5) ? withFailures(base, random) : base;
  if (random.chance(0.5)) return history;
  const outages = makeGroupOutages(history.groups, random, base.patienceS - DRAIN_S);
  return { ...history, troubles: [...history.troubles, ...outages] };
}

/** The mixed one, in which nodes hang, somebody suspends Jobs, Gitea leaves CI jobs in progress, and some take longer than their runners may live. */
function makeHeldHistory(seed: number): History {
  const random = new Random(seed, 'held');
  const base = makeMixedHistory(seed);
  const often = random.pick([0.02, 0.1]);
  const pods = base.pods.map((fate): PodFate => {
    if (random.chance(often)) return { ...fate, start: 'hang' };
    const leaves = random.chance(often / 2) && { leavesJob: true as const };
    return { ...fate, ...leaves, ...(random.chance(often) && { suspendedS: random.whole(5, 7200) }) };
  });
  const lifeS = Math.min(...base.groups.map(({ activeDeadlineS }) => activeDeadlineS));
  const ciS = (each: number): number => (random.chance(0.01) ? lifeS + 600 : each);
  const pushes = base.pushes.map((push): Push => ({ ...push, ciS: push.ciS.map(ciS) }));
  return { ...base, pods, pushes, patienceS: base.patienceS + 2 * lifeS };
}

interface Limited {
  /** The first group has a limit per repository. */
  readonly isPer?: boolean;
  /** The other groups are of another Application. */
  readonly isApart?: boolean;
}

/** Wide and mixed ones in turn, whose first group has a large size, or whose groups share a limit. */
function makeLimitedHistory(seed: number, { isPer = false, isApart = false }: Limited): History {
  const random = new Random(seed, 'limited');
  const base = seed % 2 === 0 ? makeWideHistory(seed) : makeMixedHistory(seed);
  const [first, ...others] = base.groups;
  if (!first) return base;
  const weight = first.cap > 1 && random.chance(0.7) ? random.whole(2, Math.min(4, first.cap)) : 1;
  const perRepository: readonly Limit[] = isPer
    ? [{ key: 'ci per repository', most: random.whole(weight, weight + 2), per: 'repository' }]
    : [];
  const caps = base.groups.reduce((sum, { cap }) => sum + cap, 0);
  const shared: readonly Limit[] = random.chance(isApart ? 1 : 0.6)
    ? [{ key: 'limit team', name: 'team', most: random.whole(weight, Math.max(weight, caps - 1)) }]
    : [];
  const { minIdle, ...idle } = first;
  const own: GroupSpec = {
    ...idle,
    ...(minIdle !== undefined && !isPer && !isApart && { minIdle }),
    limits: [...perRepository, ...shared],
  };
  const large: GroupSpec = {
    ...idle,
    limits: own.limits ?? [],
    size: 'large',
    weight,
    labels: [...first.labels, 'large'],
  };
  const asksForLarge = (push: Push): Push => {
    const jobs = push.run.jobs.map((job) =>
      job.runsOn?.join() === 'linux' && random.chance(0.2) ? { ...job, runsOn: ['linux', 'large'] } : job,
    );
    return { ...push, run: { ...push.run, jobs } };
  };
  return {
    ...base,
    groups: [
      own,
      ...(weight > 1 ? [large] : []),
      // A pool does not give way to jobs of another Application, of which nobody there knows.
      ...others.map(({ minIdle: size = 0, ...other }) => ({
        ...other,
        ...(size > 0 && !isApart && { minIdle: size }),
        // Other Applications share a limit only for scopes of one owner (docs/adr/0079).
        ...(random.chance(isApart ? 1 : 0.7) && !(isApart && other.scope.kind === 'global') && { limits: shared }),
        ...(isApart && { application: 'other' }),
      })),
    ],
    pushes: weight > 1 ? base.pushes.map(asksForLarge) : base.pushes,
    // With fewer runners at a time, the same work takes longer.
    patienceS: base.patienceS * (weight + 1),
    // A size has no pool of its own. A group that moves to another owner shares no limit with those that stay
    // (docs/adr/0079).
    acts: base.acts.filter(({ kind }) => kind !== 'pool' && !(isApart && kind === 'move')),
  };
}

/**
 * Makes wide, mixed and limited ones in turn with renames in Gitea: one or two repositories, also one that is the scope
 * of a group, and up to twice their owner. The owner is an organization, or a user in a third of all histories.
 */
function makeRenamedHistory(seed: number): History {
  const random = new Random(seed, 'rename-owner');
  const make = random.pick([makeWideHistory, makeMixedHistory, (of: number) => makeLimitedHistory(of, {})]);
  const base = make(seed);
  const isUser = random.chance(1 / 3);
  const arrivalsS = Math.max(1, ...base.pushes.map(({ atS }) => atS));
  const name = isUser ? 'anna' : 'acme';
  const ofOwner = Array.from({ length: random.whole(0, 2) }, (): Act => {
    return { atS: random.seconds(0, arrivalsS), kind: isUser ? 'rename-user' : 'rename-org', name };
  });
  const ofRepos = Array.from({ length: random.whole(ofOwner.length === 0 ? 1 : 0, 2) }, (): Act => {
    const repo = random.pick(['acme/web', ...base.pushes.map((push) => push.repo)]);
    return { atS: random.seconds(0, arrivalsS), kind: 'rename-repo', repo };
  });
  const history = { ...base, acts: [...base.acts, ...ofOwner, ...ofRepos].sort(byTime) };
  // Everything that is of the organization is the user's then.
  const text = JSON.stringify(history).replaceAll('"acme/', '"anna/').replaceAll('"owner":"acme"', '"owner":"anna"');
  return isUser ? (JSON.parse(text) as History) : history;
}

/**
 * Wide, mixed and limited ones in turn, in which commits change settings of groups, people delete Jobs of runners, Argo CD is away for an
 * hour, and Gitea is restored twice. Each in half of all histories, or less.
 */
function makeChangedHistory(seed: number): History {
  const random = new Random(seed, 'changed');
  const make = random.pick([makeWideHistory, makeMixedHistory, (of: number) => makeLimitedHistory(of, {})]);
  const base = make(seed);
  const arrivalsS = Math.max(600, ...base.pushes.map(({ atS }) => atS));
  const times = (chance: number, most: number): readonly number[] =>
    Array.from({ length: random.chance(chance) ? random.whole(1, most) : 0 }, () => random.seconds(10, arrivalsS));
  const { name: group } = random.pick(base.groups);
  const changes = times(0.5, 3).map((atS): Act => ({ atS, kind: 'settings', group, settings: anySettings(random) }));
  // Each suspension ends.
  const pauses = times(0.3, 1).flatMap((atS): readonly Act[] =>
    [true, false].map((suspend) => {
      return { atS: atS + (suspend ? 0 : random.whole(5, 1800)), kind: 'settings', group, settings: { suspend } };
    }),
  );
  const deletes = times(0.5, 8).map((atS): Act => ({ atS, kind: 'delete-job', pod: random.whole(0, 40) }));
  const restores = times(0.2, 1).flatMap((backupS): readonly Act[] => {
    const atS = backupS + random.whole(10, 600);
    const again = random.pick([backupS, Math.max(0, backupS - 60), atS + 5, (backupS + atS) / 2]);
    return [
      { atS, kind: 'restore', backupS },
      { atS: atS + random.whole(10, 600), kind: 'restore', backupS: again },
    ];
  });
  const away = times(0.3, 1).map((atS): Trouble => ({ kind: 'argo-away', atS, untilS: atS + 3600 }));
  return {
    ...base,
    acts: [...base.acts, ...changes, ...pauses, ...deletes, ...restores].sort(byTime),
    troubles: [...base.troubles, ...away],
    // A cap of 1 takes its time.
    patienceS: base.patienceS * (changes.length > 0 ? 3 : 1) + 7200,
  };
}

function anySettings(random: Random): Settings {
  return random.pick<Settings>([
    { cap: random.whole(1, 6) },
    { most: random.whole(1, 6) },
    { fairness: random.pick(['oldest', 'per-repository'] as const) },
    { label: 'extra' },
  ]);
}

/** Wide, mixed and renamed ones in turn, whose first group, and most of the others, have bound runners. */
function makeBoundHistory(seed: number): History {
  const random = new Random(seed, 'bound');
  return withBound(random.pick([makeWideHistory, makeMixedHistory, makeRenamedHistory])(seed), seed, false);
}

/** Every group is bound, and keeps its name in git. */
function allBound(history: History): History {
  const groups = history.groups.map(({ minIdle: _, ...group }): GroupSpec => ({ ...group, isBound: true }));
  return { ...history, groups, acts: history.acts.filter(({ kind }) => !NOT_ALL_BOUND.has(kind)) };
}

const NOT_ALL_BOUND: ReadonlySet<Act['kind']> = new Set(['pool', 'rename', 'rollback']);

/**
 * Makes groups bound. Bound groups have no pools. If repositories differ, the first group has an order in a third of
 * all histories, is fair in a third, and is for some repositories in a fifth.
 */
function withBound(history: History, seed: number, areAlike = true): History {
  const random = new Random(seed, 'bound-groups');
  const [first] = history.groups;
  const namesOf = ['web', ...history.pushes.map(({ repo }) => repo.split('/')[1] ?? '')];
  const some: Partial<GroupSpec> = areAlike
    ? {}
    : {
        ...(random.chance(1 / 3) && { order: [random.pick(namesOf), '*'] }),
        ...(random.chance(1 / 3) && { fairness: 'per-repository' as const }),
        ...(random.chance(0.2) && { repositories: [...new Set([random.pick(namesOf), random.pick(namesOf)])] }),
      };
  const groups = history.groups.map(({ minIdle, ...group }): GroupSpec => {
    if (group.name === first?.name) return { ...group, ...some, isBound: true };
    if (random.chance(0.8)) return { ...group, isBound: true };
    return { ...group, ...(minIdle !== undefined && { minIdle }) };
  });
  return { ...history, groups, acts: history.acts.filter(({ kind }) => kind !== 'pool') };
}

/** The limits per repository are for some branches, all repositories together in half of all histories. Some jobs are on no branch. */
function withBranches(history: History, seed: number): History {
  const random = new Random(seed, 'branches');
  const isPer = random.chance(0.5);
  const ofBranches = ({ per, ...limit }: Limit): Limit =>
    per ? { ...limit, branches: LIMITED_BRANCHES, ...(isPer && { per }) } : { ...limit };
  const pushes = history.pushes.map((push): Push => {
    const branch = random.pick(['main', 'release/1', 'release/2', 'fix/a', 'fix/b', '']);
    return { ...push, run: { ...push.run, branch } };
  });
  const groups = history.groups.map((group) => ({
    ...group,
    ...(group.limits && { limits: group.limits.map(ofBranches) }),
  }));
  return { ...history, pushes, groups };
}

/**
 * Adds changes of groups: one moves, with half of its people; a pool gets another size. Each in a tenth of all
 * histories.
 */
function withGroupChanges(history: History, seed: number): History {
  const arrivalsS = Math.max(0, ...history.pushes.map(({ atS }) => atS));
  const [first] = history.groups;
  if (!first) return history;
  const pool = new Random(seed, 'pool');
  const size: readonly Act[] = pool.chance(0.1)
    ? [{ atS: pool.seconds(0, arrivalsS), kind: 'pool', group: first.name, minIdle: pool.whole(0, LARGEST_POOL) }]
    : [];
  const random = new Random(seed, 'move');
  const acts = [...history.acts, ...size];
  if (!random.chance(0.1)) return { ...history, acts: acts.sort(byTime) };
  const atS = random.seconds(0, arrivalsS);
  const pushes = history.pushes.map((push) =>
    push.atS > atS && random.chance(0.5) ? { ...push, repo: `${ELSEWHERE}/app` } : push,
  );
  return { ...history, pushes, acts: [...acts, { atS, kind: 'move' as const, group: first.name }].sort(byTime) };
}

/**
 * Makes wide, mixed and limited ones in turn, printed by 1 to 40 Applications. In half of them the number changes: 4,
 * 7, 3. In half of them one or two are broken for up to half an hour.
 */
function makeShardedHistory(seed: number): History {
  const random = new Random(seed, 'sharded');
  const make = random.pick([makeWideHistory, makeMixedHistory, (of: number) => makeLimitedHistory(of, {})]);
  const base = make(seed);
  const arrivalsS = Math.max(600, ...base.pushes.map(({ atS }) => atS));
  const [first, second] = [random.seconds(0, arrivalsS), random.seconds(0, arrivalsS)].sort((a, b) => a - b);
  const changes = [
    { atS: 0, of: 4 },
    { atS: first ?? 0, of: 7 },
    { atS: second ?? 0, of: 3 },
  ];
  // Forty take as long as forty histories.
  const of = random.chance(0.02) ? 40 : random.pick([1, 2, 3, 5, 8]);
  const shards = random.chance(0.5) ? changes : [{ atS: 0, of }];
  const broken = Array.from({ length: random.chance(0.5) ? random.whole(1, 2) : 0 }, (): Trouble => {
    const atS = random.seconds(0, arrivalsS);
    return { kind: 'shard-broken', shard: random.whole(0, 4), atS, untilS: atS + random.whole(30, 1800) };
  });
  return {
    ...{ ...base, shards, troubles: [...base.troubles, ...broken] },
    // A job may wait for the next ordinal, and for the next.
    patienceS: base.patienceS + DRAIN_S,
  };
}

function byTime(a: Act, b: Act): number {
  return a.atS - b.atS;
}
