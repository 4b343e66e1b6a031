/** Sweeps of `serve`: they leave a Gitea in trouble alone, and a new token takes the place of the old one. */

import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { GiteaTarget } from '../../src/gitea/observe.ts';
import type { ServeEvent } from '../../src/serve/events.ts';
import { SweptGroups, sweepAgainAndAgain } from '../../src/serve/sweeping.ts';
import { SIGHTINGS_APART_MS } from '../../src/sweep/choose.ts';
import type { SweepGroup } from '../../src/sweep/sweep.ts';
import { Token } from '../../src/tokens/token.ts';
import { type FakeGitea, fakeGitea, type Intercept, runnerRow } from '../support/gitea-stand-in.ts';
import { ACME, targetOf } from '../support/looking.ts';
import { quietGuest } from '../support/quiet-guest.ts';
import { INSTANCE, ownName } from '../sweep/scene.ts';
import { until } from './rig.ts';

interface Scene {
  readonly gitea: FakeGitea;
  readonly groups: SweptGroups;
  readonly ci: SweepGroup;
  isWell: (target: GiteaTarget) => boolean;
  mayRead: (namespace: string) => boolean;
  /** How often the Jobs of the cluster were asked for. */
  readonly passes: () => number;
  /** Ends when two passes have begun and one of them is over. */
  readonly pass: () => Promise<void>;
}

async function start(isWell: boolean, mayRead = () => true): Promise<Scene> {
  const gitea = await fakeGitea();
  const guest = quietGuest(10_000);
  let passes = 0;
  const ending = new AbortController();
  const scene: Scene = {
    gitea,
    groups: new SweptGroups(),
    ci: { namespace: 'runners', name: 'ci', target: targetOf(gitea.url) },
    isWell: () => isWell,
    mayRead,
    passes: () => passes,
    pass: async () => {
      const end = passes + 2;
      await until('two passes', () => passes >= end);
    },
  };
  scene.groups.exist([scene.ci], 0);
  const sweeping = sweepAgainAndAgain(
    {
      instance: '',
      timeoutMs: 10_000,
      pauseMs: 1,
      lookout: { guest, isWell: (target) => scene.isWell(target) },
      groups: scene.groups,
      mayRead: (namespace) => scene.mayRead(namespace),
      // Asked for when the lists of a pass were read.
      liveJobs: () => {
        passes += 1;
        return [];
      },
      deletes: true,
      tell: () => undefined,
      clock: { ...systemClock, now: () => 0 },
    },
    ending.signal,
  );
  onTestFinished(async () => {
    ending.abort();
    await guest.close();
    await sweeping;
  });
  return scene;
}

test('a Gitea whose looks fail is not swept until they are good again', async () => {
  const scene = await start(false);
  await scene.pass();
  expect(scene.gitea.seen).toEqual([]);

  scene.isWell = () => true;
  await scene.pass();
  expect(scene.gitea.lines().some((line) => line.includes('/actions/runners'))).toBe(true);
});

test('a token that was replaced is used no more', async () => {
  const scene = await start(true);
  await scene.pass();
  const token = new Token('another-token', scene.gitea.url);
  scene.groups.exist([{ ...scene.ci, target: { key: 'new', url: scene.gitea.url, scope: ACME, token } }], 0);
  await scene.pass();
  const before = scene.gitea.seen.length;
  await scene.pass();

  const used = new Set(scene.gitea.seen.slice(before).map(({ authorization }) => authorization));
  expect(used).toEqual(new Set(['token another-token']));
});

test('a namespace that refuses is not swept: nobody sees its Jobs', async () => {
  const scene = await start(true, () => false);
  await scene.pass();
  expect(scene.gitea.seen).toEqual([]);

  scene.mayRead = () => true;
  await scene.pass();
  expect(scene.gitea.lines().some((line) => line.includes('/actions/runners'))).toBe(true);
});

test('a pass deletes nothing when a namespace refuses while it reads', async () => {
  let asks = 0;
  // Asked before Gitea's lists, and after them.
  const scene = await start(true, () => {
    asks += 1;
    return asks % 2 === 1;
  });
  await until('three passes', () => asks >= 6);

  expect(scene.gitea.lines().some((line) => line.includes('/actions/runners'))).toBe(true);
  expect(scene.passes()).toBe(0);
});

test('without --sweep dead rows are counted, and nothing is deleted', async () => {
  const { namespace, name } = { namespace: 'runners', name: 'ci' };
  const dead = ownName(1, { namespace, name });
  const offline = { status: 'offline' };
  const methods = new Set<string | undefined>();
  const intercept: Intercept = (_, __, { method }) => {
    methods.add(method);
    return false;
  };
  const gitea = await fakeGitea({
    intercept,
    runners: [runnerRow(1, dead, offline), runnerRow(2, 'build-host', offline)],
  });
  const guest = quietGuest(10_000);
  const groups = new SweptGroups();
  groups.exist([{ namespace, name, target: targetOf(gitea.url) }], 0);
  const told: ServeEvent[] = [];
  let nowMs = 0;
  const ending = new AbortController();
  const sweeping = sweepAgainAndAgain(
    {
      instance: INSTANCE,
      deletes: false,
      timeoutMs: 10_000,
      pauseMs: 1,
      steadyMs: () => nowMs,
      lookout: { guest, isWell: () => true },
      groups,
      mayRead: () => true,
      liveJobs: () => {
        nowMs += SIGHTINGS_APART_MS;
        return [];
      },
      tell: (event) => told.push(event),
      now: () => 0,
    },
    ending.signal,
  );
  await until('three passes', () => told.length >= 3);
  ending.abort();
  await guest.close();
  await sweeping;

  const rows = [expect.objectContaining({ namespace, group: name, name: dead })];
  expect(told.slice(0, 3)).toEqual([
    { is: 'dead-registrations', rows: [] },
    { is: 'dead-registrations', rows },
    { is: 'dead-registrations', rows },
  ]);
  expect(methods).toEqual(new Set(['GET']));
});

const HOUR_MS = 3_600_000;

function swept(...names: readonly string[]): readonly SweepGroup[] {
  return names.map((name) => ({ namespace: 'runners', name, target: targetOf('https://gitea.example.com') }));
}

test('a group that came and went between two passes is swept for an hour', () => {
  const groups = new SweptGroups();
  groups.exist(swept('stays'), 0);
  groups.exist(swept('stays', 'short'), 1_000);
  groups.exist(swept('stays'), 2_000);

  const namesAt = (nowMs: number) => groups.at(nowMs).map(({ name }) => name);
  expect(namesAt(60_000)).toEqual(['stays', 'short']);
  expect(namesAt(2_000 + HOUR_MS)).toEqual(['stays', 'short']);
  expect(namesAt(2_001 + HOUR_MS)).toEqual(['stays']);
});

test('a group that is there again is swept once', () => {
  const groups = new SweptGroups();
  groups.exist(swept('ci'), 0);
  groups.exist([], 0);
  groups.exist(swept('ci'), 0);

  expect(groups.at(0)).toEqual(swept('ci'));
});

test('of the groups that are gone it remembers the last 1000', () => {
  const groups = new SweptGroups();
  for (let n = 0; n <= 1001; n += 1) groups.exist(swept(`ci-${n}`), n);
  groups.exist([], 1002);

  const names = groups.at(1002).map(({ name }) => name);
  expect([names.length, names[0], names.at(-1)]).toEqual([1000, 'ci-2', 'ci-1001']);
});
