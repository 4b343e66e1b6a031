/** Sweeps of `serve`: they leave a Gitea in trouble alone, and a new token takes the place of the old one. */

import { describe, expect, test } from 'vitest';
import type { GiteaTarget } from '../../../src/clients/gitea/observe-gitea.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import type { TargetOf } from '../../../src/plan/find-targets.ts';
import { WorkQueue } from '../../../src/serve/queue/work-queue.ts';
import { type Clock, systemClock } from '../../../src/shared/clock.ts';
import { type SweepGroup, SweptGroups, sweepDeadRows } from '../../../src/tasks/sweep/sweeper.ts';
import { until } from '../../serve/rig.ts';
import { fakeGitea, type Intercept, runnerRow } from '../../support/gitea-stand-in.ts';
import { ACME, targetOf } from '../../support/looking.ts';
import { quietGiteas } from '../../support/quiet-giteas.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { taskContext } from '../../support/task-context.ts';
import { INSTANCE, ownName } from './scene.ts';

type Scene = Awaited<ReturnType<typeof start>>;

async function start() {
  const gitea = await fakeGitea();
  let passes = 0;
  let targets: TargetOf = new Map();
  const scene = {
    gitea,
    /** Sets the target of the group from now on. */
    target: (target: GiteaTarget): void => {
      targets = new Map([[runnerGroup(), target]]);
      hear({ is: 'reconciled', verdicts: [], skews: new Map() });
    },
    isWell: (): boolean => true,
    mayRead: (): boolean => true,
    /** Returns how often the Jobs of the cluster were listed. */
    passes: () => passes,
    /** Resolves when two passes have begun and one of them has ended. */
    pass: async (): Promise<void> => {
      const end = passes + 2;
      await until('two passes', () => passes >= end);
    },
  };
  const { context } = taskContext({
    clock: { ...systemClock, now: () => 0 },
    queue: new WorkQueue(FAST),
    giteas: quietGiteas(10_000),
    isWell: () => scene.isWell(),
    targetOf: () => targets,
    cluster: {
      mayRead: () => scene.mayRead(),
      // Asked for when the lists of a pass were read.
      runners: () => {
        passes += 1;
        return [];
      },
    },
  });
  const hear = sweepDeadRows(true, '', 10_000)(context);
  scene.target(targetOf(gitea.url));
  return scene;
}

/** Passes follow each other after 60 ms, not after a minute. */
const FAST: Clock = {
  ...systemClock,
  steadyMs: () => systemClock.steadyMs() * 1_000,
  after: (ms, call) => systemClock.after(ms / 1_000, call),
};

test.each<[string, (scene: Scene, isGood: boolean) => unknown]>([
  ['a Gitea whose looks fail', (scene, isGood) => Object.assign(scene, { isWell: () => isGood })],
  // Nobody sees its Jobs.
  ['a namespace that refuses', (scene, isGood) => Object.assign(scene, { mayRead: () => isGood })],
])('%s is not swept until it is good again', async (_, become) => {
  const scene = await start();
  become(scene, false);
  await scene.pass();
  expect(scene.gitea.seen).toEqual([]);

  become(scene, true);
  await scene.pass();
  expect(scene.gitea.lines().some((line) => line.includes('/actions/runners'))).toBe(true);
});

test('a token that was replaced is used no more', async () => {
  const scene = await start();
  await scene.pass();
  const token = new Token('another-token', scene.gitea.url);
  scene.target({ key: 'new', url: scene.gitea.url, scope: ACME, token });
  await scene.pass();
  const before = scene.gitea.seen.length;
  await scene.pass();

  const used = new Set(scene.gitea.seen.slice(before).map(({ authorization }) => authorization));
  expect(used).toEqual(new Set(['token another-token']));
});

test('a pass deletes nothing when a namespace refuses while it reads', async () => {
  let asks = 0;
  const scene = await start();
  // Asked before Gitea's lists, and after them.
  scene.mayRead = () => {
    asks += 1;
    return asks % 2 === 1;
  };
  await until('three passes', () => asks >= 6);

  expect(scene.gitea.lines().some((line) => line.includes('/actions/runners'))).toBe(true);
  expect(scene.passes()).toBe(0);
});

