/** Two Applications under one limit: it is passed for two syncs of each at most (law P35). `SIM_HISTORIES=1000` runs more. */
import { expect, it } from 'vitest';
import { groupSpec, quietHistory } from './history.ts';
import { KINDS } from './kinds.ts';
import { POLICIES } from './policies/index.ts';
import type { Generator } from './policies/policy.ts';
import { describeBreach } from './report.ts';
import { runHistory } from './run.ts';

/** The first two passed the limit by the rule before ADR 79, for minutes. */
const FOUND = [920_013, 920_018];
const SEEDS = Array.from({ length: Number(process.env['SIM_HISTORIES'] ?? 1) }, (_, index) => 920_021 + index);

it.each([...FOUND, ...SEEDS])('two Applications that share a limit keep every law in history %i', (seed) => {
  const history = KINDS['limited-apart'](seed);
  const { breaches } = runHistory(history, POLICIES['ours, live Jobs']);
  const [breach] = breaches;

  expect(breach && describeBreach(history, 'ours, live Jobs', breach, { kind: 'limited-apart', seed })).toBeUndefined();
});

it('two Applications that share a limit are told of a limit that stays passed, after the second sync of both', () => {
  const limits = [{ key: 'limit team', name: 'team', most: 1 }];
  const groups = ['one', 'two'].map((name) => groupSpec({ name, application: name, limits }));
  const stubborn = (untilSync: number): Generator => {
    const syncs = new Map<string, number>();
    return {
      kind: 'generator',
      seesPods: true,
      decide: (_stage, _cluster, { groups: own }) =>
        own.flatMap((group) => {
          const nth = (syncs.get(group.name) ?? 0) + 1;
          syncs.set(group.name, nth);
          if (nth > untilSync && group.name === 'two') return [];
          return [{ name: `${group.name}-1`, group, pinned: false, madeFor: undefined }];
        }),
    };
  };
  const lawsBroken = (untilSync: number) =>
    runHistory(quietHistory({ groups, patienceS: 120 }), stubborn(untilSync)).breaches.filter(
      ({ law }) => law === 'cap',
    ).length;

  expect(lawsBroken(2)).toBe(0);
  expect(lawsBroken(100)).toBeGreaterThan(0);
});
