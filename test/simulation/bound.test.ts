/** Bound runners in the simulation: what they are for, beside the same history with runners that serve the whole scope (docs/adr/0084). */
import { describe, expect, it } from 'vitest';
import type { Limit } from '../../src/planner/evidence.ts';
import { type GroupSpec, groupSpec, type History, job, type Push, quietHistory } from './history.ts';
import { POLICIES } from './policies/index.ts';
import { type Outcome, runHistory } from './run.ts';

const BOUND = { isBound: true } as const;
const ONE_EACH: readonly Limit[] = [{ key: 'ci per repository', most: 1, per: 'repository' }];
const MINUTES = 60_000;

/** Makes so many jobs at once, of one minute each. */
const flood = (repo: string, jobs: number, atS = 1): readonly Push[] =>
  Array.from({ length: jobs }, (): Push => ({ atS, repo, run: { jobs: [job('build')] }, ciS: [60] }));

function run(group: Partial<GroupSpec>, pushes: readonly Push[], over: Partial<History> = {}): Outcome {
  const outcome = runHistory(
    quietHistory({ groups: [groupSpec(group)], pushes, ...over }),
    POLICIES['ours, live Jobs'],
  );
  expect(outcome.breaches).toEqual([]);
  return outcome;
}

/** The longest wait of the jobs from the nth one on, in the order in which they were pushed. */
const longestMs = ({ waitMsOf }: Outcome, first: number, last = Number.POSITIVE_INFINITY): number =>
  Math.max(...[...waitMsOf].sort(([a], [b]) => a - b).flatMap(([, ms], nth) => (nth >= first && nth < last ? ms : [])));

describe('P38 a limit per repository of a bound group is exact, and nobody else waits', () => {
  const pushes = [...flood('acme/web', 8), ...flood('acme/api', 2, 2)];

  it('jobs of others do not wait while jobs of a repository without room do', () => {
    const bound = run({ ...BOUND, cap: 4, limits: ONE_EACH }, pushes);

    expect(bound.overRepository).toBe(0);
    expect(longestMs(bound, 8, 9)).toBeLessThan(0.5 * MINUTES);
    expect(bound.needless).toBe(0);
  });

  it('a runner of the whole scope lets others wait behind a repository without room', () => {
    const unbound = run({ cap: 4, limits: ONE_EACH }, pushes);

    expect(longestMs(unbound, 8, 9)).toBeGreaterThan(5 * MINUTES);
  });

  it('the limit is exact also where the repository gets another name meanwhile', () => {
    const acts = [20, 80].map((atS) => ({
      atS,
      kind: 'rename-repo' as const,
      repo: atS === 20 ? 'acme/web' : 'acme/api',
    }));
    const renamed = run({ ...BOUND, cap: 4, limits: ONE_EACH }, pushes, { acts });

    expect(renamed.overRepository).toBe(0);
    expect(renamed.waitsMs).toHaveLength(10);
    expect(renamed.needless).toBe(0);
  });
});

describe('P39 with bound runners the turns are real', () => {
  // docs/adr/0017: with runners of the whole scope the two begin after 252 and 292 s, with turns and without.
  const pushes = [...flood('acme/web', 20), ...flood('acme/api', 2, 2)];

  it('turns are real with bound runners: the repository that comes a second later need not wait for all', () => {
    const fair = run({ ...BOUND, cap: 3, fairness: 'per-repository' }, pushes);

    expect(longestMs(fair, 20)).toBeLessThan(2.5 * MINUTES);
  });

  it.each([{}, { fairness: 'per-repository' as const }])(
    'turns are not real with runners of the whole scope: %j',
    (over) => {
      expect(longestMs(run({ cap: 3, ...over }, pushes), 20)).toBeGreaterThan(6 * MINUTES);
    },
  );
});

describe('P40 the order decides who comes first, and nobody waits for ever', () => {
  // Two places, and more than two places of work for the first repository all the time.
  const steady = Array.from({ length: 45 }, (_, nth) => flood('acme/infra', 2, 1 + nth * 55)).flat();
  const group = { ...BOUND, cap: 2, order: ['infra', '*'] };

  it('the plan serves the repository at the end half an hour after it began to wait', () => {
    const pushes = [...flood('acme/web', 1, 2), ...steady];
    const outcome = run(group, pushes, { patienceS: 10_000 });

    expect(longestMs(outcome, 2, 3)).toBeGreaterThan(29 * MINUTES);
    expect(longestMs(outcome, 2, 3)).toBeLessThan(33 * MINUTES);
  });

  it('the plan serves the first repository before older jobs of the others', () => {
    const outcome = run({ ...group, cap: 1 }, [...flood('acme/web', 10), ...flood('acme/infra', 1, 2)]);

    expect(longestMs(outcome, 10)).toBeLessThan(1.5 * MINUTES);
    expect(longestMs(outcome, 0, 10)).toBeGreaterThan(10 * MINUTES);
  });
});

it('P41 repositories are chosen by name others get no runner', () => {
  const groups = [groupSpec({ ...BOUND, repositories: ['web'] }), groupSpec({ name: 'rest', cap: 1 })];
  const pushes = [...flood('acme/web', 3), ...flood('acme/api', 2)];
  const { pods, breaches } = runHistory(quietHistory({ groups, pushes }), POLICIES['ours, live Jobs']);

  expect(breaches).toEqual([]);
  expect(pods.map(({ group, boundTo }) => [group.name, boundTo]).sort()).toEqual([
    ...Array(3).fill(['ci', 'acme/web']),
    ...Array(2).fill(['rest', undefined]),
  ]);
});
