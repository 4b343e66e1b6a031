/** The sweeper against Gitea's real answers: what it deletes, what it reads again before, and how it takes refusals. */
import { describe, expect, it } from 'vitest';
import type { Intercept } from '../../../simulator/gitea/simulator.ts';
import { live as runnerJob } from '../../support/scenario.ts';
import { ownName } from './scene.ts';
import { jumpingClock, outcomes, ROOT, SECRET, type SweepWorld, startSweepWorld } from './start-sweeper.ts';

const [A, B, C] = [ownName(1), ownName(2), ownName(3)];
const BUILD = { jobs: [{ key: 'build', runsOn: ['linux'] }] };
const WORDS = 'secret words of the server';
const ROW = /runners\/\d+$/;

/** Does something just before the nth request that fits is answered. */
function justBefore(method: string, path: RegExp, act: () => void, nth = 1): Intercept {
  let seen = 0;
  return (request) => {
    const fits = request.method === method && path.test(request.url ?? '');
    if (fits) seen += 1;
    if (fits && seen === nth) act();
    return false;
  };
}

/** Answers every request that fits so. */
function answering(method: string, path: RegExp, status: number, body: object = { message: WORDS }): Intercept {
  return (request, response) => {
    if (request.method !== method || !path.test(request.url ?? '')) return false;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    return true;
  };
}

describe.each(['1.25.4', '1.26.0', '1.27.3'] as const)('with Gitea %s', (version) => {
  it('sweep deletes the dead rows of the group, and no other', async () => {
    const { simulator, register, live, sweeper, sweepTwice, left } = await startSweepWorld({ version });
    const names = {
      started: ownName(4),
      permanent: ownName(5),
      south: ownName(1, undefined, 'south'),
      gpu: ownName(1, { namespace: 'runners', name: 'gpu' }),
    };
    register(A);
    register(B);
    register(names.started);
    live.push(runnerJob(names.started, 'starting'), runnerJob(B, 'complete'));
    register(names.permanent, undefined, false);
    for (const name of [names.south, names.gpu, 'act-runner']) register(name);
    register(C, { kind: 'global' });

    const report = await sweepTwice(sweeper());

    expect(outcomes(report)).toEqual({
      [A]: 'deleted',
      [B]: 'deleted',
      [names.started]: 'kept job-alive',
      [names.permanent]: 'kept not-ephemeral',
    });
    expect(left()).toEqual([names.started, names.permanent, names.south, names.gpu, 'act-runner', C]);
    expect(report).toMatchObject({ foreign: 3, failures: [], unlisted: [] });
    expect(simulator.requests.filter(({ method }) => method === 'DELETE')).toHaveLength(2);
  });

  it('sweep keeps the runner whose job is still in progress after its pod was lost', async () => {
    const { simulator, register, sweeper, sweepTwice } = await startSweepWorld({ version });
    simulator.gitea.push('acme/web', BUILD);
    const id = register(A);
    simulator.gitea.poll(id);

    expect(outcomes(await sweepTwice(sweeper()))).toEqual({ [A]: 'kept job-in-progress' });
  });
});

it('sweep reads the running jobs, then the row', async () => {
  const { simulator, register, sweeper, sweepTwice } = await startSweepWorld();
  const id = register(A);

  await sweepTwice(sweeper());

  expect(simulator.requests.slice(-3).map(({ method, target }) => `${method} ${target}`)).toEqual([
    'GET /api/v1/orgs/acme/actions/jobs?status=in_progress&limit=50&page=1',
    `GET /api/v1/orgs/acme/actions/runners/${id}`,
    `DELETE /api/v1/orgs/acme/actions/runners/${id}`,
  ]);
});

it.each<[string, string, (world: SweepWorld, id: number) => Intercept]>([
  ['came back', 'online', ({ simulator: { gitea } }, id) => justBefore('GET', ROW, () => gitea.poll(id))],
  [
    'took a job, although it is offline now',
    'job-in-progress',
    ({ clock, simulator: { gitea } }, id) => {
      const act = (): void => {
        gitea.push('acme/web', BUILD);
        gitea.poll(id);
        clock.now += 61_000;
      };
      return justBefore('GET', /\/jobs\?/, act, 3);
    },
  ],
  [
    'has got another name',
    'changed',
    (_, id) => answering('GET', ROW, 200, { id, name: B, status: 'offline', busy: false, ephemeral: true, labels: [] }),
  ],
])('sweep keeps a row that %s since it was listed', async (_, because, intercept) => {
  const world = await startSweepWorld();
  world.simulator.intercept(intercept(world, world.register(A)));

  expect(outcomes(await world.sweepTwice(world.sweeper()))).toEqual({ [A]: `kept ${because}` });
  expect(world.left()).toEqual([A]);
});

