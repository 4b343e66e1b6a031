/** Law P5 (docs/spec.md): only ready jobs get runners. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import { done, group, job, named, planScene, running } from '../../support/scenario.ts';

describe('P5 only ready jobs get runners', () => {
  it.each([
    ['blocked', job(1, { status: 'blocked' }), 'blocked'],
    ['completed', done(1, 'someone-else'), 'done'],
    ['in progress elsewhere', running(1, 'someone-else'), 'running'],
    ['without labels', job(1, { labels: [] }), 'no-labels'],
  ])('a job that is %s gets no runner', (_, it_, verdict) => {
    expect(planScene({ jobs: [it_] }).because).toEqual([]);
    expect(planScene({ jobs: [it_] }).verdicts).toEqual({ 1: verdict });
  });

  it('a job without labels only where the group asks for it', () => {
    const open = group({ acceptUnlabelledJobs: true });

    expect(planScene({ groups: [open], jobs: [job(1, { labels: [] })] }).names).toEqual([named(open, 1)]);
  });
});
