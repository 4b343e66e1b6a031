/** Tests what a wake waits for: the table itself, and the scenarios of waking, played on the real queue in virtual time. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AppState } from '../../../src/clients/argocd/app-state.ts';
import { type Difference, mayWaitMs, NO_DIFFERENCE } from '../../../src/serve/seen/difference.ts';
import type { WakeTarget } from '../../../src/serve/waking/wake.ts';
import {
  failedOutcome,
  follow,
  isDone,
  NEVER_WOKEN,
  shownAfterMs,
  troubleOf,
  type WakeNews,
  type WakeState,
  waitText,
} from '../../../src/serve/waking/wake-state.ts';
import { pause } from '../../../src/shared/clock.ts';
import { Failure, type FailureKind } from '../../../src/shared/failure.ts';
import { appState, keyOf, NO_PLAN, openApplications, PLANNED } from '../../support/applications.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const missing = (...names: string[]): Difference => ({ ...NO_DIFFERENCE, missing: names });

/** `waking?`: the wake under way has lost its plan. */
type State = WakeState['is'] | 'waking?';
type News = WakeNews['is'];
const dueMs = ({ untilMs }: WakeState): number | undefined => untilMs;
type Of<E extends News> = Extract<WakeNews, { readonly is: E }>;

const NOW = 100_000;
const SYNCED: Of<'woken'> = { is: 'woken', outcome: { is: 'synced' } };
const REFUSED: Of<'woken'> = { is: 'woken', outcome: { is: 'failed', message: 'refused' } };
const wants = (...names: string[]): Of<'planned'> => ({ is: 'planned', difference: missing(...names), settled: true });
const NOTHING: Of<'planned'> = { is: 'planned', difference: NO_DIFFERENCE, settled: true };
const DOUBTFUL: Of<'planned'> = { is: 'planned', difference: missing('a'), settled: false };
const ILL: Of<'unwell'> = { is: 'unwell', outcome: { is: 'error', message: 'no Gitea' } };

const played = (state: WakeState, ...news: readonly WakeNews[]): WakeState =>
  news.reduce((was, each) => follow(was, each, NOW), state);

const nameOf = ({ difference, is }: WakeState): State => (is === 'waking' && !difference ? 'waking?' : is);

const GATHERING = played(NEVER_WOKEN, wants('a'));
const WAKING = played(GATHERING, { is: 'its-turn' });
const AT: { readonly [S in State]: WakeState } = {
  shown: NEVER_WOKEN,
  gathering: GATHERING,
  waking: WAKING,
  pausing: played(WAKING, SYNCED),
  unplanned: played(NEVER_WOKEN, { is: 'no-plan' }),
  'waking?': played(WAKING, { is: 'no-plan' }),
};

/** Event, next state, and in how many ms the Application may be woken. */
type Lines<E extends News> = readonly (readonly [Of<E>, State, number?])[];

