/** Argo CD's words about an Application, and what follows from them. In virtual time. */
import { describe, expect, it, vi } from 'vitest';
import type { AppState } from '../../src/clients/argocd/app-state.ts';
import type { Applications } from '../../src/serve/applications.ts';
import { NO_DIFFERENCE } from '../../src/serve/seen/difference.ts';
import type { WakeTarget } from '../../src/serve/waking/wake.ts';
import { pause } from '../../src/shared/clock.ts';
import { Failure } from '../../src/shared/failure.ts';
import { appState, NO_PLAN as FAILED, keyOf, managedBy, openApplications, PLANNED } from '../support/applications.ts';
import { strayErrors } from '../support/stray-errors.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

type AppJob = AppState['jobs'][number];
type Wish = Parameters<Applications['follow']>[1];

const JOB: AppJob = { namespace: 'runners', name: 'ci-7-1-0123abcd', outOfSync: false };
const LATER: AppJob = { namespace: 'runners', name: 'ci-8-1-0123abcd', outOfSync: false };
const STRANGER: AppJob = { namespace: 'runners', name: 'backup', outOfSync: true };
const KEPT_ERROR = { type: 'ComparisonError', message: 'GR-GITEA-01 list jobs', stops: true };
const WELL: Wish = { planning: PLANNED, difference: NO_DIFFERENCE, settled: true };
const MISSING: Wish = { ...WELL, difference: { ...NO_DIFFERENCE, missing: ['runners/ci-8-1-0123abcd'] } };
const NO_PLAN: Wish = { ...WELL, planning: FAILED };

/** An Argo CD whose fields are its answers, at once or when it is released. */
class Argo implements WakeTarget {
  readonly clock = new VirtualClock();
  /** State that a read shows, and state that a refresh finds. */
  shown = appState();
  found: AppState | undefined;
  readonly asked: string[] = [];
  /** Thrown instead of an answer. */
  failure: Error | undefined;
  #held: Promise<void> = Promise.resolve();

  /** Holds answers until the returned function is called. */
  hold(): () => void {
    let release: () => void = () => undefined;
    this.#held = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }

  read = async (): Promise<AppState> => await this.#answer('read', () => this.shown);
  refresh = async (): Promise<AppState> =>
    await this.#answer('refresh', () => {
      this.shown = this.found ?? this.shown;
      return this.shown;
    });
  sync = async (): Promise<'started'> => await this.#answer('sync', () => 'started');

  async #answer<T>(step: string, answer: () => T): Promise<T> {
    this.asked.push(step);
    await this.#held;
    if (this.failure) throw this.failure;
    return answer();
  }
}

const KEY = keyOf('runners');

async function start(argocd: Argo, over?: Parameters<typeof openApplications>[2]) {
  const open = openApplications(argocd, argocd.clock, over);
  await argocd.clock.pass(0);
  return { ...open, clock: argocd.clock };
}
type Scene = Awaited<ReturnType<typeof start>>;

/** The leader tells the verdict again every 5 s. */
async function follow({ apps, clock }: Scene, wish: Wish, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 5_000) {
    apps.follow(KEY, wish);
    await clock.pass(5_000);
  }
}

const printed = ({ apps }: Scene): readonly string[] => [...(apps.wakes.get(KEY)?.printed ?? [])];

it('an Application has printed what Argo CD says at the start, whoever led before', async () => {
  const argocd = new Argo();
  argocd.shown = appState({ jobs: [JOB, STRANGER] });

  expect(printed(await start(argocd))).toEqual(['runners/ci-7-1-0123abcd']);
});

it('an Application has printed what Argo CD says after a refresh, not what was wanted at its begin or its end', async () => {
  const argocd = new Argo();
  const app = await start(argocd);
  argocd.found = appState({ sync: 'OutOfSync', jobs: [JOB, LATER] });
  await follow(app, MISSING, 5_000);

  expect(argocd.asked.slice(0, 4)).toEqual(['read', 'read', 'refresh', 'sync']);
  expect(printed(app)).toEqual(['runners/ci-7-1-0123abcd', 'runners/ci-8-1-0123abcd']);
});

