/** Laws V40, V41 and V94 (docs/spec.md): one loss is re-run once, failures of authors never, and Gitea is not asked before a look. */
import { expect, it } from 'vitest';
import type { JobOfRun } from '../../../src/clients/gitea/runs.ts';
import type { LostJob } from '../../../src/config/runnergroup/status.ts';
import { decideEnd, decideRerun, showsEnd } from '../../../src/tasks/losses/rerunning.ts';
import { targetOf } from '../../support/looking.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { NOW, ORIGIN, running } from '../../support/scenario.ts';

const loss = (jobId: number, over: Partial<LostJob> = {}): LostJob => ({
  runner: `ci-${jobId}`,
  repository: 'acme/web',
  runId: 1,
  jobId,
  attempt: 1,
  reason: 'Evicted',
  lostAt: new Date(NOW).toISOString(),
  ...over,
});
/** A job without a runner that is not done. */
const open = (id: number, over: Partial<JobOfRun> = {}): JobOfRun => {
  return { id, attempt: 1, reruns: 0, isDone: false, ...over };
};
/** A job that its runner has ended. */
const row = (id: number, conclusion = 'failure', over: Partial<JobOfRun> = {}): JobOfRun =>
  open(id, { isDone: true, conclusion, runner: `ci-${id}`, ...over });
/** A job after the nightly clean-up: its runner has no name any more. */
const nameless = (id: number, conclusion = 'failure', over: Partial<JobOfRun> = {}): JobOfRun =>
  open(id, { isDone: true, conclusion, ...over });
const busy = open(1, { runner: 'ci-1' });
const busy2 = open(2, { runner: 'ci-2' });
const blocked = open(3, { isBlocked: true });
const cancelled = row(1, 'cancelled');

const [lost, lost2] = [loss(1), loss(2)];
/** This process has noticed both losses. */
const SINCE = new Map([lost, lost2].map(({ jobId }) => [jobId, NOW]));
/** A lost job whose runner has ended, and whose run Gitea was then asked to end. */
const gone = loss(1, { runnerEnded: true });
const noted = loss(1, { runnerEnded: true, endAskedAt: '2026-11-21T12:00:05Z' });

type Rerun = ReturnType<typeof decideRerun>['rerun'];
const alone = (jobId: number, covers = lost): Rerun => ({ request: { jobId }, covers: [covers] });
const together = (...covers: LostJob[]): Rerun => ({ request: 'failed-jobs', covers });

it.each<[string, readonly LostJob[], readonly JobOfRun[], Rerun]>([
  ['when its run is done and it failed', [lost], [row(1), row(2, 'skipped')], alone(1)],
  ['after the nightly clean-up', [lost], [nameless(1)], alone(1)],
  [
    'after somebody re-ran another job of the run (1.27: its row is a copy)',
    [lost],
    [row(11, 'failure', { runner: 'ci-1', attempt: 2, reruns: 1 })],
    alone(11),
  ],
  ['not while another job of the run is not done', [lost], [row(1), busy2], undefined],
  ['not while Gitea has not failed it', [lost], [busy], undefined],
  ['with others when nothing else failed', [lost, lost2], [row(1), row(2), row(3, 'success')], together(lost, lost2)],
  ['before others when a third one failed', [lost, lost2], [row(1), row(2), row(3)], alone(1)],
  ['before others when a third one was cancelled', [lost, lost2], [row(1), row(2), row(3, 'cancelled')], alone(1)],
  ['when it was cancelled as its run was ended', [noted], [cancelled], alone(1, noted)],
  ['with the jobs that it has blocked', [noted], [cancelled, nameless(3, 'cancelled')], together(noted)],
  [
    'with all that was ended so and other lost ones',
    [noted, lost2],
    [cancelled, row(2), nameless(3, 'cancelled')],
    together(noted, lost2),
  ],
  [
    'alone when another one was cancelled at work: somebody did that',
    [noted],
    [cancelled, row(3, 'cancelled')],
    alone(1, noted),
  ],
  [
    'alone when another one failed, whose runner nobody knows any more',
    [noted],
    [cancelled, nameless(3)],
    alone(1, noted),
  ],
  ['alone when nobody has asked Gitea to end it', [gone], [row(1), nameless(3, 'cancelled')], alone(1, gone)],
])('a lost job is re-run %s', (_, losses, jobs, rerun) => {
  expect(decideRerun(losses, jobs, 2, SINCE)).toEqual({ drop: new Map(), ...(rerun && { rerun }) });
});

