/** Tests that the cost of a plan does not grow with the age of jobs (P8). Work is counted, not timed. */
import { expect, it } from 'vitest';
import { group, job, NOW, planScene } from '../support/scenario.ts';

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