it.each<[string, Partial<AppState>]>([
  ['in error', { errors: [KEPT_ERROR] }],
  ['not compared', { sync: 'Unknown' }],
  ['of somebody else', { manages: () => false }],
])('an Application has not printed what an Application says that is %s', async (_, over) => {
  const argocd = new Argo();
  argocd.shown = appState({ jobs: [JOB] });
  const app = await start(argocd);
  argocd.shown = appState({ jobs: [LATER], ...over });
  await follow(app, MISSING, 5_000);

  expect(printed(app)).toEqual(['runners/ci-7-1-0123abcd']);
});

it('an Application is read once a minute while nothing is wanted, and left alone', async () => {
  const argocd = new Argo();
  argocd.shown = appState({ sync: 'OutOfSync', jobs: [JOB, STRANGER] });
  const app = await start(argocd);
  await follow(app, WELL, 595_000);

  expect(argocd.asked).toEqual(Array.from({ length: 10 }, () => 'read'));
});

it('an Application is watched by reads while an operation of somebody else lasts, and woken when it is over', async () => {
  const argocd = new Argo();
  argocd.shown = appState({ sync: 'OutOfSync' });
  const app = await start(argocd);
  const startedAtMs = argocd.clock.now();
  const operation = { phase: 'Running', message: 'waiting for completion of hook', startedAtMs };
  argocd.found = appState({ sync: 'OutOfSync', isOperating: true, operation, reconciledAtMs: startedAtMs + 60_000 });
  await follow(app, MISSING, 600_000);

  const count = (step: string): number => argocd.asked.filter((each) => each === step).length;
  expect([count('refresh'), count('sync')]).toEqual([1, 0]);
  // Ten minutes: at least one in ten seconds, at most twenty in a minute.
  expect(count('read')).toBeGreaterThan(60);
  expect(count('read')).toBeLessThan(200);
  const says = expect.stringMatching(
    /has been Running since .*: waiting for .*hook. To end it: argocd app terminate-op runners$/,
  );
  expect(app.apps.wakes.get(KEY)?.state.last).toEqual({ is: 'busy', says });

  argocd.shown = appState({ sync: 'OutOfSync' });
  argocd.found = undefined;
  await follow(app, MISSING, 10_000);
  expect(argocd.asked.slice(-2)).toEqual(['refresh', 'sync']);
});

it.each<[string, Partial<AppState>, object]>([
  ['warnings', { warnings: ['XWarning: zzz', 'Y: zz'] }, { is: 'in-sync', says: 'XWarning: zzz; Y: zz' }],
  [
    'why it is left alone',
    { isSkipped: true, errors: [{ type: 'Skipped', message: 'annotation', stops: true }] },
    { is: 'error', message: 'annotation' },
  ],
])('an Application tells %s of Argo CD after a wake', async (_, over, outcome) => {
  const argocd = new Argo();
  argocd.shown = appState(over);
  const app = await start(argocd);
  await follow(app, MISSING, 1_000);

  expect(app.apps.wakes.get(KEY)?.state.last).toEqual(outcome);
});

it('an Application is not read while it is woken: each wake tells the same', async () => {
  const argocd = new Argo();
  const app = await start(argocd);
  await follow(app, MISSING, 600_000);

  const reads = argocd.asked.filter((step) => step === 'read').length;
  expect(reads - 1).toBe(argocd.asked.filter((step) => step === 'refresh').length);
});

it.each<[string, Partial<AppState>]>([
  ['an error that Argo CD has kept', { errors: [KEPT_ERROR] }],
  ['a Job of ours that Argo CD misses', { sync: 'OutOfSync', jobs: [{ ...JOB, outOfSync: true }] }],
  ['an Application that was never compared', { sync: 'Unknown' }],
])('an Application is woken within a minute for %s, at the start at once', async (_, over) => {
  const early = new Argo();
  Object.assign(early, { shown: appState(over), found: appState() });
  await follow(await start(early), WELL, 5_000);
  expect(early.asked).toContain('refresh');

  const late = new Argo();
  const app = await start(late);
  await follow(app, WELL, 5_000);
  Object.assign(late, { shown: appState(over), found: appState() });
  await follow(app, WELL, 65_000);
  expect(late.asked.filter((step) => step === 'refresh')).toHaveLength(1);
});

