/** Makes a history from a seed: the CI afternoon of `make-history.ts`, in which CI jobs fail and runners of failed ones stay for a look. */
import type { GroupSpec, History, Push } from './history.ts';
import { makeHistory } from './make-history.ts';
import { Random } from './random.ts';

export function makeKeptHistory(seed: number): History {
  return withFailures(makeHistory(seed), new Random(seed + 1_000_000));
}

export function withFailures(history: History, random: Random): History {
  const groups = history.groups.map(
    (group): GroupSpec => (random.chance(0.8) ? { ...group, keepFailedS: random.pick([20, 60, 180]) } : group),
  );
  const often = random.pick([0.05, 0.2, 0.5]);
  const pushes = history.pushes.map(
    (push): Push => ({ ...push, fails: Array.from({ length: 8 }, () => random.chance(often)) }),
  );
  return { ...history, groups, pushes };
}
