/** Law P10 (docs/spec.md): doubt keeps. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { Job } from '../../../src/planner/evidence.ts';
import {
  done,
  emitted,
  emittedIn,
  group,
  job,
  live,
  NOW,
  named,
  namesIn,
  planScene,
  row,
  running,
  verdicts,
  verdictsIn,
} from '../../support/scenario.ts';

const ci = group();

describe('P10 a runner at work of which Gitea hears nothing', () => {
  const one = group({ maxActiveRunners: 1 });
  const silent = row(named(one, 1), { online: false });
  const begun = (seconds: number) =>
    running(1, named(one, 1), { startedAtMs: NOW - seconds * 1000, createdAtMs: NOW - 700_000 });
  const kept = { because: 'lost', emit: true, pinned: true, skip: true };
  /** Job 2, and whether Gitea was there so many seconds ago. */
  const room = (scene: Parameters<typeof planScene>[0], seconds = 20) =>
    verdictsIn({
      groups: [one],
      jobs: [begun(61), job(2, { createdAtMs: NOW - seconds * 1000 })],
      runners: [silent],
      ...scene,
    })[2];

  it('is lost: its slot is free, and its Job stays', () => {
    expect(room({})).toBe(`new-runner ${named(one, 2)}`);
    expect(planScene({ groups: [one], jobs: [begun(61), job(2)], runners: [silent] }).runners[0]).toMatchObject(kept);
  });

  it('unless it has just begun, reports, or has no row', () => {
    expect(room({ jobs: [begun(60), job(2)] })).toBe('cap');
    expect(room({ runners: [row(named(one, 1))] })).toBe('cap');
    expect(room({ runners: [] })).toBe('cap');
  });

  it('unless nothing shows that Gitea was there to be told: it may have been down', () => {
    expect(room({}, 15)).toBe('cap');
    expect(room({}, 16)).toBe(`new-runner ${named(one, 2)}`);
    expect(room({}, 59)).toBe(`new-runner ${named(one, 2)}`);
    expect(room({}, 60)).toBe('cap');
  });

  it('also when only the end of a job shows that Gitea was there', () => {
    const old = { createdAtMs: NOW - 700_000 };
    const other = done(3, 'elsewhere', { ...old, startedAtMs: NOW - 600_000, completedAtMs: NOW - 20_000 });

    expect(room({ jobs: [begun(61), job(2, old)] })).toBe('cap');
    expect(room({ jobs: [begun(61), job(2, old), other] })).toContain('new-runner');
  });

  it('unless Kubernetes shows its Job: then that tells', () => {
    expect(room({ liveJobs: [live(named(one, 1), 'running')] })).toBe('cap');
    expect(room({ liveJobs: [live(named(one, 9), 'complete')] })).toBe(`new-runner ${named(one, 2)}`);
  });
});

describe('P10 a runner that cleans up after a cancel', () => {
  it('keeps its slot also while its Job is being deleted', () => {
    const one = group({ maxActiveRunners: 1 });
    const liveJobs = [live(named(one, 1), 'deleting')];
    const planned = planScene({
      groups: [one],
      jobs: [job(2)],
      runners: [row(named(one, 1), { busy: true })],
      liveJobs,
    });

    expect(planned.runners).toMatchObject([{ because: 'finishing', pinned: true, skip: true }]);
    expect(verdicts(planned)).toEqual({ 2: 'cap' });
  });
});

describe('P10 doubt keeps', () => {
  it('a runner that Gitea shows busy though it lists no job (cancelling), with its place under the cap', () => {
    const one = group({ maxActiveRunners: 1 });
    const planned = planScene({ groups: [one], jobs: [job(2)], runners: [row(named(one, 1), { busy: true })] });

    expect(emitted(planned)).toMatchObject([{ runner: named(one, 1), because: 'finishing', pinned: true }]);
    expect(verdicts(planned)).toEqual({ 2: 'cap' });
  });

  it('a runner that one look shows busy and another one finished', () => {
    const repo = group({ name: 'repo', scope: 'repo', look: 'repo' });
    const looks = {
      acme: { jobs: [done(1, named(ci, 1))], runners: [] },
      repo: { jobs: [running(1, named(ci, 1))], runners: [] },
    };

    expect(namesIn({ groups: [ci, repo], looks })).toEqual([named(ci, 1)]);
  });

  it.each<[Job['status'], Job['status']]>([
    ['in_progress', 'completed'],
    ['in_progress', 'queued'],
    ['in_progress', 'blocked'],
    ['completed', 'queued'],
    ['completed', 'blocked'],
    ['queued', 'blocked'],
  ])('a job that one look shows %s and another one %s is the first of the two', (later, earlier) => {
    const repo = group({ name: 'repo', scope: 'repo', look: 'repo' });
    const seen = (status: Job['status']) => ({ jobs: [job(1, { status, runner: 'elsewhere' })], runners: [] });
    const statuses = (acme: Job['status'], there: Job['status']) =>
      planScene({ groups: [ci, repo], looks: { acme: seen(acme), repo: seen(there) } }).jobs.map((of) => of.job.status);

    expect(statuses(later, earlier)).toEqual([later]);
    expect(statuses(earlier, later)).toEqual([later]);
  });

  it('a job that one look shows queued again after a rerun, and another one in its first stay', () => {
    const repo = group({ name: 'repo', scope: 'repo', look: 'repo' });
    const again = { jobs: [job(1, { attempt: 2 })], runners: [] };
    const first = { jobs: [done(1, named(ci, 1))], runners: [] };

    expect(verdictsIn({ groups: [ci, repo], looks: { acme: again, repo: first } })[1]).toContain('new-runner');
    expect(verdictsIn({ groups: [ci, repo], looks: { acme: first, repo: again } })[1]).toContain('new-runner');
  });

  it('a runner whose row is listed twice, once offline', () => {
    const runners = [row(named(ci, 1), { online: false }), row(named(ci, 1), { id: 2, busy: true })];

    expect(emittedIn({ runners })).toMatchObject([{ because: 'finishing' }]);
  });

  it('a runner whose row is listed several times: the one with most life counts, then the newest', () => {
    const name = named(ci, 1);
    const becauseOf = (...rows: Parameters<typeof row>[1][]) =>
      [rows, rows.toReversed()].map((all) => {
        const runners = all.map((over) => row(name, over));
        return planScene({ jobs: [job(2, { labels: ['gpu'] })], runners, groups: [wide] }).runners.map(
          ({ runner, because }) => (runner === name ? because : []),
        );
      });
    const wide = group({ labels: ['linux', 'gpu'] });
    const both = (because: string) => [[because], [because]].map((each) => expect.arrayContaining(each));

    expect(becauseOf({ id: 1 }, { id: 2, online: false })).toEqual(both('surplus'));
    expect(becauseOf({ id: 1, disabled: true }, { id: 2, online: false })).toEqual(both('disabled'));
    expect(becauseOf({ id: 1 }, { id: 2, disabled: true })).toEqual(both('surplus'));
    expect(becauseOf({ id: 1, busy: true, disabled: true }, { id: 2 })).toEqual(both('finishing'));
    // Gitea gives it jobs by the labels of the newest row.
    expect(becauseOf({ id: 1 }, { id: 2, labels: ['gpu'] })).toEqual(both('free-runner'));
    expect(becauseOf({ id: 1, labels: ['gpu'] }, { id: 2 })).toEqual(both('surplus'));
  });

  it('fails when the look of a group is missing', () => {
    expect(() => planScene({ looks: {} })).toThrow('no look at Gitea for RunnerGroup runners/ci');
  });
});
