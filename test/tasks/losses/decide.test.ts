/** Law V40 (docs/spec.md): one loss is re-run once, and failures of authors never. */
import { describe, expect, it } from 'vitest';
import type { JobOfRun } from '../../../src/clients/gitea/runs.ts';
import type { LostJob } from '../../../src/config/runnergroup/status.ts';
import { decideEnd, decideRerun } from '../../../src/tasks/losses/rerunning.ts';

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
    ['its row is in the queue, and has no runner', { id: 1, attempt: 1, reruns: 0, isDone: false }],
    ['after the nightly clean-up: another job of the attempt', { id: 2, attempt: 1, reruns: 0, isDone: true }],
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

/** Law V94 (docs/spec.md). */
describe('Gitea is to end a run', () => {
  const gone = loss(1, { runnerEnded: true });
  const { conclusion: __, ...busy } = row(1, { isDone: false });
  const blocked: JobOfRun = { id: 3, attempt: 1, reruns: 0, isDone: false, isBlocked: true };
  const noted = loss(1, { runnerEnded: true, endAskedAt: '2026-11-21T12:00:05Z' });
  const cancelled = row(1, { conclusion: 'cancelled' });
  const nameless = (conclusion: string): JobOfRun => ({ id: 3, attempt: 1, reruns: 0, isDone: true, conclusion });
  const queued: JobOfRun = { id: 3, attempt: 1, reruns: 0, isDone: false };

  it('when the runners of all its jobs at work have ended', () => {
    expect(decideEnd([gone], [busy, row(2, { conclusion: 'success' })], 1)).toEqual([gone]);
    expect(decideEnd([gone], [busy, blocked], 1)).toEqual([gone]);
    expect(decideEnd([gone], [busy, row(2)], 1)).toEqual([gone]);
  });

  it.each<[string, readonly LostJob[], readonly JobOfRun[]]>([
    ['another job is at work', [gone], [busy, open]],
    ['another job is ready: a runner may take it at this moment', [gone], [busy, queued]],
    ['its runner may live', [loss(1)], [busy]],
    ['another runner has the job now', [gone], [{ ...busy, runner: 'ci-x' }]],
    ['it was re-run too often', [gone], [{ ...busy, reruns: 1 }]],
    [
      'a blocked job would go with it, and others failed before: what is to be re-run cannot be told',
      [gone],
      [busy, blocked, row(2)],
    ],
    ['nothing is open', [gone], [row(1)]],
  ])('but not when %s', (_name, losses, jobs) => {
    expect(decideEnd(losses, jobs, 1)).toEqual([]);
  });

  it('and re-runs what was cancelled so, with the jobs that it has blocked', () => {
    const never = nameless('cancelled');

    expect(decideRerun([noted], [cancelled], 1).rerun?.request).toEqual({ jobId: 1 });
    expect(decideRerun([noted], [cancelled, never], 1).rerun).toEqual({ request: 'failed-jobs', covers: [noted] });
    expect(drops([gone], [cancelled], 1)).toEqual(['not-failed']);
    expect(drops([noted], [row(1, { conclusion: 'success' })], 1)).toEqual(['not-failed']);
    expect(decideRerun([noted, loss(2)], [cancelled, row(2), never], 1).rerun?.request).toBe('failed-jobs');
  });

  it.each<[string, LostJob, readonly JobOfRun[]]>([
    ['another one was cancelled at work: somebody did that', noted, [cancelled, row(3, { conclusion: 'cancelled' })]],
    ['another one failed, whose runner nobody knows any more', noted, [cancelled, nameless('failure')]],
    ['nobody has asked Gitea to end it', gone, [row(1), nameless('cancelled')]],
  ])('and re-runs it alone when %s', (_name, lost, jobs) => {
    expect(decideRerun([lost], jobs, 1).rerun?.request).toEqual({ jobId: 1 });
  });
});
