/** Law V40 (docs/spec.md): one loss is re-run once, and failures of authors never. */
import { describe, expect, it } from 'vitest';
import type { JobOfRun } from '../../../src/clients/gitea/runs.ts';
import type { LostJob } from '../../../src/config/runnergroup/status.ts';
import { decideRerun } from '../../../src/tasks/losses/rerunning.ts';

const loss = (jobId: number, over: Partial<LostJob> = {}): LostJob => ({
  runner: `ci-${jobId}`,
  repository: 'acme/web',
  runId: 1,
  jobId,
  attempt: 1,
  reason: 'Evicted',
  lostAt: '2026-11-21T12:00:00Z',
  ...over,
});
const row = (id: number, over: Partial<JobOfRun> = {}): JobOfRun => ({
  id,
  attempt: 1,
  reruns: 0,
  isDone: true,
  conclusion: 'failure',
  runner: `ci-${id}`,
  ...over,
});
const { conclusion: _, ...open } = row(2, { isDone: false });
const drops = (...of: Parameters<typeof decideRerun>) => [...decideRerun(...of).drop.values()];

describe('one lost job', () => {
  it('is re-run when its run is done and it failed', () => {
    const lost = loss(1);

    const { drop, rerun } = decideRerun([lost], [row(1), row(2, { conclusion: 'skipped' })], 1);

    expect(rerun).toEqual({ request: { jobId: 1 }, covers: [lost] });
    expect(drop.size).toBe(0);
  });

  it('waits while another job of the run is not done', () => {
    expect(decideRerun([loss(1)], [row(1), open], 1)).toEqual({ drop: new Map() });
  });

  it('waits while Gitea has not failed it', () => {
    expect(decideRerun([loss(2)], [open], 1)).toEqual({ drop: new Map() });
  });

  it.each([
    ['up to 1.26: the same row, queued again', { id: 1, attempt: 2, reruns: 1, isDone: false }],
    ['up to 1.26: the same row, failed again on another runner', row(1, { runner: 'ci-x', attempt: 1 })],
    ['1.27: a new row', { id: 9, attempt: 2, reruns: 1, isDone: false }],
    [
      'after the nightly clean-up: the same row, failed again',
      { id: 1, attempt: 2, reruns: 2, isDone: true, conclusion: 'failure' },
    ],
  ] satisfies [string, JobOfRun][])('is not re-run twice (%s)', (_name, again) => {
    expect(drops([loss(1)], [again], 9)).toEqual(['superseded']);
    expect(decideRerun([loss(1)], [again], 9).rerun).toBeUndefined();
  });

  it('is re-run after the nightly clean-up has removed the name of its runner', () => {
    const { runner: __, ...nameless } = row(1);

    expect(decideRerun([loss(1)], [nameless], 1).rerun?.request).toEqual({ jobId: 1 });
  });

  it('is re-run after somebody re-ran another job of the run (1.27: its row is a copy)', () => {
    expect(decideRerun([loss(1)], [row(11, { runner: 'ci-1', attempt: 2, reruns: 1 })], 2).rerun?.request).toEqual({
      jobId: 11,
    });
  });

  it.each(['success', 'cancelled', 'skipped'])('is left alone when it ended with %s', (conclusion) => {
    expect(drops([loss(1)], [row(1, { conclusion })], 9)).toEqual(['not-failed']);
  });

  it('is not re-run more often than maxEvictionRetries', () => {
    expect(decideRerun([loss(1)], [row(1, { reruns: 1 })], 2).rerun?.request).toEqual({ jobId: 1 });
    expect(drops([loss(1)], [row(1, { reruns: 2 })], 2)).toEqual(['exhausted']);
  });
});

describe('several lost jobs of one run', () => {
  const both = [loss(1), loss(2)];

  it('are re-run by one request when nothing else failed', () => {
    const rows = [row(1), row(2), row(3, { conclusion: 'success' }), row(4, { conclusion: 'skipped' })];

    expect(decideRerun(both, rows, 1).rerun).toEqual({ request: 'failed-jobs', covers: both });
  });

  it.each(['failure', 'cancelled'])('are re-run one after the other when another job ended with %s', (conclusion) => {
    const rows = [row(1), row(2), row(3, { conclusion, runner: 'ci-3' })];

    expect(decideRerun(both, rows, 2).rerun).toEqual({ request: { jobId: 1 }, covers: [both[0]] });
  });
});
