/** Makes a history from a seed: a CI afternoon with its troubles. Same seed, same history. */
import type { JobSpec, RunSpec } from '../../simulator/gitea/queue.ts';
import type { Act, GroupSpec, History, PodFate, Push, Trouble, Wake, WakeFault } from './history.ts';
import { DRAIN_S, groupSpec, quietHistory } from './history.ts';
import { Random } from './random.ts';

const REPOS = ['acme/web', 'acme/api', 'acme/docs'];
const FAULTS: readonly WakeFault[] = [
  'lost',
  'refresh-fails',
  'no-sync',
  'stale-sync',
  'sync-fails',
  'prunes-only',
  'partial',
];

export function makeHistory(seed: number): History {
  const random = new Random(seed);
  const gitea = random.pick(['1.27.3', '1.27.3', '1.26.0', '1.25.4'] as const);
  const arrivalsS = random.whole(300, 1500);
  const groups = makeGroups(random);
  const pushes = makePushes(random, arrivalsS, gitea === '1.27.3', groups);
  const troubled = random.chance(0.7);
  return quietHistory({
    seed,
    gitea,
    pageSize: random.pick([10, 50, 50, 50]),
    database: random.pick(['by-id', 'shuffled']),
    groups,
    pushes,
    acts: makeActs(random, pushes, arrivalsS),
    pods: Array.from({ length: 150 }, () => makeFate(random, troubled)),
    troubles: troubled ? makeTroubles(random, arrivalsS) : [],
    wakes: makeWakes(random, arrivalsS * 1.5, troubled),
    wakeEveryS: random.pick([3, 5, 5, 10]),
    syncsOverlap: random.chance(0.2),
    silence: random.pick([0, 0.1, 0.4]),
    claimLoss: troubled ? random.pick([0, 0, 0.02]) : 0,
    patienceS: arrivalsS + DRAIN_S,
  });
}

/** Makes an afternoon with one group and without troubles: only needs, matrices, slow pods and late looks are left. */
export function makeCalmHistory(seed: number): History {
  const history = makeHistory(seed);
  return {
    ...history,
    groups: history.groups.slice(0, 1),
    acts: history.acts.filter(({ kind }) => kind === 'approve'),
    pods: history.pods.map(({ startS }) => ({ startS })),
    troubles: [],
    wakes: history.wakes.map(({ fault: _, ...wake }) => wake),
    syncsOverlap: false,
    claimLoss: 0,
  };
}

function makeGroups(random: Random): readonly GroupSpec[] {
  const limits = { ttlS: random.pick([60, 600, 600]), activeDeadlineS: random.pick([3600, 21_600]) };
  const org = groupSpec({ ...limits, cap: random.whole(2, 8) });
  if (random.chance(0.6)) return [org];
  const others = [
    groupSpec({ ...limits, name: 'gpu', labels: ['linux', 'gpu'], cap: random.whole(1, 3) }),
    groupSpec({ ...limits, name: 'web', scope: { kind: 'repo', repo: 'acme/web' }, cap: random.whole(1, 4) }),
    groupSpec({ ...limits, name: 'all', scope: { kind: 'global' }, labels: ['linux', 'arm'], cap: random.whole(1, 4) }),
  ];
  return [org, ...others.filter(() => random.chance(0.5))];
}

function makePushes(random: Random, arrivalsS: number, callers: boolean, groups: readonly GroupSpec[]): Push[] {
  const pushes: Push[] = [];
  const meanS = random.whole(300, 900) / groups.reduce((sum, { cap }) => sum + cap, 0);
  const burst = random.chance(0.2);
  const labels = [...new Set(groups.flatMap((group) => group.labels))];
  for (
    let atS = random.gap(meanS);
    atS < arrivalsS && pushes.length < 25;
    atS += burst ? random.gap(3) : random.gap(meanS)
  ) {
    const run = makeRun(random, callers, labels);
    const ciS = Array.from({ length: 8 }, () =>
      random.chance(0.03) ? random.seconds(200, 900) : random.seconds(3, 110),
    );
    pushes.push({ atS: Math.round(atS * 1000) / 1000, repo: random.pick(REPOS), run, ciS });
  }
  return pushes;
}

