/** Law P6 (docs/spec.md): labels are compared exactly. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import { group, job, named, planScene, row } from '../../support/scenario.ts';

const ci = group();

describe('P6 labels are compared exactly', () => {
  const both = group({ labels: ['linux', 'gpu'] });

  it.each([
    [['linux'], true],
    [['gpu', 'linux'], true],
    [['Linux'], false],
    [['linux '], false],
    [['linux', 'arm'], false],
    [['linux:host'], false],
  ])('%j', (labels, covered) => {
    expect(planScene({ groups: [both], jobs: [job(1, { labels })] }).names).toHaveLength(covered ? 1 : 0);
  });

  it('the plan names the labels that the nearest group lacks', () => {
    expect(
      planScene({
        groups: [ci, group({ name: 'big', labels: ['linux', 'gpu'] })],
        jobs: [job(1, { labels: ['linux', 'gpu', 'arm'] })],
      }).jobs,
    ).toMatchObject([{ because: 'labels-not-covered', missing: ['arm'] }]);
  });
});

describe('P6 a runner serves only jobs that its own registration covers', () => {
  const wider = group({ labels: ['linux', 'gpu'], templateHash: 't2' });
  const gpuJob = job(2, { labels: ['gpu'] });

  it('a runner serves no job with a label that its group got later', () => {
    const planned = planScene({ groups: [wider], jobs: [gpuJob], runners: [row(named(ci, 1))] });

    expect(planned.verdicts).toEqual({ 2: `new-runner ${named(wider, 2)}` });
    expect(planned.runners).toContainEqual(expect.objectContaining({ runner: named(ci, 1), because: 'surplus' }));
  });

  it('a runner that lacks a label does not serve even the job that it was made for', () => {
    expect(planScene({ groups: [wider], jobs: [gpuJob], runners: [row(named(ci, 2))] }).verdicts).toEqual({
      2: `new-runner ${named(wider, 2)}`,
    });
  });

  it('a runner that fits goes to the job that it fits', () => {
    const jobs = [job(3), gpuJob];
    const runners = [row(named(ci, 8)), row(named(wider, 9), { labels: ['linux', 'gpu'] })];

    expect(planScene({ groups: [wider], jobs, runners }).verdicts).toEqual({
      2: `free-runner ${named(wider, 9)}`,
      3: `free-runner ${named(ci, 8)}`,
    });
  });
});