it.each<[string, Partial<AppState>]>([
  ['an operation', { isOperating: true }],
  ['a refresh', { refreshPending: true }],
])(
  'an Application is not woken for a Job out of sync while %s is under way, but when it has ended',
  async (_, over) => {
    const argocd = new Argo();
    const missed: Partial<AppState> = { sync: 'OutOfSync', jobs: [{ ...JOB, outOfSync: true }] };
    argocd.shown = appState({ ...missed, ...over });
    const app = await start(argocd);
    await follow(app, WELL, 300_000);
    expect(new Set(argocd.asked)).toEqual(new Set(['read']));

    Object.assign(argocd, { shown: appState(missed), found: appState() });
    await follow(app, WELL, 65_000);
    expect(argocd.asked.filter((step) => step === 'refresh')).toHaveLength(1);
  },
);

it('an Application is not woken for an error while there is no plan: its generator would fail, too', async () => {
  const argocd = new Argo();
  const app = await start(argocd);
  argocd.found = appState({ errors: [KEPT_ERROR] });
  app.apps.follow(KEY, MISSING);
  await argocd.clock.pass(100);
  await follow(app, NO_PLAN, 600_000);

  expect(argocd.asked.filter((step) => step === 'refresh')).toHaveLength(1);
});

it('an Application is woken when a question has failed', async () => {
  const argocd = new Argo();
  argocd.failure = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');
  const app = await start(argocd);
  argocd.failure = undefined;
  await follow(app, WELL, 5_000);

  expect(argocd.asked.slice(-2)).toEqual(['read', 'refresh']);
  expect(app.apps.troubles).toEqual([]);
});

it('an Application is refreshed less and less often while Argo CD answers reads and fails at the sync', async () => {
  const argocd = new Argo();
  argocd.shown = appState({ sync: 'OutOfSync' });
  const app = await start(argocd);
  argocd.sync = async () => {
    argocd.asked.push('sync');
    throw new Failure('GR-ARGOCD-08', 1, 'an error of the server (500).', 'server-error');
  };
  await follow(app, MISSING, 600_000);

  const refreshes = argocd.asked.filter((step) => step === 'refresh').length;
  expect(refreshes).toBe(argocd.asked.filter((step) => step === 'sync').length);
  expect(refreshes).toBeGreaterThan(6);
  // 1 + 2 + 4 + 8 + 16 + 32 s, then 60 s each. Every refresh costs Argo CD seconds of a processor.
  expect(refreshes).toBeLessThan(20);
});

it('an Application is left alone when the question of a minute has failed: nothing is known to be wrong', async () => {
  const argocd = new Argo();
  const app = await start(argocd);
  argocd.failure = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');
  await follow(app, WELL, 295_000);

  expect(argocd.asked).toEqual(Array.from({ length: 5 }, () => 'read'));
  expect(app.apps.troubles).toEqual([]);
});

it('an Application believes a wake more than a read that began before it', async () => {
  const argocd = new Argo();
  const release = argocd.hold();
  argocd.shown = appState({ jobs: [JOB] });
  const app = await start(argocd);
  // The wake's own requests are answered at once, the first read only at the end.
  const { shown } = argocd;
  argocd.hold()();
  argocd.found = appState({ jobs: [LATER] });
  await follow(app, MISSING, 5_000);
  argocd.shown = shown;
  release();
  await argocd.clock.pass(0);

  expect(printed(app)).toEqual(['runners/ci-8-1-0123abcd']);
});

