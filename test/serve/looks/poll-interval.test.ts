import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AnnouncedJob,
  afterAnnouncement,
  afterFailure,
  afterLook,
  newPace,
  nextLookMs,
  type PollPace,
} from '../../../src/serve/looks/poll-interval.ts';

const SHORTEST_MS = 5000;
const NO_CHANCE = 0.5;

function queued(id: number): AnnouncedJob {
  return { id, status: 'queued' };
}

function waitOf(pace: PollPace): number {
  return nextLookMs(pace, NO_CHANCE, SHORTEST_MS);
}

/** Looks that each show one more job, which a webhook announced. */
function afterProofs(count: number): {
  readonly pace: PollPace;
  readonly jobs: readonly AnnouncedJob[];
  readonly nowMs: number;
} {
  let pace = afterLook(newPace(SHORTEST_MS), [], 0, SHORTEST_MS);
  const jobs: AnnouncedJob[] = [];
  for (let id = 1; id <= count; id += 1) {
    pace = afterAnnouncement(pace, queued(id), id * 10_000);
    jobs.push(queued(id));
    pace = afterLook(pace, jobs, id * 10_000 + 100, SHORTEST_MS);
  }
  return { pace, jobs, nowMs: (count + 1) * 10_000 };
}

it('the poll interval begins with the shortest', () => {
  expect(waitOf(newPace(SHORTEST_MS))).toBe(5000);
});

it('the poll interval grows step by step to a minute while webhooks announce every change', () => {
  const waits = Array.from({ length: 9 }, (_, count) => waitOf(afterProofs(count).pace));

  expect(waits).toEqual([5000, 7500, 11_250, 16_875, 25_313, 37_970, 56_955, 60_000, 60_000]);
});

it('the poll interval stays where it is while nothing changes, with or without webhooks about other jobs', () => {
  const { pace, jobs, nowMs } = afterProofs(3);

  const later = afterLook(afterAnnouncement(pace, queued(99), nowMs), jobs, nowMs + 60_000, SHORTEST_MS);

  expect(waitOf(later)).toBe(waitOf(pace));
});

it('the poll interval takes the jobs of the first look for no change', () => {
  const pace = afterLook(newPace(SHORTEST_MS), [queued(1), queued(2)], 0, SHORTEST_MS);

  expect(waitOf(afterLook(pace, [queued(1), queued(2)], 60_000, SHORTEST_MS))).toBe(5000);
  expect(pace.doubtful.size).toBe(0);
});

it('the poll interval is the shortest for one look after a change without a webhook, and as before when the webhook was only late', () => {
  const { pace, jobs, nowMs } = afterProofs(7);
  const more = [...jobs, queued(50)];

  const doubting = afterLook(pace, more, nowMs, SHORTEST_MS);
  const settled = afterAnnouncement(doubting, queued(50), nowMs + 1200);

  expect(waitOf(doubting)).toBe(5000);
  expect(waitOf(settled)).toBe(60_000);
  expect(waitOf(afterLook(settled, more, nowMs + 6000, SHORTEST_MS))).toBe(60_000);
});

it('the poll interval is not stretched by what was announced more than 15 s before: a webhook has a look at once', () => {
  const { pace, jobs, nowMs } = afterProofs(3);
  const more = [...jobs, queued(50)];
  const early = afterAnnouncement(pace, queued(50), nowMs);
  const seenAfter = (ms: number, shown: readonly AnnouncedJob[] = more) =>
    afterLook(early, shown, nowMs + ms, SHORTEST_MS);

  expect([seenAfter(15_000), seenAfter(15_001)].map(({ doubtful }) => doubtful.size)).toEqual([0, 1]);
  // The change is remembered until then: a look may come before it can be seen.
  expect([seenAfter(15_000, jobs), seenAfter(15_001, jobs)].map((each) => each.announced.size)).toEqual([1, 0]);
  expect(afterLook(seenAfter(100, jobs), more, nowMs + 5_000, SHORTEST_MS).doubtful.size).toBe(0);
});

it('the poll interval gives a webhook five seconds before it counts as missed', () => {
  const { pace, jobs, nowMs } = afterProofs(7);
  const doubting = afterLook(pace, [...jobs, queued(50)], nowMs, SHORTEST_MS);
  const later = (ms: number) => afterLook(doubting, [...jobs, queued(50)], nowMs + ms, SHORTEST_MS);

  expect([later(4_999).doubtful.size, later(4_999).intervalMs]).toEqual([1, 60_000]);
  expect([later(5_000).doubtful.size, later(5_000).intervalMs]).toEqual([0, 5_000]);
});

it('the poll interval is up to a tenth shorter or longer by chance', () => {
  expect([0, 0.5, 1].map((chance) => nextLookMs(newPace(SHORTEST_MS), chance, SHORTEST_MS))).toEqual([
    4500, 5000, 5500,
  ]);
});

it.each([
  ['is taken by a runner', [{ id: 1, status: 'in_progress' }]],
  ['is done', []],
])('the poll interval counts as a change that a job %s', (_, now) => {
  const pace = afterLook(newPace(SHORTEST_MS), [queued(1)], 0, SHORTEST_MS);

  expect(afterLook(pace, now, 1000, SHORTEST_MS).doubtful.size).toBe(1);
});

