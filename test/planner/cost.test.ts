/** Tests that the cost of a plan does not grow with the age of jobs (P8), nor with rows times groups (V102). Work is counted, not timed. */
import { expect, it } from 'vitest';
import { group, job, NOW, named, planScene, row } from '../support/scenario.ts';

/**
 * Returns how often a plan of 300 queued jobs of that age reads the spawn timeout: once for each step of the replay.
 */
function stepsAt(ageMs: number): number {
  let steps = 0;
  const counted = Object.defineProperty(group({ maxActiveRunners: 300 }), 'spawnTimeoutMs', {
    enumerable: true,
    get: () => {
      steps += 1;
      return 300_000;
    },
  });
  const jobs = Array.from({ length: 300 }, (_, i) => job(i + 1, { createdAtMs: NOW - ageMs + i }));
  planScene({ groups: [counted], jobs });
  return steps;
}

it('a plan takes a few steps per job, however old the jobs are', () => {
  expect(stepsAt(30 * 86_400_000)).toBeLessThan(300 * 100);
});

it('the size of a runner is looked for among those of its own group', () => {
  let reads = 0;
  const sizeOf = (of: string, size: string) =>
    Object.defineProperty(group({ name: of }), 'size', {
      enumerable: true,
      get: () => {
        reads += 1;
        return size;
      },
    });
  const names = Array.from({ length: 100 }, (_, at) => `ci-${at}`);
  const groups = names.flatMap((name) => [group({ name }), sizeOf(name, 'small'), sizeOf(name, 'large')]);
  const planned = (most: number) => {
    reads = 0;
    planScene({
      groups,
      runners: Array.from({ length: most }, (_, id) => row(named(group({ name: 'ci-7' }), id + 1), { id })),
    });
    return reads;
  };
  const before = planned(0);

  expect(planned(100) - before).toBeLessThan(100 * 10);
});