test('dead rows are counted without --sweep, and nothing is deleted', async () => {
  const group = runnerGroup();
  const { namespace, name } = group;
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
  const { context, told } = taskContext({
    clock: FAST,
    giteas: quietGiteas(10_000),
    targetOf: () => new Map([[group, targetOf(gitea.url)]]),
  });
  const hear = sweepDeadRows(false, INSTANCE, 10_000)(context);
  hear({ is: 'reconciled', verdicts: [], skews: new Map() });
  await until('three passes', () => told.length >= 3);

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

test('the sweep remembers the last 1000 of the groups that are gone', () => {
  const groups = new SweptGroups();
  for (let n = 0; n <= 1001; n += 1) groups.exist(swept(`ci-${n}`), n);
  groups.exist([], 1002);

  const names = groups.at(1002).map(({ name }) => name);
  expect([names.length, names[0], names.at(-1)]).toEqual([1000, 'ci-2', 'ci-1001']);
});

describe('without --sweep', () => {
  const group = runnerGroup({ registration: { by: 'serve', for: 'repository' } });
  const { namespace, name } = group;
  const dead = ownName(1, { namespace, name });

  async function begin(registration: RunnerGroup['registration']) {
    const deleted: string[] = [];
    const listed: string[] = [];
    const intercept: Intercept = ({ path }, response, { method }) => {
      if (path.endsWith('/actions/runners')) listed.push(path);
      if (method === 'GET' && path.endsWith('/actions/runners/1')) {
        response.writeHead(200, { 'content-type': 'application/json' });
        return response.end(JSON.stringify(row)) !== undefined;
      }
      if (method !== 'DELETE') return false;
      deleted.push(path);
      return response.writeHead(204).end() !== undefined;
    };
    const row = runnerRow(1, dead, { status: 'offline' });
    const gitea = await fakeGitea({ intercept, runners: [row] });
    const own = { ...group, registration };
    const target = targetOf(gitea.url);
    const { context, told } = taskContext({
      clock: FAST,
      giteas: quietGiteas(10_000),
      targetOf: () => new Map([[own, target]]),
    });
    const hear = sweepDeadRows(false, INSTANCE, 10_000)(context);
    hear({ is: 'reconciled', verdicts: [], skews: new Map() });
    const object = { metadata: { namespace, name, uid: 'uid' } };
    return {
      deleted,
      listed,
      told,
      leave: (at: string, isGuess?: true) => hear({ is: 'row-left', object, target, at, ...(isGuess && { isGuess }) }),
    };
  }

  test('rows of runners that serve registers are deleted', async () => {
    const { deleted, told } = await begin({ by: 'serve', for: 'scope' });
    await until('a deletion', () => deleted.length > 0);

    expect(deleted[0]).toBe('/api/v1/orgs/acme/actions/runners/1');
    await until('its event', () => told.some(({ is }) => is === 'registration-deleted'));
  });

  test('rows of a repository are read only after some may be left, five times, and deleted', async () => {
    const { deleted, leave, listed } = await begin({ by: 'serve', for: 'repository' });
    await until('two passes', () => listed.length >= 2);
    expect(listed.filter((path) => path.includes('/repos/'))).toEqual([]);

    leave('repo:acme/web');
    leave('org:acme');
    await until('passes', () => listed.filter((path) => path.includes('/repos/acme/web/')).length === 5);
    const passes = listed.length;
    await until('another pass', () => listed.length > passes);

    expect(listed.filter((path) => path.includes('/repos/'))).toHaveLength(5);
    expect(deleted.some((path) => path.startsWith('/api/v1/repos/acme/web/'))).toBe(true);
  });

  test('a repository where a row is only guessed is read three times, after the others', async () => {
    const { leave, listed } = await begin({ by: 'serve', for: 'repository' });
    for (let n = 0; n < 10; n += 1) leave(`repo:acme/guess${n}`, true);
    for (let n = 0; n < 10; n += 1) leave(`repo:acme/sure${n}`);
    leave('repo:acme/sure0', true);
    const read = (name: string) => listed.filter((path) => path.includes(`/repos/acme/${name}/`)).length;
    await until('all passes', () => read('guess9') === 3);
    const passes = listed.length;
    await until('two more passes', () => listed.length > passes + 1);

    expect([read('sure0'), read('sure9'), read('guess0'), read('guess9')]).toEqual([5, 5, 3, 3]);
    const [firstGuess, lastSure] = [
      listed.findIndex((path) => path.includes('guess')),
      listed.findLastIndex((path) => path.includes('sure')),
    ];
    expect(firstGuess).toBeGreaterThan(lastSure);
  });

  test('a row that was guessed is deleted', async () => {
    const { deleted, leave } = await begin({ by: 'serve', for: 'repository' });
    leave('repo:acme/web', true);

    await until('a deletion', () => deleted.some((path) => path.startsWith('/api/v1/repos/acme/web/')));
  });

  test('a repository that is sure to have rows is read beside a thousand guesses', async () => {
    const { leave, listed } = await begin({ by: 'serve', for: 'repository' });
    for (let n = 0; n < 1_000; n += 1) leave(`repo:acme/guess${n}`, true);
    leave('repo:acme/sure');

    await until('it is read', () => listed.some((path) => path.includes('/repos/acme/sure/')));
  });

  test('no more than ten repositories are read in one pass', async () => {
    const { leave, listed } = await begin({ by: 'serve', for: 'repository' });
    for (let n = 0; n < 30; n += 1) leave(`repo:acme/r${n}`);
    await until('three passes', () => listed.filter((path) => path.includes('/orgs/')).length >= 4);

    const passes = listed.join(' ').split('/api/v1/orgs/acme/actions/runners');
    for (const pass of passes) expect(pass.match(/repos/g)?.length ?? 0).toBeLessThanOrEqual(10);
    expect(listed.some((path) => path.includes('/repos/'))).toBe(true);
  });
});