it('the poll interval does not take an old announcement for a new one', () => {
  let pace = afterLook(newPace(SHORTEST_MS), [], 0, SHORTEST_MS);
  pace = afterLook(afterAnnouncement(pace, queued(1), 100), [queued(1)], 200, SHORTEST_MS);
  pace = afterLook(afterAnnouncement(pace, { ...queued(1), status: 'completed' }, 300), [], 400, SHORTEST_MS);

  expect(afterLook(pace, [queued(1)], 500, SHORTEST_MS).doubtful.size).toBe(1);
});

it('the poll interval doubles from look to look while they fail, up to five minutes, and is as before afterwards', () => {
  const { pace, jobs, nowMs } = afterProofs(7);
  const waits: number[] = [];
  let failing = pace;
  for (let look = 0; look < 9; look += 1) {
    failing = afterFailure(failing);
    waits.push(nextLookMs(failing, 0, SHORTEST_MS) / 1000);
  }

  expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
  expect(nextLookMs(failing, 0, SHORTEST_MS, true)).toBe(60_000);
  expect(waitOf(afterLook(failing, jobs, nowMs, SHORTEST_MS))).toBe(60_000);
});

it('the poll interval is up to a quarter shorter by chance while looks fail', () => {
  const failing = afterFailure(newPace(SHORTEST_MS));

  expect([0, 0.5, 1].map((chance) => nextLookMs(failing, chance, SHORTEST_MS))).toEqual([5000, 4375, 3750]);
});

it('the poll interval begins at 30 s while Gitea refuses the token: asking again does not help', () => {
  const { pace, jobs, nowMs } = afterProofs(7);
  const refused = afterFailure(pace, true);

  expect(nextLookMs(refused, 0, SHORTEST_MS)).toBe(30_000);
  expect(nextLookMs(afterFailure(refused, true), 0, SHORTEST_MS)).toBe(60_000);
  expect(nextLookMs(afterFailure(refused), 0, SHORTEST_MS)).toBe(5000);
  expect(waitOf(afterLook(refused, jobs, nowMs, SHORTEST_MS))).toBe(60_000);
  expect(nextLookMs(refused, 0, 90_000)).toBe(90_000);
});

it('the poll interval never gets shorter than asked for, also beyond a minute', () => {
  const first = afterLook(newPace(90_000), [], 0, 90_000);
  const proven = afterLook(afterAnnouncement(first, queued(1), 100), [queued(1)], 200, 90_000);

  expect([first, proven].map(({ intervalMs }) => intervalMs)).toEqual([90_000, 90_000]);
});

describe('in any history', () => {
  const job = fc.record({ id: fc.integer({ min: 1, max: 6 }), status: fc.constantFrom('queued', 'in_progress') });
  const step = fc.oneof(
    fc.record({ is: fc.constant('look' as const), jobs: fc.uniqueArray(job, { selector: ({ id }) => id }) }),
    fc.record({ is: fc.constant('webhook' as const), job }),
    fc.record({ is: fc.constant('failure' as const) }),
  );
  const history = fc.array(fc.tuple(fc.integer({ min: 1, max: 90_000 }), step), { maxLength: 40 });

  function play(pace: PollPace, what: typeof step extends fc.Arbitrary<infer T> ? T : never, nowMs: number): PollPace {
    switch (what.is) {
      case 'look':
        return afterLook(pace, what.jobs, nowMs, SHORTEST_MS);
      case 'webhook':
        return afterAnnouncement(pace, what.job, nowMs);
      case 'failure':
        return afterFailure(pace);
      default:
        return what satisfies never;
    }
  }

  it('the wait lies between the limits, give or take what chance may', () => {
    fc.assert(
      fc.property(history, fc.double({ min: 0, max: 0.999, noNaN: true }), (steps, random) => {
        let pace = newPace(SHORTEST_MS);
        let nowMs = 0;
        for (const [ms, what] of steps) {
          nowMs += ms;
          pace = play(pace, what, nowMs);

          const wait = nextLookMs(pace, random, SHORTEST_MS);

          expect(wait).toBeGreaterThanOrEqual(3750);
          expect(wait).toBeLessThanOrEqual(pace.trouble ? 300_000 : 66_000);
        }
      }),
    );
  });

  it('the interval is the shortest without a single webhook', () => {
    fc.assert(
      fc.property(history, (steps) => {
        let pace = newPace(SHORTEST_MS);
        let nowMs = 0;
        for (const [ms, what] of steps) {
          nowMs += ms;
          if (what.is !== 'webhook') pace = play(pace, what, nowMs);
        }

        expect(pace.intervalMs).toBe(5000);
      }),
    );
  });

  it('one change without a webhook brings the shortest within two looks, however long webhooks had come', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 5000, max: 90_000 }), (proofs, laterMs) => {
        const { pace, jobs, nowMs } = afterProofs(proofs);
        const more = [...jobs, queued(1000)];

        const first = afterLook(pace, more, nowMs, SHORTEST_MS);
        const second = afterLook(first, more, nowMs + laterMs, SHORTEST_MS);

        expect([waitOf(first), waitOf(second)]).toEqual([5000, 5000]);
      }),
    );
  });

  it('what is remembered does not grow without end', () => {
    let pace = newPace(SHORTEST_MS);
    for (let id = 1; id <= 10_000; id += 1) pace = afterAnnouncement(pace, queued(id), id);

    expect(pace.announced.size).toBe(1000);
    expect(afterLook(pace, [], 1_000_000, SHORTEST_MS).announced.size).toBe(0);
  });
});