/** Every state with all its events: a new one does not compile without its lines. */
const TABLE: { readonly [S in State]: { readonly [E in News]: Lines<E> } } = {
  shown: {
    planned: [
      [NOTHING, 'shown'],
      [wants('a'), 'gathering', 30],
      [DOUBTFUL, 'gathering', 1_000],
      [{ is: 'planned', difference: { ...NO_DIFFERENCE, untidy: ['old'] }, settled: true }, 'gathering', 10_000],
    ],
    'no-plan': [[{ is: 'no-plan' }, 'unplanned']],
    'its-turn': [[{ is: 'its-turn' }, 'shown']],
    woken: [[SYNCED, 'shown']],
    unwell: [
      [ILL, 'pausing', 0],
      [{ is: 'unwell' }, 'pausing', 0],
    ],
  },
  gathering: {
    planned: [
      [NOTHING, 'shown'],
      [wants('a', 'b'), 'gathering', 30],
    ],
    'no-plan': [[{ is: 'no-plan' }, 'unplanned']],
    'its-turn': [[{ is: 'its-turn' }, 'waking']],
    woken: [[SYNCED, 'gathering', 30]],
    // Trouble of Argo CD does not extend the wait: the wake is due as before.
    unwell: [[ILL, 'gathering', 30]],
  },
  waking: {
    planned: [
      [NOTHING, 'waking'],
      [wants('b'), 'waking'],
    ],
    'no-plan': [[{ is: 'no-plan' }, 'waking?']],
    'its-turn': [[{ is: 'its-turn' }, 'waking']],
    woken: [
      [SYNCED, 'pausing', 2_000],
      [{ is: 'woken', outcome: { is: 'in-sync' } }, 'pausing', 500],
      [{ is: 'woken', outcome: { is: 'busy' } }, 'pausing', 250],
      [{ is: 'woken', outcome: { is: 'error', message: 'no Gitea' } }, 'pausing', 5_000],
      [{ is: 'woken', outcome: { is: 'foreign' } }, 'pausing', 30_000],
      [REFUSED, 'pausing', 1_000],
    ],
    unwell: [[ILL, 'waking']],
  },
  pausing: {
    planned: [
      [NOTHING, 'shown'],
      [wants('a'), 'pausing', 2_000],
      // Something new need not wait for the fate of the old.
      [wants('a', 'b'), 'gathering', 30],
    ],
    'no-plan': [[{ is: 'no-plan' }, 'unplanned']],
    'its-turn': [[{ is: 'its-turn' }, 'waking']],
    woken: [[SYNCED, 'pausing', 2_000]],
    unwell: [[ILL, 'pausing', 2_000]],
  },
  unplanned: {
    planned: [
      [NOTHING, 'shown'],
      [wants('a'), 'gathering', 30],
    ],
    'no-plan': [[{ is: 'no-plan' }, 'unplanned']],
    'its-turn': [[{ is: 'its-turn' }, 'unplanned']],
    woken: [[SYNCED, 'unplanned']],
    unwell: [[ILL, 'unplanned']],
  },
  'waking?': {
    planned: [[wants('a'), 'waking']],
    'no-plan': [[{ is: 'no-plan' }, 'waking?']],
    'its-turn': [[{ is: 'its-turn' }, 'waking?']],
    woken: [
      [SYNCED, 'unplanned'],
      [REFUSED, 'unplanned'],
    ],
    unwell: [[ILL, 'waking?']],
  },
};

