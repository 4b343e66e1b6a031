/** P11: jobs for which a runner of another Application is there (src/planner/assign.ts). */
import { expect, it } from 'vitest';
import type { LiveJob } from '../../src/planner/evidence.ts';
import { group, job, live, NOW, named, ORIGIN, planScene, row, running, type Scene } from '../support/scenario.ts';

const ci = group();
/** A group of another Application that covers the same jobs: this plan does not know it. */
const theirs = group({ name: 'team-b' });
const printed = (over: Partial<LiveJob> = {}): LiveJob =>
  live(named(theirs, 1), 'starting', { jobUrl: job(1).url, giteaUrl: ORIGIN, ...over });
const verdictWith = (over: Partial<LiveJob>, scene: Scene = {}) =>
  planScene({ jobs: [job(1)], liveJobs: [printed(over)], ...scene }).verdicts[1];
const ELSEWHERE = 'served-elsewhere';
const OURS = `new-runner ${named(ci, 1)}`;

it.each<[string, Partial<LiveJob>]>([
  ['starts', {}],
  ['runs', { state: 'running' }],
  ['is in a state that nobody knows', { state: 'unknown' }],
  ["has another job in its name: runners take each other's jobs", { name: named(theirs, 9) }],
  ['runs for longer than the job has been ready', { state: 'running', createdAtMs: NOW - 900_000 }],
])('a Job elsewhere that %s: no second runner', (_, over) => {
  const scene = { jobs: [job(1), job(2)], liveJobs: [printed(over)] };

  expect(planScene(scene).verdicts).toEqual({ 1: ELSEWHERE, 2: `new-runner ${named(ci, 2)}` });
  expect(planScene(scene).names).toEqual([named(ci, 2)]);
  expect(planScene(scene).jobs[0]).toMatchObject({ runner: printed(over).name });
});

it.each<[string, Partial<LiveJob>]>([
  ['it has ended', { state: 'complete' }],
  ['it failed', { state: 'failed' }],
  ['it is being deleted', { state: 'deleting' }],
  ['it is pinned: it works', { pinned: true }],
  ['it was printed for another job', { jobUrl: job(2).url }],
  ['it names no job', { jobUrl: '' }],
  ['its pod is made for another Gitea', { giteaUrl: 'https://evil.example.com' }],
  ['its pod does not tell its Gitea', { giteaUrl: '' }],
])('the job gets a runner of ours beside a Job elsewhere when %s', (_, over) => {
  expect(verdictWith(over)).toBe(OURS);
});

it('a job that has been ready for twelve spawn timeouts gets a runner of ours, however young the Job of the other Application is', () => {
  const at = (readyMs: number) => verdictWith({ createdAtMs: NOW }, { jobs: [job(1, { createdAtMs: NOW - readyMs })] });

  expect(at(3_599_999)).toBe(ELSEWHERE);
  expect(at(3_600_000)).toMatch(/^new-runner ci-1-/);
});

it('a pod of another Application has twelve spawn timeouts to start, and one once it is stuck', () => {
  const at = (waitsMs: number, over: Partial<LiveJob> = {}) =>
    verdictWith({ createdAtMs: NOW - waitsMs, ...over }, { jobs: [job(1, { createdAtMs: NOW - 600_000 })] });
  const stuck = { trouble: { reason: 'Unschedulable' } };

  expect(at(300_000)).toBe(ELSEWHERE);
  expect(at(299_999, stuck)).toBe(ELSEWHERE);
  expect(at(300_000, stuck)).toContain('new-runner');
});

it('a runner of another Application that works on another job serves this one no more', () => {
  const jobs = [job(1), running(2, named(theirs, 1))];

  expect(planScene({ jobs, liveJobs: [printed({ state: 'running' })] }).names).toEqual([named(ci, 1)]);
});

it.each<[string, Scene, string]>([
  ['one of ours for it is starting', { liveJobs: [live(named(ci, 1), 'starting')] }, 'own-runner'],
  [
    'one of ours for it is registered',
    { liveJobs: [live(named(ci, 1), 'running')], runners: [row(named(ci, 1))] },
    'own-runner',
  ],
  ['a free one of ours is left over', { liveJobs: [live(named(ci, 9), 'starting')] }, 'free-runner'],
])(
  '%s beside a Job elsewhere: both stay, because the other Application may leave its own',
  (_, { liveJobs = [], ...scene }, by) => {
    expect(verdictWith({}, { ...scene, liveJobs: [printed(), ...liveJobs] })).toBe(`${by} ${liveJobs[0]?.name}`);
  },
);

it('the last place goes to the first job for which no other Application has printed a Job', () => {
  const one = group({ maxActiveRunners: 1 });
  const liveJobs = [printed(), printed({ name: named(theirs, 2), jobUrl: job(2).url })];

  expect(planScene({ groups: [one], jobs: [job(1), job(2), job(3)], liveJobs }).verdicts).toEqual({
    1: ELSEWHERE,
    2: ELSEWHERE,
    3: `new-runner ${named(one, 3)}`,
  });
});

it('a job whose page Gitea does not say gets a runner of ours beside a Job for no job in particular', () => {
  expect(verdictWith({ jobUrl: '' }, { jobs: [job(1, { url: '' })] })).toBe(OURS);
});

it('a job that no group of ours covers says that, although another Application has a Job for it', () => {
  expect(verdictWith({}, { jobs: [job(1, { labels: ['mainframe'] })] })).toBe('labels-not-covered');
});

it('a job whose runner belongs to a group of this Application that is gone gets a runner of ours', () => {
  expect(verdictWith({ application: 'other' }, { application: 'mine' })).toBe(ELSEWHERE);
  expect(verdictWith({ application: 'mine' }, { application: 'mine' })).toBe(OURS);
});

it.each<[string, Partial<LiveJob>]>([
  [
    'the youngest counts: it may still come when the others do not',
    { trouble: { reason: 'ImagePullBackOff' }, createdAtMs: NOW - 400_000 },
  ],
  ['the first by name counts of those of the same second', { name: named({ ...theirs, name: 'team-c' }, 1) }],
])(
  'several Jobs of other Applications were printed for the job %s, in whatever order Kubernetes lists them',
  (_, over) => {
    const young = printed({ name: named(theirs, 1, 1) });

    for (const liveJobs of [
      [printed(over), young],
      [young, printed(over)],
    ])
      expect(planScene({ jobs: [job(1)], liveJobs }).jobs).toMatchObject([{ because: ELSEWHERE, runner: young.name }]);
  },
);

it('Gitea lists an idle runner of our form that was made for the job, but no Job: anybody may have registered it', () => {
  expect(planScene({ jobs: [job(1)], runners: [row(named(theirs, 1))] }).verdicts).toEqual({ 1: OURS });
});