function makeRun(random: Random, callers: boolean, labels: readonly string[]): RunSpec {
  const runsOn = (): string[] =>
    random.chance(0.8) ? ['linux'] : ['linux', random.pick(labels)].slice(random.whole(0, 1));
  const job = (key: string, ...needs: string[]): JobSpec => ({ key, runsOn: runsOn(), needs });
  const shapes: readonly (() => readonly JobSpec[])[] = [
    () => [job('build')],
    () => [job('build'), job('after', 'build')],
    () => [job('build'), job('t1', 'build'), job('t2', 'build'), job('t3', 'build'), job('deploy', 't1', 't2', 't3')],
    () => [job('lint'), job('unit'), job('e2e'), { ...job('pack', 'lint', 'unit', 'e2e'), always: random.chance(0.3) }],
    () => [{ ...job('test'), matrix: Array.from({ length: random.whole(2, 8) }, (_, leg) => String(leg)) }],
    () => [job('build'), { ...job('test', 'build'), matrix: ['a', 'b', 'c'] }, job('publish', 'test')],
    () => [{ ...job('odd'), runsOn: random.pick([[], ['windows'], null]) }, job('even')],
  ];
  const called = (): readonly JobSpec[] => [
    { key: 'shared', ...(random.chance(0.3) && { runsOn: ['linux'] }), calls: [job('one'), job('two', 'one')] },
    job('rest'),
  ];
  const jobs = callers && random.chance(0.1) ? called() : random.pick(shapes)();
  return { jobs, ...(random.chance(0.03) && { needsApproval: true }) };
}

function makeActs(random: Random, pushes: readonly Push[], arrivalsS: number): Act[] {
  const acts: Act[] = [];
  pushes.forEach(({ atS, run }, push) => {
    const later = (least: number, most: number): number =>
      Math.round((atS + random.seconds(least, most)) * 1000) / 1000;
    if (run.needsApproval) acts.push({ atS: later(5, 300), kind: 'approve', push });
    if (random.chance(0.05)) acts.push({ atS: later(0, 120), kind: 'cancel-run', push });
    if (random.chance(0.05)) acts.push({ atS: later(0, 120), kind: 'cancel-job', push, position: random.whole(0, 3) });
    if (random.chance(0.1)) acts.push({ atS: later(60, 900), kind: 'rerun', push });
  });
  if (random.chance(0.2)) acts.push({ atS: random.seconds(0, arrivalsS), kind: 'clean-up' });
  if (random.chance(0.1)) acts.push({ atS: random.seconds(0, arrivalsS), kind: 'new-template' });
  return acts.sort((a, b) => a.atS - b.atS);
}

function makeFate(random: Random, troubled: boolean): PodFate {
  const startS = random.chance(0.1) ? random.seconds(5, 185) : random.seconds(5, 35);
  if (!troubled) return { startS };
  if (random.chance(0.02)) return { startS, start: 'crash' };
  if (random.chance(0.01)) return { startS, start: 'image' };
  if (random.chance(0.01)) return { startS, evictedAfterS: random.seconds(1, 120) };
  return { startS };
}

/** Returns begin and end of a trouble that lasts from `leastS` to `mostS`. */
export function lasting(random: Random, arrivalsS: number, leastS: number, mostS: number) {
  const atS = random.seconds(0, arrivalsS);
  return { atS, untilS: atS + random.whole(leastS, mostS) };
}

function makeTroubles(random: Random, arrivalsS: number): Trouble[] {
  const troubles: Trouble[] = [];
  if (random.chance(0.15)) troubles.push({ kind: 'quota', ...lasting(random, arrivalsS, 20, 240) });
  if (random.chance(0.1)) {
    troubles.push({ kind: 'node-loss', atS: random.seconds(0, arrivalsS), node: random.pick([0, 1, 2] as const) });
  }
  return troubles;
}

function makeWakes(random: Random, untilS: number, troubled: boolean): Wake[] {
  const wakes: Wake[] = [];
  const everyS = random.pick([2, 5, 5, 8]);
  for (let atS = random.seconds(0, everyS); atS < untilS; atS += everyS * random.seconds(0.6, 1.4)) {
    const slow = random.chance(0.05);
    wakes.push({
      atS: Math.round(atS * 1000) / 1000,
      lookS: slow ? random.seconds(1, 8) : random.seconds(0.05, 0.8),
      syncAfterS: random.chance(0.05) ? random.seconds(1, 20) : random.seconds(0.1, 1),
      stepS: random.chance(0.05) ? random.seconds(1, 5) : random.seconds(0.05, 0.5),
      ...(troubled && random.chance(0.08) && { fault: random.pick(FAULTS) }),
    });
  }
  return wakes;
}