it('an Application believes a wake more than a read that was sent beside it and came later', async () => {
  const argocd = new Argo();
  const app = await start(argocd);
  argocd.refresh = async () => {
    await pause(argocd.clock, 1_000);
    return appState({ sync: 'OutOfSync', jobs: [LATER] });
  };
  argocd.shown = appState({ jobs: [JOB] });
  app.apps.follow(KEY, MISSING);
  await argocd.clock.pass(500);
  // Gitea fails for a moment during the wake, so Argo CD is asked.
  app.apps.follow(KEY, NO_PLAN);
  const before = argocd.shown;
  argocd.read = async () => {
    await pause(argocd.clock, 2_000);
    return before;
  };
  app.apps.follow(KEY, MISSING);
  await argocd.clock.pass(2_800);

  expect(printed(app)).toEqual(['runners/ci-8-1-0123abcd']);
});

const never = <T>(): Promise<T> => new Promise(() => undefined);

describe('what is told', () => {
  it('serve tells each wake with its times and steps, and each question that failed', async () => {
    const argocd = new Argo();
    const onNews = vi.fn();
    const { apps, told } = await start(argocd, { onNews });
    expect(onNews).toHaveBeenCalledTimes(1);
    argocd.refresh = async () => {
      await pause(argocd.clock, 700);
      return appState();
    };
    apps.follow(KEY, MISSING);
    await argocd.clock.pass(1_000);
    apps.follow(KEY, WELL);

    const woken = told.filter(({ is }) => is === 'woken');
    expect(woken).toMatchObject([{ application: KEY, outcome: { is: 'in-sync' }, ms: 700, waitedMs: 0 }]);
    expect(woken).toMatchObject([{ steps: [{ step: 'read' }, { step: 'refresh' }] }]);
    expect(onNews).toHaveBeenCalledTimes(2);

    argocd.failure = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');
    await argocd.clock.pass(60_000);
    expect(told.slice(1)).toMatchObject([{ is: 'ask-failed', application: KEY, failure: { code: 'GR-HTTP-01' } }]);
    expect(onNews).toHaveBeenCalledTimes(3);
  });

  it('serve does not tell what somebody else’s sync said, of an Application that does not manage the group', async () => {
    const argocd = new Argo();
    const { apps, told } = await start(argocd);
    const operation = { phase: 'Failed', message: 'one or more objects failed to apply' } as const;
    argocd.shown = appState({ manages: () => false, operation });
    apps.follow(KEY, MISSING);
    await argocd.clock.pass(1_000);

    expect(told.flatMap((event) => (event.is === 'woken' ? event.outcome : []))).toEqual([{ is: 'foreign' }]);
  });

  it.each(
    (['gone', 'closed'] as const).flatMap((end) => (['Synced', 'OutOfSync'] as const).map((sync) => ({ end, sync }))),
  )('is nothing of a wake whose Application or queue is $end, and no more is asked: $sync', async ({ end, sync }) => {
    const argocd = new Argo();
    const { apps, queue, told } = await start(argocd);
    apps.follow(KEY, MISSING);
    argocd.refresh = async () => {
      await pause(argocd.clock, 700);
      return appState({ sync });
    };
    await argocd.clock.pass(500);
    if (end === 'gone') apps.keep(new Map());
    else queue.close();
    expect(queue.rows()).toEqual([]);
    await argocd.clock.pass(5_000);

    expect(argocd.asked).toEqual(['read', 'read']);
    expect(told).toEqual([]);
  });

  it.each(['read', 'refresh'] as const)('is no mistake of ours, which ends the process: %s', async (step) => {
    const seen = strayErrors();
    const argocd = new Argo();
    argocd[step] = async () => {
      throw new TypeError(step);
    };
    const { apps, told } = await start(argocd);
    apps.follow(KEY, MISSING);
    await argocd.clock.pass(100);

    expect(seen[0]).toEqual(new TypeError(step));
    expect(told).toEqual([]);
  });

  it.each([
    new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable'),
    // An HTTP client rejects so if it is closed while it waits for its next try. Unhandled, it would fail this run.
    new DOMException('This operation was aborted', 'AbortError'),
  ])('is no question that fails after its Application is gone: %s', async (error) => {
    const argocd = new Argo();
    const release = argocd.hold();
    const onNews = vi.fn();
    const { apps, told } = await start(argocd, { onNews });
    apps.keep(new Map());
    argocd.failure = error;
    release();
    await argocd.clock.pass(100);

    expect(told).toEqual([]);
    expect(onNews).not.toHaveBeenCalled();
  });

  it.each([
    [
      { phase: 'Error' as const, message: 'no rights' },
      { is: 'synced', message: 'no rights' },
    ],
    [
      { phase: 'Failed' as const, message: 'not applied' },
      { is: 'synced', message: 'not applied' },
    ],
    [{ phase: 'Failed' as const, message: '' }, { is: 'synced' }],
    [{ phase: 'Succeeded' as const, message: 'all applied' }, { is: 'synced' }],
  ])('a wake is told with the reason why the last sync has failed: %j', async (operation, outcome) => {
    const argocd = new Argo();
    const app = await start(argocd);
    argocd.found = appState({ sync: 'OutOfSync', operation });
    await follow(app, MISSING, 1_000);

    expect(app.apps.wakes.get(KEY)?.state.last).toEqual(outcome);
  });
});

