import { expect, it } from 'vitest';
import { group, job, planScene } from '../support/scenario.ts';

// Minutes, and not the time limit of a test, if each group looks for each label.
it('explain finds in time that no group has the labels: of 20,000 jobs, 200 each as a workflow may have them, beside 2,000 groups', () => {
  const groups = Array.from({ length: 2_000 }, (_, at) => group({ name: `g${at}`, labels: ['linux', `g${at}`] }));
  const many = Array.from({ length: 198 }, (_, at) => `label-${at}`);
  const jobs = Array.from({ length: 20_000 }, (_, at) => job(at + 1, { labels: [...many, `own-${at}`, 'linux'] }));

  const planned = planScene({ groups, jobs });

  expect(planned.jobs).toHaveLength(20_000);
  expect(planned.jobs[0]).toMatchObject({ because: 'labels-not-covered' });
});