describe('the table', () => {
  const rows = Object.entries(TABLE).flatMap(([state, row]) =>
    Object.entries(row).map(([news, cell]) => ({ state: state as State, news, cell: cell as Lines<News> })),
  );
  const all = rows.flatMap(({ state, cell }) => cell.map(([news, then, inMs]) => ({ state, news, then, inMs })));

  it.each(all)('$state: $news leads to $then', ({ state, news, then, inMs }) => {
    const found = follow(AT[state], news, NOW);

    expect(nameOf(found)).toBe(then);
    expect(dueMs(found)).toBe(inMs === undefined ? undefined : NOW + inMs);
  });

  it.each(Object.entries(AT))('%s is reached', (name, state) => expect(nameOf(state)).toBe(name));

  it('the table has a line for each state and all that can happen in it', () => {
    expect(rows.filter(({ cell }) => cell.length === 0)).toEqual([]);
  });

  it('the table is done when it shows its plan, has none, or was woken in vain', () => {
    const failed = played(WAKING, REFUSED);

    expect(Object.values(AT).filter(isDone)).toEqual([AT.shown, AT.unplanned]);
    expect([failed.is, isDone(failed), troubleOf(failed)]).toEqual(['pausing', true, 'refused']);
    expect(isDone(played(failed, wants('a', 'b')))).toBe(true);
    expect(isDone(played(failed, { is: 'its-turn' }))).toBe(false);
  });

  it('remembers an error of Argo CD while there is no plan, and wakes for it with the next one', () => {
    const found = played(AT.unplanned, ILL, NOTHING);

    expect([found.is, dueMs(found)]).toEqual(['pausing', NOW]);
  });

  it('the table shows a plan when nothing differs any more after a sync, not before', () => {
    const ended = follow(AT.pausing, NOTHING, NOW + 700);
    const during = played(WAKING, NOTHING);

    expect(shownAfterMs(AT.pausing, ended, NOW + 700)).toBe(700);
    expect(shownAfterMs(WAKING, during, NOW)).toBeUndefined();
    expect(shownAfterMs(during, follow(during, SYNCED, NOW + 500), NOW + 500)).toBe(500);
  });

  it('the table shows no plan when the cluster came to it without a sync', () => {
    const ended = played(WAKING, { is: 'woken', outcome: { is: 'in-sync' } });

    expect(shownAfterMs(ended, played(ended, NOTHING), NOW)).toBeUndefined();
  });

  it('pauses twice as long after each wake that did not help, and begins anew for something new, and after a plan that was shown', () => {
    const turn: WakeNews = { is: 'its-turn' };
    const wakeEnds: WakeNews = { is: 'woken', outcome: { is: 'error', message: 'no Gitea' } };

    expect(dueMs(played(AT.pausing, turn, SYNCED))).toBe(NOW + 4_000);
    expect(dueMs(played(AT.pausing, turn, SYNCED, turn, SYNCED))).toBe(NOW + 8_000);
    expect(dueMs(played(AT.pausing, wants('a', 'b'), turn, SYNCED))).toBe(NOW + 2_000);
    expect(dueMs(played(NEVER_WOKEN, ILL, turn, wakeEnds))).toBe(NOW + 5_000);
    expect(dueMs(played(AT.pausing, turn, SYNCED, NOTHING, ILL, turn, wakeEnds))).toBe(NOW + 5_000);
  });

  it.each(['in-sync', 'busy'] as const)('the table has no pause left after a plan that was shown: %s', (is) => {
    const vain: readonly WakeNews[] = [{ is: 'its-turn' }, { is: 'woken', outcome: { is } }];
    const paused = played(GATHERING, ...vain, ...vain, ...vain, ...vain);
    expect(dueMs(paused)).toBeGreaterThan(NOW + 1_000);

    const found = played(paused, NOTHING, wants('a'));

    expect([found.is, dueMs(found)]).toEqual(['gathering', NOW + 30]);
  });

  it('begins with short pauses after an operation of somebody else', () => {
    const busy: WakeNews = { is: 'woken', outcome: { is: 'busy' } };
    const synced: WakeNews = { is: 'woken', outcome: { is: 'synced' } };
    const turn: WakeNews = { is: 'its-turn' };
    const once = dueMs(played(WAKING, synced));
    expect(dueMs(played(WAKING, busy, turn, busy, turn, synced))).toBe(once);
    expect(dueMs(played(WAKING, synced, turn, synced))).toBeGreaterThan(once ?? 0);
    expect(dueMs(played(WAKING, busy, turn, busy))).toBeGreaterThan(dueMs(played(WAKING, busy)) ?? 0);
  });

  it('begins with short pauses after an outage of Argo CD', () => {
    const away: WakeNews = { is: 'woken', outcome: { is: 'failed', message: 'away', away: true } };
    const turn: WakeNews = { is: 'its-turn' };

    expect(dueMs(played(WAKING, away, turn, away, turn, REFUSED))).toBe(NOW + 1_000);
    expect(dueMs(played(WAKING, away, turn, away, turn, REFUSED, turn, REFUSED))).toBe(NOW + 2_000);
  });

  it.each<WakeNews>([NOTHING, { is: 'no-plan' }])(
    'lets a new difference wait for others after there was none: $is',
    (news) => {
      expect(dueMs(follow(played(GATHERING, news), wants('a'), NOW + 1_000))).toBe(NOW + 1_030);
    },
  );

  it('lets an old Job wait for others, but not with a waiting CI job among them', () => {
    const untidy = { ...NO_DIFFERENCE, untidy: ['old'] };
    const waits = played(NEVER_WOKEN, { is: 'planned', difference: untidy, settled: true });
    const both = { ...untidy, missing: ['new'] };

    expect(dueMs(follow(waits, { is: 'planned', difference: both, settled: true }, NOW + 4_000))).toBe(NOW + 30);
  });

  it('the table does not doubt for longer than a second, however fast runners end', () => {
    expect(dueMs(follow(played(NEVER_WOKEN, DOUBTFUL), DOUBTFUL, NOW + 900))).toBe(NOW + 1_000);
  });

  it('the table gives an Application that needs long to compare as long to apply', () => {
    expect(dueMs(played(WAKING, { ...SYNCED, comparedMs: 9_000 }))).toBe(NOW + 9_000);
  });

  it.each<[string, WakeNews[]]>([
    ['after an Application that was in sync', [{ is: 'woken', outcome: { is: 'in-sync' } }, wants('a', 'b')]],
    ['for a job that came during a wake', [wants('a', 'b'), SYNCED]],
  ])('the table does not wait for the fate of the old %s', (_, news) => {
    const found = played(WAKING, ...news);

    expect([found.is, dueMs(found)]).toEqual(['gathering', NOW + 30]);
  });

  it('the table is woken again after a wake that failed, although nothing differs any more', () => {
    const found = played(WAKING, REFUSED, NOTHING);

    expect([found.is, dueMs(found)]).toEqual(['pausing', NOW + 1_000]);
  });

  it('the table knows why Argo CD is in trouble: by the last wake, or as it was found', () => {
    const failed = played(WAKING, REFUSED);

    expect(troubleOf(played(NEVER_WOKEN, ILL))).toBe('no Gitea');
    expect(troubleOf(played(failed, ILL))).toBe('no Gitea');
    expect(troubleOf(played(failed, { is: 'unwell' }))).toBe('refused');
    expect(troubleOf({ last: { is: 'error', message: 'why' } })).toBe('why');
    expect(failedOutcome(new Failure('GR-ARGOCD-04', 1, 'refused.'))).toEqual({
      is: 'failed',
      message: 'GR-ARGOCD-04 refused.',
    });
  });

  it('the table says how the last wake ended', () => {
    expect(waitText(AT.pausing, String)).toContain('ended with synced; the next one comes at 102000');
    expect(waitText(played(NEVER_WOKEN, { is: 'unwell' }), String)).toContain('ended with nothing');
  });

  const difference = fc.record({
    missing: fc.subarray(['a', 'b', 'c']),
    unpinned: fc.subarray(['d']),
    surplus: fc.subarray(['e']),
    untidy: fc.subarray(['f']),
  });
  const outcome = fc.constantFrom(
    { is: 'synced' as const },
    { is: 'in-sync' as const },
    { is: 'busy' as const },
    { is: 'foreign' as const },
    { is: 'error' as const, message: 'no Gitea' },
    { is: 'failed' as const, message: 'refused' },
    { is: 'failed' as const, message: 'away', away: true as const },
  );
  const history = fc.array(
    fc.tuple(
      fc.integer({ min: 0, max: 90_000 }),
      fc.oneof<fc.Arbitrary<WakeNews>[]>(
        fc.record({ is: fc.constant('planned' as const), difference, settled: fc.boolean() }),
        fc.constant({ is: 'no-plan' as const }),
        fc.constant({ is: 'its-turn' as const }),
        fc.record({ is: fc.constant('woken' as const), outcome }),
        fc.constant({ is: 'unwell' as const }),
        fc.record({ is: fc.constant('unwell' as const), outcome }),
      ),
    ),
    { maxLength: 60 },
  );

  it('forgets no difference and no error in any history: it is woken within a minute, or there is no plan', () => {
    fc.assert(
      fc.property(history, (steps) => {
        let nowMs = 0;
        let state = NEVER_WOKEN;
        for (const [ms, news] of steps) {
          nowMs += ms;
          state = follow(state, news, nowMs);
          const isWanted = mayWaitMs(state.difference ?? NO_DIFFERENCE) !== undefined || state.owes;
          const due = dueMs(state);
          if (state.is === 'shown') expect(isWanted).toBe(false);
          if (state.is === 'gathering' || state.is === 'pausing') expect(isWanted).toBe(true);
          // Or as long as the slowest refresh of this history took, if that is more.
          if (due !== undefined) expect(due - nowMs).toBeLessThanOrEqual(60_000);
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** End of one wake. A function throws. */
type Ending = Partial<AppState> | (() => never);

const SYNC: Ending = { sync: 'OutOfSync' };
const IN_SYNC: Ending = { sync: 'Synced' };
const BROKEN: Ending = { sync: 'Unknown', errors: [{ type: 'ComparisonError', message: 'no Gitea', stops: true }] };

const fails = (code: string, kind?: FailureKind): Ending => {
  return () => {
    throw new Failure(code, 1, 'refused.', kind);
  };
};

const WAKE_MS = 500;

/** Starts an Application whose wakes last 500 ms and end as `endings` say. The last of them repeats. */
function start(...endings: readonly Ending[]) {
  const clock = new VirtualClock();
  const woken: number[] = [];
  const well = appState({ sync: 'OutOfSync' });
  let isRefreshing = false;
  const ending = (): Ending => endings[Math.min(woken.length, endings.length) - 1] ?? SYNC;
  const argocd: WakeTarget = {
    clock,
    read: async () => {
      if (!state().is.startsWith('waking') || isRefreshing) return { ...well, refreshPending: isRefreshing };
      woken.push(clock.steadyMs());
      const end = ending();
      if (typeof end !== 'function') return well;
      await pause(clock, WAKE_MS);
      return end();
    },
    refresh: async () => {
      isRefreshing = true;
      await pause(clock, WAKE_MS);
      isRefreshing = false;
      return { ...well, ...ending() };
    },
    sync: async () => 'started',
  };
  const { apps, queue, told } = openApplications(argocd, clock);
  const state = (): WakeState => apps.wakes.get(keyOf('runners'))?.state ?? NEVER_WOKEN;
  return {
    clock,
    apps,
    queue,
    woken,
    /** Returns how long after its wake each plan was shown. */
    shown: () => told.flatMap((event) => (event.is === 'plan-shown' ? [event.ms] : [])),
    differSince: () => state().differSince,
    want: (difference: Difference, settled = true) =>
      apps.follow(keyOf('runners'), { planning: PLANNED, difference, settled }),
    rest: () => apps.follow(keyOf('runners'), { planning: NO_PLAN, difference: NO_DIFFERENCE, settled: true }),
  };
}

it('an Application is woken once for many tellings of the same difference, and is done when the cluster shows the plan', async () => {
  const { apps, clock, want, woken, shown } = start();
  for (let at = 0; at < 1000; at += 1) {
    want(missing('a'));
    await clock.pass(1);
  }
  expect(apps.done).toBe(false);
  want(NO_DIFFERENCE);
  await clock.pass(600_000);

  expect(woken).toHaveLength(1);
  expect(shown()).toHaveLength(1);
  expect(apps.done).toBe(true);
});

it('an Application needs at most three wakes for a new job every millisecond of a second', async () => {
  const { clock, want, woken } = start();
  for (let at = 0; at < 1000; at += 1) {
    want(missing(...Array.from({ length: at + 1 }, (_, job) => `job-${job}`)));
    await clock.pass(1);
  }
  const during = woken.length;
  want(NO_DIFFERENCE);
  await clock.pass(60_000);

  expect(during).toBeGreaterThan(0);
  expect(during).toBeLessThanOrEqual(3);
});

it('an Application is woken again and again, later and later, while the cluster does not show the plan', async () => {
  const { clock, want, woken } = start(IN_SYNC);
  want(missing('a'));
  await clock.pass(300_000);
  const gaps = woken.slice(1).map((at, index) => at - (woken[index] ?? 0));

  expect(woken.length).toBeGreaterThan(5);
  expect(gaps).toEqual([...gaps].sort((a, b) => a - b));
  expect(Math.max(...gaps)).toBeLessThanOrEqual(60_500);
});

it('an Application does not care when the clock is set', async () => {
  const { clock, differSince, want, woken } = start(fails('GR-HTTP-01', 'unreachable'));
  want(missing('a'));
  await clock.pass(300);
  clock.aheadMs -= 3_600_000;
  await clock.pass(300);
  for (let second = 0; second < 10; second += 1) {
    want(missing('a'));
    await clock.pass(1_000);
  }

  expect(woken.length).toBeGreaterThan(1);
  expect(differSince().get('a')).toBe(0);
});

it('an Application is woken while Argo CD is in error although nothing differs any more, until it is well', async () => {
  const { apps, clock, want, woken } = start(BROKEN, BROKEN, BROKEN, IN_SYNC);
  want(missing('a'));
  await clock.pass(600);
  want(NO_DIFFERENCE);
  expect(apps.troubles).toEqual(['argocd/runners: no Gitea']);

  await clock.pass(600_000);
  expect(woken).toHaveLength(4);
  expect(apps.troubles).toEqual([]);
  expect(apps.done).toBe(true);
});

it.each(['unreachable', 'timeout', 'rate-limited', 'told-to-wait', 'server-error'] as const)(
  'notices within 5 s that Argo CD is back (%s)',
  async (kind) => {
    const { clock, want, woken } = start(fails('GR-ARGOCD-99', kind));
    want(missing('a'));
    await clock.pass(600_000);

    const gaps = woken.slice(1).map((at, index) => at - (woken[index] ?? 0));
    // A wake that fails lasts 500 ms here.
    expect(Math.max(...gaps)).toBe(4_500);
    expect(gaps.length).toBeLessThan(140);
  },
);

it('an Application is left alone by an Argo CD that refuses, also when new jobs keep coming', async () => {
  const { apps, clock, want, woken } = start(fails('GR-ARGOCD-04'));
  for (let second = 0; second < 60; second += 1) {
    want(missing(...Array.from({ length: second + 1 }, (_, job) => `job-${job}`)));
    await clock.pass(1_000);
  }

  expect(woken.length).toBeLessThan(10);
  expect(woken.length).toBeGreaterThan(3);
  expect(apps.troubles).toEqual(['argocd/runners: GR-ARGOCD-04 refused.']);
});

it.each(['its end', 'its removal'])('an Application is not woken after %s', async (what) => {
  const { apps, clock, queue, want, woken } = start();
  want(missing('a'));
  if (what === 'its end') await queue.close();
  else apps.keep(new Map());
  want(missing('b'));
  await clock.pass(60_000);

  expect(woken).toEqual([]);
});

it('an Application says since when each Job has not been that of the plan', async () => {
  const { clock, differSince, rest, want } = start(IN_SYNC);
  want(missing('a'));
  await clock.pass(7_000);
  want(missing('a', 'b'));
  expect([...differSince()]).toEqual([
    ['a', 0],
    ['b', 7_000],
  ]);

  want(missing('b'));
  await clock.pass(1_000);
  want(missing('a', 'b'));
  expect([...differSince()]).toEqual([
    ['a', 8_000],
    ['b', 7_000],
  ]);
  rest();
  expect(differSince().size).toBe(0);
});