it('kept Applications are as they were when they are kept again, and are not asked again', async () => {
  const argocd = new Argo();
  argocd.shown = appState({ jobs: [JOB] });
  const app = await start(argocd);
  app.apps.follow(KEY, MISSING);
  await argocd.clock.pass(100);
  const before = app.apps.wakes.get(KEY);
  app.apps.keep(new Map([[KEY, [managedBy('runners')]]]));
  await argocd.clock.pass(0);

  expect(app.apps.wakes.get(KEY)).toEqual(before);
  expect(argocd.asked).toEqual(['read', 'read', 'refresh']);
});

it('kept Applications are woken for the groups that they have now, one of which is enough', async () => {
  const argocd = new Argo();
  argocd.shown = appState({ manages: ({ name }) => name === 'new', jobs: [JOB] });
  const app = await start(argocd);
  await follow(app, MISSING, 5_000);
  expect(argocd.asked).toEqual(['read', 'read']);

  app.apps.keep(new Map([[KEY, [managedBy('runners'), managedBy('runners', 'runners', 'new')]]]));
  await follow(app, MISSING, 60_000);
  expect(argocd.asked).toContain('refresh');
  expect(printed(app)).toEqual(['runners/ci-7-1-0123abcd']);
});

describe('the groups that Argo CD lists (law V213)', () => {
  const open = async (argocd: Argo) => {
    argocd.shown = appState({ groups: ['runners/ci'] });
    const { apps, clock } = await start(argocd);
    return async (...names: readonly string[]) => {
      apps.keep(new Map([[KEY, names.map((name) => managedBy('runners', 'runners', name))]]));
      await clock.pass(0);
      return [argocd.asked.length, ...(apps.wakes.get(KEY)?.listing ?? [])].join(' ');
    };
  };

  it('are asked for at once, and once, when there is a new one', async () => {
    const argocd = new Argo();
    const keep = await open(argocd);
    expect(await keep('ci')).toBe('1 runners/ci,true');

    argocd.shown = appState({ groups: ['runners/ci', 'runners/new'] });
    expect(await keep('ci', 'forged')).toBe('2 runners/ci,true runners/forged,false runners/new,true');
    expect(await keep('ci', 'forged', 'new')).toBe('2 runners/ci,true runners/forged,false runners/new,true');
  });

  it.each<[string, Partial<AppState>]>([
    ['is in error', { errors: [KEPT_ERROR] }],
    ['is not compared', { sync: 'Unknown' }],
  ])('stay as they were while the Application %s', async (_, over) => {
    const argocd = new Argo();
    const keep = await open(argocd);
    argocd.shown = appState({ groups: [], ...over });

    expect(await keep('ci', 'new')).toMatch(/^[2-9] runners\/ci,true$/);
  });
});

it('kept Applications are none without an Application', async () => {
  const { apps } = openApplications(new Argo(), new VirtualClock());
  apps.keep(new Map([['', [managedBy('runners')]]]));

  expect([...apps.wakes]).toEqual([]);
  expect(() => apps.keep(new Map([['argocd/other', []]]))).toThrow('no Application behind argocd/other');
});