it.each([
  ['GET', 'before the row is read'],
  ['DELETE', 'before it is deleted'],
])('sweep takes a row that is gone for gone (%s, %s)', async (method) => {
  const { simulator, register, sweeper, sweepTwice } = await startSweepWorld();
  const id = register(A);
  simulator.intercept(justBefore(method, ROW, () => simulator.gitea.deleteRunner(id)));

  const report = await sweepTwice(sweeper());

  expect(outcomes(report)).toEqual({ [A]: 'gone' });
  expect(report.failures).toEqual([]);
});

it('a pass asks Kubernetes after Gitea: a Job is older than its runner’s row', async () => {
  const { simulator, group, register, sweeper } = await startSweepWorld();
  register(A);
  let requestsBefore = 0;

  await sweeper().pass({
    groups: [group()],
    liveJobs: async () => {
      requestsBefore = simulator.requests.filter(({ target }) => target.includes('/runners')).length;
      return [];
    },
  });

  expect(requestsBefore).toBe(1);
});

it('a pass spreads its deletions over the minute and leaves what is over the budget to the next', async () => {
  const { register, group, pauses, sweeper, sweepTwice, left } = await startSweepWorld();
  for (const name of [A, B, C]) register(name);
  const own = sweeper({ budget: 2 });

  const first = await sweepTwice(own);
  const next = await own.pass({ groups: [group()], liveJobs: async () => [] });

  expect(outcomes(first)).toEqual({ [A]: 'deleted', [B]: 'deleted', [C]: 'postponed' });
  expect(outcomes(next)).toEqual({ [C]: 'deleted' });
  expect(pauses).toEqual([30_000, 30_000]);
  expect(left()).toEqual([]);
});

it('a pass stops before the next deletion when it is aborted', async () => {
  const { clock, register, sweeper, group, left } = await startSweepWorld();
  for (const name of [A, B]) register(name);
  const ending = new AbortController();
  const own = sweeper({ clock: jumpingClock(clock, () => ending.abort()) });
  const scene = { groups: [group()], liveJobs: async () => [] };

  clock.now += 61_000;
  await own.pass(scene, ending.signal);
  clock.now += 75_000;
  const report = await own.pass(scene, ending.signal);

  expect(outcomes(report)).toEqual({ [A]: 'deleted', [B]: 'postponed' });
  expect(left()).toEqual([B]);
});

it('a pass reads one list for groups that share their scope, and sweeps each group', async () => {
  const { simulator, register, group, sweeper, sweepTwice } = await startSweepWorld();
  const ofGpu = ownName(1, { namespace: 'runners', name: 'gpu' });
  register(A);
  register(ofGpu);

  const report = await sweepTwice(sweeper(), [group(), group({ name: 'gpu' })]);

  expect(outcomes(report)).toEqual({ [A]: 'deleted', [ofGpu]: 'deleted' });
  expect(simulator.requests.filter(({ target }) => target.includes('/runners?'))).toHaveLength(2);
});

