/** Three groups, each of which cannot be looked at for a while (docs/adr/0036). `SIM_HISTORIES=1000` runs more. */
import { describe, expect, it } from 'vitest';
import { groupSpec, job, push, quietHistory } from './history.ts';
import { KINDS } from './kinds.ts';
import { OURS, POLICIES } from './policies/index.ts';
import type { Generator } from './policies/policy.ts';
import { describeBreach } from './report.ts';
import { runHistory } from './run.ts';

const SEEDS = Array.from({ length: Number(process.env['SIM_HISTORIES'] ?? 10) }, (_, index) => index + 1);

describe.each(OURS)('%s', (policy) => {
  it('keeps every law in apart histories, and kills no runner', () => {
    for (const seed of SEEDS) {
      const history = KINDS.apart(seed);
      const { breaches, killed } = runHistory(history, POLICIES[policy]);
      const [breach] = breaches;

      expect(breach && describeBreach(history, policy, breach, { kind: 'apart', seed })).toBeUndefined();
      expect(killed).toBe(0);
    }
  });
});

describe('while the Gitea of one group is down for an hour', () => {
  const repos = ['acme/api', 'acme/web'];
  const groups = repos.map((repo) => groupSpec({ name: repo.slice(5), scope: { kind: 'repo', repo } }));
  const outage = { kind: 'group-outage', group: 'api', atS: 60, untilS: 3660 } as const;
  const [api, web] = repos.map((repo) => ({ repo }));
  const pushes = [
    { ...push(10, [600]), ...api },
    { ...push(100, [30]), ...web },
    { ...push(110, [30]), ...api },
  ];
  const history = quietHistory({ groups, pushes, troubles: [outage] });

  it('the jobs of the other one get their runners as ever, and nothing is killed', () => {
    const { pods, waitMsOf, breaches } = runHistory(history, POLICIES['ours, live Jobs']);
    const waitsS = [...waitMsOf.values()].map((ms) => Math.round(ms / 1000));

    expect(breaches).toEqual([]);
    expect(pods.map(({ end }) => end)).toEqual(['done', 'done', 'done']);
    expect(pods.every(({ closeCall }) => !closeCall)).toBe(true);
    expect(waitsS.filter((seconds) => seconds < 30)).toHaveLength(2);
    expect(waitsS.filter((seconds) => seconds > 3500 && seconds < 3600)).toHaveLength(1);
  });

  it('jobs of both groups wait while the Gitea of one is down and Kubernetes is not seen', () => {
    const { waitsMs } = runHistory(history, POLICIES['ours, Gitea alone']);

    expect(waitsMs.filter((ms) => ms > 3_500_000)).toHaveLength(2);
  });
});

const tooMany: Generator = {
  kind: 'generator',
  seesPods: true,
  decide: (_stage, _cluster, { groups }) =>
    groups.flatMap((group) => ['api-1', 'api-2'].map((name) => ({ name, group, pinned: false, madeFor: undefined }))),
};
const capsBroken = (untilS: number): number => {
  const history = quietHistory({
    groups: [groupSpec({ name: 'api', scope: { kind: 'repo', repo: 'acme/api' }, cap: 1 })],
    pushes: [{ ...push(10, [30], { ...job('build'), runsOn: ['windows'] }), repo: 'acme/api' }],
    troubles: [{ kind: 'group-outage', group: 'api', atS: 0, untilS }],
  });
  return runHistory(history, tooMany).breaches.filter(({ law }) => law === 'cap').length;
};

it('more runners than the cap allows are no breach while nobody can look at the group', () => {
  expect(capsBroken(3600)).toBe(0);
});

it('more runners than the cap allows are one at the first sync that could', () => {
  expect(capsBroken(8)).toBe(1);
});