it('kept Applications are done when all of them are', async () => {
  const argocd = new Argo();
  const { apps } = await start(argocd, { names: ['runners', 'other'] });
  apps.follow(KEY, MISSING);

  expect(apps.done).toBe(false);
});

it('kept Applications are asked eight at a time', async () => {
  const argocd = new Argo();
  argocd.hold();
  openApplications(argocd, argocd.clock, { names: Array.from({ length: 20 }, (_, n) => `app-${n}`) });
  await argocd.clock.pass(100);

  expect(argocd.asked).toHaveLength(8);
});

it('a question that is lost is asked again after a minute', async () => {
  const argocd = new Argo();
  argocd.hold();
  await start(argocd);
  await argocd.clock.pass(60_500);
  expect(argocd.asked).toHaveLength(1);

  await argocd.clock.pass(1_000);
  expect(argocd.asked).toHaveLength(2);
});

it('a question comes a minute after the last wake, which has told the same', async () => {
  const argocd = new Argo();
  const app = await start(argocd);
  await follow(app, WELL, 50_000);
  app.apps.follow(KEY, MISSING);
  await argocd.clock.pass(100);
  app.apps.follow(KEY, WELL);
  await argocd.clock.pass(58_900);
  expect(argocd.asked).toEqual(['read', 'read', 'refresh']);

  await argocd.clock.pass(1_100);
  expect(argocd.asked).toEqual(['read', 'read', 'refresh', 'read']);
});

it('a question is asked after an outage of Gitea, which may have left an error, also when a wake is due, and not while there is no plan yet', async () => {
  const argocd = new Argo();
  const app = await start(argocd);
  app.apps.follow(KEY, NO_PLAN);
  app.apps.follow(KEY, { ...MISSING, planning: { is: 'waiting' } });
  await argocd.clock.pass(10);
  expect(argocd.asked).toEqual(['read']);

  app.apps.follow(KEY, MISSING);
  await argocd.clock.pass(10);
  expect(argocd.asked).toEqual(['read', 'read']);
});

it('a question is believed less than a wake that is under way', async () => {
  const argocd = new Argo();
  const release = argocd.hold();
  argocd.shown = appState({ jobs: [JOB] });
  const app = await start(argocd);
  argocd.hold()();
  argocd.refresh = never;
  await follow(app, MISSING, 1_000);
  release();
  await argocd.clock.pass(0);

  expect(printed(app)).toEqual([]);
});

it.each<[string, Partial<AppState>]>([
  ['is not managed by it', { manages: () => false, jobs: [{ ...JOB, outOfSync: true }] }],
  ['has met an error that stops nothing', { errors: [{ ...KEPT_ERROR, stops: false }] }],
])('a question wakes nobody when the answer is of an Application that %s', async (_, over) => {
  const argocd = new Argo();
  argocd.shown = appState(over);
  await follow(await start(argocd), WELL, 20_000);

  expect(argocd.asked).toEqual(['read']);
});

it('a wake waits ten minutes for a refresh that is late', async () => {
  const argocd = new Argo();
  const app = await start(argocd);
  argocd.shown = appState({ refreshPending: true });
  argocd.refresh = async () => {
    throw new Failure('GR-HTTP-09', 1, 'no answer.', 'timeout');
  };
  await follow(app, MISSING, 590_000);
  expect(app.apps.troubles).toEqual([]);

  await follow(app, MISSING, 15_000);
  expect(app.apps.troubles).toMatchObject([expect.stringContaining('GR-ARGOCD-14')]);
});

it('a wake that never ends is given up a minute later, and comes again', async () => {
  const argocd = new Argo();
  const app = await start(argocd);
  argocd.shown = appState({ sync: 'OutOfSync' });
  argocd.sync = () => {
    argocd.asked.push('sync');
    return never();
  };
  await follow(app, MISSING, 660_000);
  expect(app.apps.troubles).toEqual([]);
  expect(argocd.asked).toEqual(['read', 'read', 'refresh', 'sync']);

  await follow(app, MISSING, 5_000);
  expect(app.apps.troubles).toMatchObject([expect.stringContaining('GR-SERVE-04')]);
  expect(argocd.asked.slice(4)).toEqual(['read', 'refresh', 'sync']);
});