describe('scopes', () => {
  it('sweeps each scope with its own list', async () => {
    const { simulator, register, group, sweeper, sweepTwice, left } = await startSweepWorld();
    simulator.gitea.addToken('anna', ['all'], 'anna-all');
    const names = ['g', 'u', 'r'].map((name) => ownName(1, { namespace: 'runners', name }));
    register(names[0] ?? '', { kind: 'global' });
    register(names[1] ?? '', { kind: 'owner', owner: 'anna' });
    register(names[2] ?? '', { kind: 'repo', repo: 'acme/web' });

    await sweepTwice(sweeper(), [
      group({ name: 'g' }, { kind: 'global' }, ROOT),
      group({ name: 'u' }, { kind: 'user', user: 'anna' }, 'anna-all'),
      group({ name: 'r' }, { kind: 'repo', owner: 'acme', repo: 'web' }, ROOT),
    ]);

    expect(left()).toEqual([]);
  });

  it('sweep takes the dead rows of all scopes by turns: one that has many leaves something of the budget', async () => {
    const { register, group, sweeper, sweepTwice } = await startSweepWorld();
    for (const name of [A, B, C]) register(name);
    const other = ownName(1, { namespace: 'runners', name: 'r' });
    register(other, { kind: 'repo', repo: 'acme/web' });

    const report = await sweepTwice(sweeper({ budget: 2 }), [
      group(),
      group({ name: 'r' }, { kind: 'repo', owner: 'acme', repo: 'web' }, ROOT),
    ]);

    expect(outcomes(report)).toEqual({ [A]: 'deleted', [B]: 'postponed', [C]: 'postponed', [other]: 'deleted' });
  });

  it('sweep says that another user’s runners cannot be listed', async () => {
    const { register, group, sweeper, sweepTwice, left } = await startSweepWorld();
    register(A, { kind: 'owner', owner: 'anna' });

    const report = await sweepTwice(sweeper(), [group({}, { kind: 'user', user: 'anna' }, ROOT)]);

    expect(report).toMatchObject({ registrations: [], unlisted: ['user anna'], failures: [] });
    expect(left()).toEqual([A]);
  });
});

it('sweep names the scope that a token lacks for deleting, and does not try the next row', async () => {
  const { simulator, register, group, sweeper, sweepTwice, left } = await startSweepWorld();
  simulator.gitea.addToken('anna', ['read:organization'], 'anna-reads');
  for (const name of [A, B]) register(name);

  const report = await sweepTwice(sweeper(), [group({}, undefined, 'anna-reads')]);

  expect(outcomes(report)).toEqual({ [A]: 'failed', [B]: 'postponed' });
  expect(report.failures).toMatchObject([{ code: 'GR-GITEA-02', exit: 1 }]);
  expect(report.failures[0]?.message).toMatch(
    /^delete runner 1 of org acme: DELETE http:.*: Gitea forbids it \(403\): the token lacks scope write:organization\. The token needs scope write:organization, and its user must be an owner of the org\. It is in the Secret of authToken\.$/,
  );
  expect(left()).toEqual([A, B]);
});

it.each([401, 404, 500, 301, 200])(
  'sweep deletes nothing more after an answer %i to DELETE, and shows no body',
  async (status) => {
    const { simulator, register, sweeper, sweepTwice, left } = await startSweepWorld();
    register(A);
    simulator.intercept(answering('DELETE', /./, status));

    const report = await sweepTwice(sweeper());

    expect(outcomes(report)[A]).toBe(status === 404 ? 'gone' : 'failed');
    for (const { message } of report.failures) {
      expect(message).not.toContain(WORDS);
      expect(message).not.toContain(SECRET);
    }
    expect(left()).toEqual([A]);
  },
);

it('trouble of one scope does not keep the others from being swept', async () => {
  const { simulator, register, group, sweeper, sweepTwice, left } = await startSweepWorld();
  register(A);
  const ofAll = ownName(1, { namespace: 'runners', name: 'all' });
  register(ofAll, { kind: 'global' });
  simulator.intercept(answering('GET', /orgs\/acme\/actions\/runners\?/, 500));

  const report = await sweepTwice(sweeper(), [group(), group({ name: 'all' }, { kind: 'global' }, ROOT)]);

  expect(outcomes(report)).toEqual({ [ofAll]: 'deleted' });
  expect(report.failures).toMatchObject([{ code: 'GR-GITEA-05' }]);
  expect(left()).toEqual([A]);
});

it.each([
  ['cannot be read', answering('GET', /status=in_progress/, 500)],
  ['is incomplete', answering('GET', /status=in_progress/, 200, { jobs: [], total_count: 1 })],
])('a sweep with a list of running jobs that %s deletes nothing', async (_, intercept) => {
  const { simulator, register, sweeper, sweepTwice, left } = await startSweepWorld();
  register(A);
  simulator.intercept(intercept);

  const report = await sweepTwice(sweeper());

  expect(report.registrations).toEqual([]);
  expect(report.failures).toHaveLength(1);
  expect(left()).toEqual([A]);
});
