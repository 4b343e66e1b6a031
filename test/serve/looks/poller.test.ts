/** Many targets at one Gitea: none delays the others. Real requests. */

import { expect, test } from 'vitest';
import type { GiteaTarget } from '../../../src/clients/gitea/observe-gitea.ts';
import type { PollerOptions } from '../../../src/serve/looks/poller.ts';
import { fakeGitea, json } from '../../support/gitea-stand-in.ts';
import { targetOf } from '../../support/looking.ts';
import { until } from '../rig.ts';
import { openPoller } from './open-poller.ts';

function start(over: Partial<PollerOptions> = {}) {
  const looked = new Map<string, number>();
  const onLook = ({ key }: GiteaTarget) => looked.set(key, (looked.get(key) ?? 0) + 1);
  return { ...openPoller({ pollMs: 20, onLook, ...over }), looked };
}

/** Targets of groups of one namespace. */
const inOne = (targets: readonly GiteaTarget[]) => new Map(targets.map((target) => [target, new Set(['runners'])]));

const repos = (url: string, count: number): readonly GiteaTarget[] =>
  Array.from({ length: count }, (_, index) =>
    targetOf(url, { kind: 'repo', owner: 'acme', repo: `r${index}` }, `r${index}`),
  );

test('all targets together ask no more than 20 requests a second, and it is told when looks come late', async () => {
  const gitea = await fakeGitea();
  const late = new Set<string>();
  const { poller, looked } = start({
    tell: (event) => {
      if (event.is === 'visit-waited' && event.lateScopes !== undefined)
        late.add(`${event.origin} ${event.lateScopes}`);
    },
  });
  const began = performance.now();

  poller.watch(inOne(repos(gitea.url, 60)));
  await until('everything was looked at', () => looked.size === 60);
  await until('looks come late', () => late.size > 0);
  await new Promise((resolve) => setTimeout(resolve, 500));

  // The first look of each, what may be saved for a burst, the rate, and the version.
  const seconds = (performance.now() - began) / 1000;
  expect(gitea.seen.length).toBeLessThanOrEqual(60 + 100 + 20 * seconds + 1);
  expect([...late]).toEqual([`${gitea.origin} 60`]);
});

test('a user with hundreds of repositories does not keep another target waiting', async () => {
  const rows = Array.from({ length: 400 }, (_, index) => ({
    name: `r${index}`,
    owner: { login: 'many' },
    empty: false,
    has_actions: true,
  }));
  const arrived: string[] = [];
  const gitea = await fakeGitea({
    repos: rows,
    intercept: ({ path }, response) => {
      arrived.push(path);
      if (!path.startsWith('/api/v1/repos/many/')) return false;
      setTimeout(() => json(response, { jobs: [], total_count: 0 }), 20);
      return true;
    },
  });
  const { poller, looked } = start();
  const isSmall = (path: string): boolean => path.startsWith('/api/v1/orgs/acme/');

  poller.watch(inOne([targetOf(gitea.url, { kind: 'user', user: 'many' }, 'many')]));
  await until(
    'the big look asks repositories',
    () => arrived.filter((path) => path.includes('/repos/many/')).length > 20,
  );
  poller.watch(
    inOne([
      targetOf(gitea.url, { kind: 'user', user: 'many' }, 'many'),
      targetOf(gitea.url, { kind: 'org', org: 'acme' }, 'small'),
    ]),
  );
  const from = arrived.length;
  await until('the small look is done', () => looked.has('small'));

  // Eight requests were under way, and then it was its turn.
  expect(arrived.findIndex(isSmall) - from).toBeLessThanOrEqual(9);
  expect(looked.has('many')).toBe(false);
});

test('a change that is told during a look is looked at when that look has ended', async () => {
  const asked = { first: true };
  const gitea = await fakeGitea({
    intercept: () => {
      if (asked.first) poller.nudge(() => true);
      asked.first = false;
      return false;
    },
  });
  const { poller, looked } = start({ pollMs: 600_000 });
  poller.watch(inOne(repos(gitea.url, 1)));

  await until('it was looked at once more', () => looked.get('r0') === 2);
});

test('a person who asks has a look at once, also after one that failed', async () => {
  let isDown = true;
  const gitea = await fakeGitea({
    intercept: (_, response) => {
      if (isDown) json(response, {}, 500);
      return isDown;
    },
  });
  const found: unknown[] = [];
  const { poller } = start({ pollMs: 600_000, onLook: (_, { failure }) => found.push(failure?.kind) });
  const targets = repos(gitea.url, 1);

  poller.watch(inOne(targets));
  await until('the first look', () => found.length === 1);
  isDown = false;
  poller.demand(new Set(targets));
  await until('another look', () => found.length === 2);

  expect(found).toEqual(['server-error', undefined]);
});

test('a scope is looked at again at once when its groups have other labels, because a look keeps those of groups', async () => {
  const gitea = await fakeGitea();
  const { poller, looked } = start({ pollMs: 3_600_000 });
  const [target] = repos(gitea.url, 1);
  if (!target) throw new Error('no target');
  const first = { ...target, labels: new Set(['linux']) };

  poller.watch(inOne([first]));
  await until('the first look', () => looked.get('r0') === 1);
  poller.watch(inOne([first]));
  poller.watch(inOne([{ ...first, labels: new Set(['linux', 'gpu']) }]));
  await until('another look', () => looked.get('r0') === 2);
});

test('the answer of a look counts for nothing when nobody watches its scope any more', async () => {
  const held: (() => void)[] = [];
  const gitea = await fakeGitea({
    intercept: ({ path }, response) => {
      if (!path.includes('/r0/')) return false;
      held.push(() => json(response, { jobs: [], total_count: 0 }));
      return true;
    },
  });
  const { poller, looked } = start();
  const [gone, other] = repos(gitea.url, 2);
  if (!gone || !other) throw new Error('no target');

  poller.watch(inOne([gone, other]));
  await until('its look is under way', () => held.length > 0);
  poller.watch(inOne([other]));
  for (const answer of held.splice(0)) answer();
  const before = looked.get('r1') ?? 0;
  await until('the other one was looked at again', () => (looked.get('r1') ?? 0) >= before + 3);

  expect(looked.has('r0')).toBe(false);
  expect([...poller.observations().keys()]).toEqual(['r1']);
});

test.each([
  [500, 2],
  // Gitea asks to wait. That is not an upgrade.
  [429, 1],
])(
  'a look that failed with %i makes serve ask for the version of a Gitea %i times in all',
  async (failure, questions) => {
    let isDown = false;
    const gitea = await fakeGitea({
      intercept: ({ path }, response) => {
        if (isDown && !path.endsWith('/version')) return json(response, {}, failure);
        return false;
      },
    });
    const outcomes: string[] = [];
    const { poller } = start({ onLook: (_, { failure: failed }) => outcomes.push(failed ? 'failed' : 'good') });
    const targets = repos(gitea.url, 1);

    poller.watch(inOne(targets));
    await until('good looks', () => outcomes.length > 2);
    isDown = true;
    await until('one that failed', () => outcomes.includes('failed'));
    isDown = false;
    poller.demand(new Set(targets));
    await until('a good one again', () => outcomes.at(-1) === 'good');

    expect(gitea.seen.filter(({ path }) => path.endsWith('/version'))).toHaveLength(questions);
  },
);