/** Wakes by name, one place, each so long. 0: it fails at once. Below: it is of somebody else. */
function line(names: readonly string[], lastsMs: (name: string) => number, wakes = 1) {
  const argocd = new Argo();
  const woken: string[] = [];
  const { apps } = openApplications(argocd, argocd.clock, { names, wakes });
  const target: WakeTarget = argocd;
  Object.assign(target, {
    read: async ({ name }: { readonly name: string }) => appState({ manages: () => lastsMs(name) >= 0 }),
    refresh: async ({ name }: { readonly name: string }): Promise<AppState> => {
      woken.push(name);
      if (lastsMs(name) === 0) throw new Failure('GR-ARGOCD-04', 1, 'refused.');
      await pause(argocd.clock, lastsMs(name));
      return appState();
    },
  });
  const want = (name: string, wish: Wish): void => apps.follow(keyOf(name), wish);
  /** Wakes an Application once. Nothing is wanted of it afterwards. */
  const once = async (name: string): Promise<void> => {
    want(name, MISSING);
    await argocd.clock.pass(lastsMs(name) + 31);
    want(name, WELL);
  };
  return { apps, clock: argocd.clock, once, want, woken };
}

/** Returns in how many seconds the next wake begins beside a hanging one. */
async function nextAfterS(past: readonly number[]): Promise<number> {
  const names = [...past.map((_, n) => `past-${n}`), 'hangs', 'next'];
  const { clock, once, want, woken } = line(names, (name) => past[names.indexOf(name)] ?? 600_000);
  await clock.pass(0);
  for (const name of names.slice(0, -2)) await once(name);
  woken.length = 0;
  want('hangs', MISSING);
  await clock.pass(40);
  want('next', MISSING);
  for (let second = 0; second < 100; second += 1) {
    if (woken.includes('next')) return second;
    await clock.pass(1_000);
  }
  return Number.POSITIVE_INFINITY;
}

it('turns of wakes come when the one before hangs, compared with the newest eight', async () => {
  const slow = Array.from({ length: 8 }, () => 10_000);
  const quick = Array.from({ length: 8 }, () => 1_000);

  expect(await nextAfterS([...quick, ...slow])).toBe(40);
  expect(await nextAfterS([...slow, ...quick])).toBe(5);
});

it('turns of wakes are not hurried by wakes that ended before a refresh: they tell nothing of how fast Argo CD is', async () => {
  expect(await nextAfterS([10_000, 0, 0, 0, 0])).toBe(40);
  expect(await nextAfterS([10_000, -1, -1, -1, -1])).toBe(40);
});

it('wakes may hang 120 at a time', async () => {
  const names = Array.from({ length: 160 }, (_, n) => `app-${n}`);
  const { clock, want, woken } = line(names, () => 3_600_000, 20);
  await clock.pass(1_000);
  for (const name of names) want(name, MISSING);
  await clock.pass(600_000);

  expect(new Set(woken).size).toBe(140);
});

it('turns of wakes are not taken by one that is not wanted any more', async () => {
  const { clock, want, woken } = line(['first', 'second'], () => 1_000);
  want('first', MISSING);
  await clock.pass(100);
  want('second', MISSING);
  await clock.pass(500);
  for (const name of ['first', 'second']) want(name, WELL);
  await clock.pass(60_000);

  expect(woken).toEqual(['first']);
});

it('turns of wakes go round among the namespaces', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const { apps, clock, want, woken } = line(names, () => 1_000);
  apps.keep(new Map(names.map((name) => [keyOf(name), [managedBy(name, name === 'd' ? 'one' : 'many')]])));
  for (const name of names) want(name, MISSING);
  await clock.pass(2_000);

  expect(woken).toEqual(['a', 'd']);
});
