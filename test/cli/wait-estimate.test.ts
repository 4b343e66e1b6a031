/** Tests the wait time of held jobs: the arithmetic, and the error of the estimate in simulated queues. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { durationsIn, estimateWaits } from '../../src/answers/wait-estimate.ts';
import type { Job } from '../../src/planner/evidence.ts';
import { randomFrom } from '../config/pods/random-template.ts';
import { done, job, NOW, running } from '../support/scenario.ts';

const MINUTE = 60_000;

/** A finished job with this name. */
function finished(id: number, name: string, ms: number, over: Partial<Job> = {}): Job {
  const completedAtMs = NOW - id * 1000;
  return done(id, 'r', { name, startedAtMs: completedAtMs - ms, completedAtMs, ...over });
}

describe('a wait', () => {
  const history = [1, 2, 3].map((id) => finished(id, 'build', id * MINUTE));

  it('a wait ends when the first runner at work is expected to, and then the start of the next one', () => {
    const atWork = [
      running(10, 'a', { name: 'build', startedAtMs: NOW - MINUTE }),
      running(11, 'b', { name: 'build', startedAtMs: NOW }),
    ];

    const waits = estimateWaits({ cap: 2, atWork, line: [job(20, { name: 'build' })] }, durationsIn(history), NOW);

    // Only builds of more than a minute tell how long the first one still takes: two or three minutes.
    expect(waits).toEqual([{ ms: 2 * MINUTE + 5_000, fromMs: MINUTE + 5_000, toMs: 2 * MINUTE + 5_000, samples: 3 }]);
  });

  it('grows by the jobs before', () => {
    const line = [20, 21, 22].map((id) => job(id, { name: 'build' }));

    const waits = estimateWaits({ cap: 1, atWork: [], line }, durationsIn(history), NOW);

    expect(waits.map(({ ms }) => ms)).toEqual([5_000, 2 * MINUTE + 10_000, 4 * MINUTE + 15_000]);
  });

  it('a wait has no slot until a lowered cap is reached', () => {
    const atWork = [
      running(10, 'a', { name: 'build', startedAtMs: NOW }),
      running(11, 'b', { name: 'build', startedAtMs: NOW - 2 * MINUTE }),
    ];

    const [wait] = estimateWaits({ cap: 1, atWork, line: [job(20, { name: 'build' })] }, durationsIn(history), NOW);

    expect(wait?.ms).toBe(2 * MINUTE + 5_000);
  });

  test.each<[string, number, readonly Job[]]>([
    ['a cap of 0', 0, history],
    ['nothing that has finished', 1, []],
    ['too little that has finished', 1, history.slice(1)],
  ])('a wait is not told with %s', (_, cap, jobs) => {
    expect(estimateWaits({ cap, atWork: [], line: [job(20, { name: 'build' })] }, durationsIn(jobs), NOW)).toEqual([]);
  });

  it('a wait is told by jobs of the same name, else of the repository, else by all; the newest 20 count', () => {
    const many = Array.from({ length: 30 }, (_, id) => finished(id, 'build', id < 20 ? 1000 : 9000));
    const durations = durationsIn([
      ...many,
      ...[1, 2, 3].map((id) => finished(100 + id, 'x', 5000, { repository: 'acme/api' })),
    ]);

    expect(durations(job(1, { name: 'build' }))).toEqual(Array(20).fill(1000));
    expect(durations(job(1, { name: 'other' }))).toEqual(Array(20).fill(1000));
    expect(durations(job(1, { name: 'other', repository: 'acme/api' }))).toEqual([5000, 5000, 5000]);
    expect(durations(job(1, { repository: 'acme/new' })).length).toBe(20);
  });
});

interface Outcome {
  readonly estimatedMs: number;
  readonly actualMs: number;
  readonly isWithin: boolean;
}

/** Names of jobs, and the median of their time. Each time is spread log-normally around it, like real builds. */
const NAMES: readonly (readonly [string, number])[] = [
  ['lint', 0.7 * MINUTE],
  ['test', 4 * MINUTE],
  ['build', 8 * MINUTE],
];
const SPREAD = 0.4;

/**
 * Simulates one queue at one moment: the estimate, and the real wait when each runner takes the next job. Starts take 2
 * to 10 s.
 */
function simulate(seed: number): readonly Outcome[] {
  const next = randomFrom(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const pick = () => NAMES[Math.floor(next() * NAMES.length)] ?? ['test', MINUTE];
  const time = (median: number): number => median * Math.exp(SPREAD * normal());
  const history = Array.from({ length: 60 }, (_, id) => {
    const [name, median] = pick();
    return finished(1000 + id, name, time(median));
  });
  const cap = 1 + Math.floor(next() * 10);
  const ends: number[] = [];
  const atWork = Array.from({ length: cap }, (_, id) => {
    const [name, median] = pick();
    const total = time(median);
    const ran = total * next();
    ends.push(total - ran);
    return running(id + 1, `r${id}`, { name, startedAtMs: NOW - ran });
  });
  const line = Array.from({ length: 1 + Math.floor(next() * 20) }, (_, id) => job(100 + id, { name: pick()[0] }));
  const estimates = estimateWaits({ cap, atWork, line }, durationsIn(history), NOW);
  return line.map(({ name }, index) => {
    ends.sort((a, b) => a - b);
    const actualMs = (ends.shift() ?? 0) + 2_000 + 8_000 * next();
    ends.push(actualMs + time(NAMES.find(([each]) => each === name)?.[1] ?? 0));
    const { ms, fromMs, toMs } = estimates[index] ?? { ms: 0, fromMs: 0, toMs: 0 };
    return { estimatedMs: ms, actualMs, isWithin: actualMs >= fromMs && actualMs <= toMs };
  });
}

test('the error of an estimate in 400 simulated queues is what docs/explain.md says', () => {
  const outcomes = Array.from({ length: 400 }, (_, seed) => simulate(seed + 1)).flat();
  const errors = outcomes
    .map(({ estimatedMs, actualMs }) => Math.abs(estimatedMs - actualMs) / actualMs)
    .sort((a, b) => a - b);
  const percent = (part: number): string => `${Math.round(100 * part)} %`;
  const median = percent(errors[Math.floor(errors.length / 2)] ?? 1);
  const worst = percent(errors[Math.floor(errors.length * 0.9)] ?? 1);
  const within = percent(outcomes.filter(({ isWithin }) => isWithin).length / outcomes.length);

  expect(readFileSync('docs/explain.md', 'utf8')).toContain(
    `median error ${median}, nine of ten below ${worst}; ${within} of the waits ended within the range`,
  );
});
