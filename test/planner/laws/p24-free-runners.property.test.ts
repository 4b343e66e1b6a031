/** Law P24 (docs/spec.md) as a property. */
import { expect } from 'vitest';
import type { Group, Job } from '../../../src/planner/evidence.ts';
import { fc, test } from '../../support/property.ts';
import { group, job, live, named, planScene, running } from '../../support/scenario.ts';

/** `at`: when Gitea gives it away. Nobody knows. */
const anyJob = fc.record({ repository: fc.constantFrom('acme/web', 'acme/api'), isLarge: fc.boolean(), at: fc.nat() });

/** As Gitea: each runner gets the first job whose labels it has. */
function giveAway(line: readonly Job[], runners: readonly Group[]) {
  const left = [...line];
  return runners.flatMap((by) => {
    const nth = left.findIndex(({ labels }) => labels.every((label) => by.labels.includes(label)));
    const [begun] = nth < 0 ? [] : left.splice(nth, 1);
    return begun ? { repository: begun.repository, by } : [];
  });
}

test(
  'P24 whichever jobs Gitea gives the runners, no repository has more slots than its limit',
  [
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 0, max: 2 }),
    fc.array(anyJob, { maxLength: 4 }),
    fc.array(anyJob, { maxLength: 8 }),
    fc.boolean(),
  ],
  (weight, more, working, waiting, isLargeFirst) => {
    const limits = [{ key: 'runners/ci per repository', most: weight + more, per: 'repository' as const }];
    const base = group({ limits, maxActiveRunners: 30 });
    const large = group({ ...base, size: 'large', weight, labels: ['linux', 'large'], templateHash: 'big' });
    const sizeOf = (isLarge: boolean): Group => (isLarge ? large : base);
    const atWork = working.map(({ repository, isLarge }, id) => {
      const by = sizeOf(isLarge);
      const runner = named(by, id);
      const size = isLarge ? { size: 'large', weight } : {};
      return {
        by,
        job: running(id, runner, { repository, labels: by.labels }),
        live: live(runner, 'running', { pinned: true, ...size }),
      };
    });
    const queued = waiting.map(({ repository, isLarge, at }, nth) => ({
      at,
      job: job(100 + nth, { repository, labels: sizeOf(isLarge).labels }),
    }));

    const free = planScene({
      groups: [base, large],
      jobs: [...atWork, ...queued].map((each) => each.job),
      liveJobs: atWork.map((each) => each.live),
    }).runners.flatMap((each) => (each.emit && each.because !== 'busy' ? each : []));
    const sizes = free.map(({ size }) => sizeOf(size !== undefined)).sort((a, b) => a.labels.length - b.labels.length);
    const line = queued.sort((a, b) => a.at - b.at).map((each) => each.job);
    const begun = giveAway(line, isLargeFirst ? sizes.reverse() : sizes);
    const taken = [...atWork.map((each) => ({ repository: each.job.repository, by: each.by })), ...begun];
    for (const { repository } of begun) {
      const slots = taken.map((each) => (each.repository === repository ? (each.by.weight ?? 1) : 0));
      expect(slots.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(weight + more);
    }
    // Some job is served, unless a repository is full.
    if (working.length === 0 && waiting.length > 0) expect(free).not.toEqual([]);
  },
);