it.each<[string, string, LostJob, JobOfRun]>([
  ['superseded', 'up to 1.26: the same row, queued again', lost, open(1, { attempt: 2, reruns: 1 })],
  [
    'superseded',
    'up to 1.26: the same row, failed again on another runner',
    lost,
    row(1, 'failure', { runner: 'ci-x' }),
  ],
  ['superseded', 'its row is in the queue, and has no runner', lost, open(1)],
  ['superseded', 'after the clean-up: another job of the attempt', lost, nameless(2)],
  ['superseded', '1.27: a new row', lost, open(9, { attempt: 2, reruns: 1 })],
  ['superseded', 'after the clean-up: it failed again', lost, nameless(1, 'failure', { attempt: 2, reruns: 1 })],
  ['not-failed', 'success', lost, row(1, 'success')],
  ['not-failed', 'cancelled', lost, cancelled],
  ['not-failed', 'cancelled, though its runner has ended', gone, cancelled],
  ['not-failed', 'success, though Gitea was asked to end it', noted, row(1, 'success')],
  ['exhausted', 're-run twice', lost, row(1, 'failure', { reruns: 2 })],
])('a lost job is not re-run: %s (%s)', (reason, _, one, job) => {
  expect(decideRerun([one], [job], 2, SINCE)).toEqual({ drop: new Map([[one, reason]]) });
});

it('a status is not believed about a row that names no runner any more', () => {
  expect(decideRerun([lost], [nameless(1)], 2, new Map())).toEqual({ drop: new Map([[lost, 'superseded']]) });
});

it('a lost job is re-run as often as maxEvictionRetries says', () => {
  expect(decideRerun([lost], [row(1, 'failure', { reruns: 1 })], 2, SINCE).rerun).toEqual(alone(1));
});

it.each([
  ['the others have ended', row(2, 'success')],
  ['the others are blocked', blocked],
  ['another one has failed', row(2)],
])('Gitea is to end a run in which nothing but a lost job is at work: %s', (_, job) => {
  expect(decideEnd([gone], [busy, job], 1)).toEqual([gone]);
});

it.each<[string, LostJob, readonly JobOfRun[]]>([
  ['another job is at work', gone, [busy, busy2]],
  ['another job is ready: a runner may take it at this moment', gone, [busy, open(3)]],
  ['its runner may live', lost, [busy]],
  ['another runner has the job now', gone, [{ ...busy, runner: 'ci-x' }]],
  ['it was re-run too often', gone, [{ ...busy, reruns: 1 }]],
  [
    'a blocked job would go with it, and others failed before: what to re-run is unknown',
    gone,
    [busy, blocked, row(2)],
  ],
  ['nothing is open', gone, [row(1)]],
])('Gitea is not to end a run when %s', (_, one, jobs) => {
  expect(decideEnd([one], jobs, 1)).toEqual([]);
});

it('Gitea is asked only after a look has shown that it has ended a lost job', () => {
  let since = new Map([[lost.jobId, NOW]]);
  const shows = (beganSteadyMs: number, ...jobs: readonly number[]) => {
    const look = { jobs: jobs.map((id) => running(id, `ci-${id}`)), runners: [], beganSteadyMs };
    const object = { metadata: { namespace: 'runners', name: 'ci', uid: 'u' } };
    const at = {
      live: { key: 'runners/ci', object },
      group: runnerGroup(),
      target: targetOf(ORIGIN),
      lost: [lost],
      lostSince: since,
      look,
    };
    return showsEnd({ at, losses: [lost] });
  };

  expect(shows(NOW + 5, 1)).toBe(false);
  expect(shows(NOW - 5)).toBe(false);
  expect(shows(NOW + 5, 2)).toBe(true);
  // The leader before has written it, by a clock that was ahead: each look of this one is newer.
  since = new Map();
  expect(shows(NOW - 5)).toBe(true);
});
