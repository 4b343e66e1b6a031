import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { readApplication } from '../../../src/clients/argocd/app-state.ts';
import { Deadline } from '../../../src/clients/http/request.ts';
import {
  afterRefresh,
  recordSteps,
  type WakePatience,
  type WakeStep,
  type WakeTarget,
  wake,
} from '../../../src/serve/waking/wake.ts';
import { pause } from '../../../src/shared/clock.ts';
import { Failure } from '../../../src/shared/failure.ts';
import {
  application,
  BUSY,
  client,
  type FakeArgoCd,
  fakeArgoCd,
  gatewayError,
  json,
  status,
} from '../../support/fake-argocd.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const APP = { name: 'runners' };
const GROUP = { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci' };
const STRANGER = { ...GROUP, name: 'forged' };
const REFRESH = 'GET /api/v1/applications/runners?refresh=hard';
const READ = 'GET /api/v1/applications/runners';
const CHANGE = 'GET /api/v1/applications/runners?refresh=normal';
const SYNC = 'POST /api/v1/applications/runners/sync';
const PENDING = { 'argocd.argoproj.io/refresh': 'hard' };
const at = (second: number) => ({ reconciledAt: `2026-11-23T10:00:0${second}Z` });
const earlier = application(status('Synced', at(1)));
const pending = application(status('Synced', at(1)), PENDING);
const done = application(status('OutOfSync', at(9)));
const COMPARISON_ERROR = { conditions: [{ type: 'ComparisonError', message: 'GR-GITEA-01 list jobs' }] };

/** Waits for nothing that is not there at once. */
const IMPATIENT: WakePatience = { answerMs: 9_000, readEveryMs: 8_000, askAgainMs: 9_000, busyMs: 0, syncEveryMs: 1 };

async function wakeUp(server: FakeArgoCd, groups = [GROUP], patience: Partial<WakePatience> = {}, limitMs = 10_000) {
  const limits = { deadline: new Deadline(limitMs), patience: { ...IMPATIENT, ...patience } };
  return await wake(client(server.origin), APP, groups, limits);
}

describe('a wake', () => {
  it.each<[string, Partial<FakeArgoCd['application']>, object, readonly string[]]>([
    ['syncs an Application that is out of sync', {}, { is: 'synced', app: { sync: 'OutOfSync' } }, [SYNC]],
    ['does not sync one that is in sync', { after: application(status('Synced')) }, { is: 'in-sync' }, []],
    [
      'does not sync after a failed comparison, which would wipe the error away',
      { after: application(status('OutOfSync', COMPARISON_ERROR)) },
      { is: 'error', errors: [{ type: 'ComparisonError', message: 'GR-GITEA-01 list jobs' }] },
      [],
    ],
    ['says busy when another operation is under way', { busy: true }, { is: 'busy' }, [SYNC]],
    [
      'does not sync one that has just let go of the RunnerGroup',
      { after: application({ sync: { status: 'OutOfSync' }, resources: [] }) },
      { is: 'foreign' },
      [],
    ],
  ])('%s', async (_, shown, result, then) => {
    const server = await fakeArgoCd();
    Object.assign(server.application, shown);

    expect(await wakeUp(server)).toMatchObject(result);
    expect(server.lines()).toEqual([READ, REFRESH, ...then]);
  });

  it('a wake gets an Application out of an earlier error', async () => {
    const server = await fakeArgoCd();
    server.application.before = application(status('Unknown', COMPARISON_ERROR));

    expect((await wakeUp(server)).is).toBe('synced');
  });

  it('syncs again after an operation that failed', async () => {
    const server = await fakeArgoCd();
    const operationState = { phase: 'Failed', startedAt: '2026-11-20T09:00:00Z', message: 'Job is invalid' };
    const conditions = [{ type: 'SyncError', message: 'Failed last sync attempt' }];
    server.application.after = application(status('OutOfSync', { operationState, conditions }));

    expect((await wakeUp(server)).is).toBe('synced');
  });

  it.each([[[STRANGER]], [[]]])(
    'a wake does not even refresh an Application that manages none of %j',
    async (groups) => {
      const server = await fakeArgoCd();

      expect((await wakeUp(server, groups)).is).toBe('foreign');
      expect(server.lines()).toEqual([READ]);
    },
  );

  it('wakes for the RunnerGroup that is really there, whatever others claim', async () => {
    const server = await fakeArgoCd();

    expect((await wakeUp(server, [STRANGER, GROUP])).is).toBe('synced');
  });

  it('refreshes twice when a refresh was under way, which would swallow the first', async () => {
    const server = await fakeArgoCd();
    server.application.before = application(status('Synced'), { 'argocd.argoproj.io/refresh': 'normal' });

    expect((await wakeUp(server)).is).toBe('synced');
    expect(server.lines()).toEqual([READ, CHANGE, REFRESH, SYNC]);
  });

  it('a wake ends with the Failure of a request that is refused', async () => {
    const server = await fakeArgoCd(
      ({ line }, response) => line === SYNC && gatewayError(response, 403, 7, 'permission denied'),
    );

    await expect(wakeUp(server)).rejects.toMatchObject({ code: 'GR-ARGOCD-04' });
  });
});

const HASTY = { answerMs: 5_000, readEveryMs: 5, askAgainMs: 5_000 };

/** An Argo CD that never answers a refresh. Reads show these states in order; the last one repeats. */
async function slow(...shown: readonly (object | number)[]): Promise<FakeArgoCd> {
  let reads = 0;
  return await fakeArgoCd(({ line }, response) => {
    if (line === SYNC) return false;
    if (line === REFRESH || line === CHANGE) return true;
    const now = shown[Math.min(reads, shown.length - 1)] ?? earlier;
    reads += 1;
    return typeof now === 'number' ? json(response, {}, now) : json(response, now);
  });
}

it('a wake of a slow Argo CD goes on while the API server of Argo CD does not answer', async () => {
  const server = await slow(earlier, pending, 503, 503, done);

  expect((await wakeUp(server, [GROUP], HASTY)).is).toBe('synced');
  expect(server.lines().filter((line) => line === REFRESH)).toHaveLength(1);
});

it('a wake of a slow Argo CD does not take what was compared before for the answer', async () => {
  const server = await slow(earlier, earlier, pending, done);

  expect((await wakeUp(server, [GROUP], HASTY)).is).toBe('synced');
  expect(server.lines()).toEqual([READ, REFRESH, READ, READ, READ, SYNC]);
});

it('a wake of a slow Argo CD gives the refresh up when a read shows that it is done', async () => {
  let givenUp: Promise<unknown> = Promise.resolve();
  let reads = 0;
  const server = await fakeArgoCd(({ line }, response) => {
    if (line === SYNC) return false;
    if (line === REFRESH) givenUp = once(response, 'close');
    else json(response, reads++ === 0 ? earlier : done);
    return true;
  });

  expect((await wakeUp(server, [GROUP], HASTY)).is).toBe('synced');
  await givenUp;
});

it('a wake of a slow Argo CD does not sync when the late refresh ended in an error', async () => {
  const server = await slow(earlier, pending, application(status('OutOfSync', { ...at(1), ...COMPARISON_ERROR })));

  expect((await wakeUp(server, [GROUP], HASTY)).is).toBe('error');
  expect(server.lines()).not.toContain(SYNC);
});

it('a wake of a slow Argo CD gives each read and each sync 30 s, however long the wake may take', async () => {
  const limits: number[] = [];
  const argocd = client((await slow(earlier, pending, done)).origin);
  const noted: WakeTarget = {
    ...argocd,
    read: (app, deadline) => {
      limits.push(deadline.ms);
      return argocd.read(app, deadline);
    },
    refresh: (app, deadline) => argocd.refresh(app, deadline),
    sync: (app, deadline) => {
      limits.push(deadline.ms);
      return argocd.sync(app, deadline);
    },
  };
  const patience = { ...IMPATIENT, ...HASTY, askAgainMs: 60_000 };
  await wake(noted, APP, [GROUP], { deadline: new Deadline(600_000), patience });

  expect(limits).toEqual([30_000, 30_000, 30_000, 30_000]);
});

it('a wake of a slow Argo CD tries a sync again that was refused, with a read before it and without another refresh', async () => {
  let syncs = 0;
  const server = await fakeArgoCd(({ line }, response) => {
    if (line !== SYNC) return false;
    syncs += 1;
    return syncs <= 3 && gatewayError(response, 400, 9, BUSY);
  });

  expect((await wakeUp(server, [GROUP], { busyMs: 10_000 })).is).toBe('synced');
  expect(server.lines()).toEqual([READ, REFRESH, SYNC, READ, SYNC, READ, SYNC, READ, SYNC]);
});

describe('the times of a wake', () => {
  /**
   * An Argo CD whose reads show the state of that moment. A refresh is answered when `answers` says so; otherwise it is
   * late.
   */
  function timed(
    shown: (ms: number) => object,
    answers: (how: string, ms: number) => object | undefined = () => undefined,
  ) {
    const clock = new VirtualClock();
    const asked: string[] = [];
    const ask = (what: string): number => {
      asked.push(`${clock.steadyMs()} ${what}`);
      return clock.steadyMs();
    };
    const argocd: WakeTarget = {
      clock,
      read: async () => readApplication(shown(ask('read'))),
      refresh: async (_, deadline, how = 'hard') => {
        const answer = answers(how, ask(`${how} for ${deadline.remainingMs()}`));
        if (answer) return readApplication(answer);
        await pause(clock, deadline.remainingMs(), deadline.signal);
        throw new Failure('GR-HTTP-09', 1, 'no answer.', 'timeout');
      },
      sync: async () => (ask('sync') < 0 ? 'busy' : 'started'),
    };
    const begin = (ms = 600_000) => wake(argocd, APP, [GROUP], { deadline: new Deadline(ms, clock) });
    return { argocd, asked, begin, clock };
  }

  it.each<[string, Parameters<typeof timed>, ms: number, tail: readonly string[]]>([
    [
      'are a read every 5 s beside a refresh that is not answered',
      [(ms) => (ms === 0 ? earlier : ms < 12_000 ? pending : done)],
      20_000,
      ['0 read', '0 hard for 30000', '5000 read', '10000 read', '15000 read', '15000 sync'],
    ],
    [
      'are another way to ask after a minute, when Argo CD has overlooked the refresh, and the first one again',
      [(ms) => (ms === 0 ? earlier : pending), (how, ms) => (how === 'hard' && ms > 0 ? done : undefined)],
      70_000,
      ['55000 read', '60000 read', '60000 normal for 1000', '61000 hard for 30000', '61000 sync'],
    ],
    [
      'are the same way to ask when Argo CD has not taken it in',
      [() => earlier, (_, ms) => (ms > 0 ? done : undefined)],
      61_000,
      ['10000 read', '10000 hard for 30000', '10000 sync'],
    ],
    [
      'end with the read after a minute, if that shows the result',
      [(ms) => (ms === 0 ? earlier : ms < 60_000 ? pending : done)],
      61_000,
      ['60000 read', '60000 sync'],
    ],
    [
      'do not end with the comparison of somebody else while the refresh is pending',
      [(ms) => (ms === 0 ? earlier : ms < 12_000 ? application(status('Synced', at(5)), PENDING) : done)],
      20_000,
      ['15000 read', '15000 sync'],
    ],
  ])('%s', async (_, scene, ms, tail) => {
    const { asked, begin, clock } = timed(...scene);
    const waking = begin();
    await clock.pass(ms);

    expect((await waking).is).toBe('synced');
    expect(asked.slice(-tail.length)).toEqual(tail);
  });

  it('compare with what the other way has shown, also when it was not answered', async () => {
    const other = application(status('Synced', at(5)));
    for (const answer of [other, undefined]) {
      const { asked, begin, clock } = timed(
        (ms) => (ms === 0 ? earlier : ms <= 60_000 ? pending : ms < 70_000 ? (answer ?? earlier) : done),
        (how) => (how === 'normal' ? answer : undefined),
      );
      const waking = begin();
      await clock.pass(80_000);

      expect((await waking).is).toBe('synced');
      expect(asked.at(-1)).toBe(answer ? '70000 sync' : '71000 sync');
    }
  });

  it('go on when Argo CD is away after a minute', async () => {
    const { argocd, asked, begin, clock } = timed(
      (ms) => (ms === 0 ? earlier : pending),
      (_, ms) => (ms > 0 ? done : undefined),
    );
    const { read } = argocd;
    const waking = begin();
    await clock.pass(59_000);
    Object.assign(argocd, { read: () => Promise.reject(new Failure('GR-HTTP-01', 1, 'away.', 'unreachable')) });
    await clock.pass(2_000);
    Object.assign(argocd, { read });

    expect((await waking).is).toBe('synced');
    expect(asked.slice(-2)).toEqual(['60000 hard for 30000', '60000 sync']);
  });

  it('the times of a wake are up when less is left than a read needs', async () => {
    const { begin, clock } = timed((ms) => (ms === 0 ? earlier : pending));
    const waking = expect(begin(65_000)).rejects.toMatchObject({
      code: 'GR-ARGOCD-14',
      exit: 1,
      message: expect.stringMatching(/refresh Application runners.* within 65 s/),
    });
    await clock.pass(60_000);
    await waking;
  });

  const runs = { phase: 'Running', startedAt: '2026-11-23T10:00:00Z', message: 'waiting for completion of hook' };
  /** Out of sync, compared so many seconds after the begin of an operation that runs. */
  const operating = (seconds: number): object => {
    const reconciledAt = new Date(Date.parse(runs.startedAt) + seconds * 1_000).toISOString();
    return { ...application(status('OutOfSync', { reconciledAt, operationState: runs })), operation: { sync: {} } };
  };

  it('the times of a wake are reads for 30 s, later and later, while another operation is under way: no sync is tried', async () => {
    const { asked, begin, clock } = timed(
      (ms) => (ms === 0 ? earlier : operating(1)),
      () => operating(1),
    );
    const waking = begin();
    await clock.pass(31_000);

    expect(await waking).toMatchObject({ is: 'busy', app: { operation: { message: runs.message } } });
    const reads = [500, 1_500, 3_500, 7_500, 12_500, 17_500, 22_500, 27_500, 30_000].map((ms) => `${ms} read`);
    expect(asked).toEqual(['0 read', '0 hard for 30000', ...reads]);
  });

  it.each<[string, object, object]>([
    ['a sync with its end', done, { is: 'synced' }],
    ['over with it, when it has applied all', application(status('Synced', at(9))), { is: 'in-sync' }],
    [
      'an error with it, when a comparison has failed meanwhile',
      application(status('OutOfSync', COMPARISON_ERROR)),
      { is: 'error' },
    ],
  ])('the times of a wake are %s', async (_, after, result) => {
    const { asked, begin, clock } = timed(
      (ms) => (ms === 0 ? earlier : ms < 3_000 ? operating(1) : after),
      () => operating(1),
    );
    const waking = begin();
    await clock.pass(4_000);

    expect(await waking).toMatchObject(result);
    const sync = after === done ? ['3500 sync'] : [];
    expect(asked.slice(2)).toEqual(['500 read', '1500 read', '3500 read', ...sync]);
  });

  it.each([
    [30, true],
    [31, false],
  ])(
    'the times of a wake have a refresh %i s after the begin of an operation that lasts: %s',
    async (seconds, isRefreshed) => {
      const { asked, begin, clock } = timed(
        (ms) => (ms < 10_000 ? operating(seconds) : done),
        () => operating(seconds),
      );
      const waking = begin();
      await clock.pass(31_000);

      expect(await waking).toMatchObject({ is: isRefreshed ? 'synced' : 'busy' });
      // The end of the operation ends the wake, and the next wake refreshes.
      expect(asked.at(-1)).toBe(isRefreshed ? '12500 sync' : '12500 read');
      expect(asked.some((what) => what.includes('hard'))).toBe(isRefreshed);
    },
  );

  it('the times of a wake are none for an Application that Argo CD is told to leave alone', async () => {
    const { asked, begin } = timed(() =>
      application(status('OutOfSync'), { 'argocd.argoproj.io/skip-reconcile': 'True' }),
    );

    const message = expect.stringContaining('argocd.argoproj.io/skip-reconcile');
    expect(await begin()).toMatchObject({ is: 'error', errors: [{ message }] });
    expect(asked).toEqual(['0 read']);
  });

  it('the times of a wake are noted for its first 100 steps', async () => {
    const { argocd } = timed(() => earlier);
    const steps: WakeStep[] = [];
    const noted = recordSteps(argocd, steps, new AbortController().signal);
    for (let n = 0; n < 150; n += 1) await noted.read(APP, new Deadline(1_000));

    expect(steps).toHaveLength(100);
  });
});

it('the decision is an error with a reason of its own when Argo CD gives none for Unknown', () => {
  const verdict = afterRefresh(readApplication(application(status('Unknown'))), [GROUP]);

  expect(verdict).toMatchObject({ is: 'error', errors: [{ type: 'Unknown', stops: true }] });
});

it('the decision shows only the errors that stop', () => {
  const conditions = [
    { type: 'SyncError', message: 'earlier' },
    { type: 'InvalidSpecError', message: 'project is gone' },
  ];

  const verdict = afterRefresh(readApplication(application(status('Unknown', { conditions }))), [GROUP]);

  expect(verdict).toMatchObject({ is: 'error', errors: [{ type: 'InvalidSpecError' }] });
  expect(verdict !== 'sync' && verdict.is === 'error' && verdict.errors).toHaveLength(1);
});
