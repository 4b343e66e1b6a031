/** Law P2 (docs/spec.md): nothing is started twice. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import {
  done,
  emittedNames,
  group,
  job,
  live,
  NOW,
  named,
  namesIn,
  planScene,
  row,
  running,
  type Scene,
  verdicts,
  verdictsIn,
} from '../../support/scenario.ts';

const ci = group();

describe('P2 nothing is started twice', () => {
  it('gives each ready job one runner under its own name', () => {
    expect(namesIn({ jobs: [job(1), job(2)] })).toEqual([named(ci, 1), named(ci, 2)]);
  });

  it('keeps the registered runner of a job', () => {
    expect(verdictsIn({ jobs: [job(1)], runners: [row(named(ci, 1))] })).toEqual({ 1: `own-runner ${named(ci, 1)}` });
  });

  it('gives a job whose runner took another job that job’s runner', () => {
    expect(verdictsIn({ jobs: [running(1, named(ci, 2)), job(2)] })).toEqual({
      1: 'running',
      2: `chain ${named(ci, 1)}`,
    });
  });

  it('does not give one job’s own runner to another job', () => {
    expect(verdictsIn({ jobs: [job(1), job(2)], runners: [row(named(ci, 1))] })).toEqual({
      1: `own-runner ${named(ci, 1)}`,
      2: `new-runner ${named(ci, 2)}`,
    });
  });

  it('leaves the runner that a job waits for to that job when it has registered, whoever is younger', () => {
    const jobs = [running(1, named(ci, 2)), job(2), job(3)];

    expect(verdictsIn({ jobs, runners: [row(named(ci, 1))] })).toEqual({
      1: 'running',
      2: `chain ${named(ci, 1)}`,
      3: `new-runner ${named(ci, 3)}`,
    });
  });

  it('keeps one of the runners of a job, when two of its owners have one and the first has none', () => {
    const [first, second, third] = ['a', 'b', 'c'].map((name) => group({ name }));
    if (!first || !second || !third) throw new Error('three groups');
    const runners = [row(named(second, 1)), row(named(third, 1), { id: 2 })];

    const keptOf = (liveJobs?: readonly LiveJob[]) =>
      namesIn({ groups: [first, second, third], jobs: [job(1)], runners, liveJobs });

    expect(keptOf()).toEqual([named(second, 1)]);
    expect(keptOf([live(named(first, 9), 'complete'), ...runners.map(({ name }) => live(name, 'running'))])).toEqual([
      named(second, 1),
    ]);
  });

  it('does so over several jobs, also finished ones', () => {
    const jobs = [done(1, named(ci, 2)), running(2, named(ci, 3)), job(3)];

    expect(verdictsIn({ jobs })[3]).toBe(`chain ${named(ci, 1)}`);
    // Where Kubernetes shows two starting runners, both are kept.
    const liveJobs = [live(named(ci, 1), 'starting'), live(named(ci, 77), 'starting')];
    expect(verdictsIn({ jobs: [...jobs, job(4)], liveJobs })).toMatchObject({
      3: `free-runner ${named(ci, 77)}`,
      4: `free-runner ${named(ci, 1)}`,
    });
  });

  it('does so with a runner of another group, where it was planned', () => {
    const narrow = group({ name: 'narrow', scope: 'repo', maxActiveRunners: 1 });
    const wide = group({ name: 'wide', scope: 'global', maxActiveRunners: 1 });
    const jobs = [running(1, named(ci, 2)), job(2), job(3)];

    // At first job 1 went to the narrow group, job 2 to ci, and job 3 found no room but in the wide one.
    const one = [narrow, group({ maxActiveRunners: 1 }), wide];
    expect(namesIn({ groups: one, jobs: [job(1), job(2), job(3)] })).toEqual([
      named(ci, 2),
      named(narrow, 1),
      named(wide, 3),
    ]);
    expect(verdictsIn({ groups: one, jobs })).toEqual({
      1: 'running',
      2: `chain ${named(narrow, 1)}`,
      3: `new-runner ${named(wide, 3)}`,
    });
  });

  it('does so in the group in which the other job had room first', () => {
    const narrow = group({ name: 'narrow', scope: 'repo', maxActiveRunners: 1 });
    const wide = group({ name: 'wide', scope: 'global' });
    const groups = [narrow, wide];
    const full = done(9, named(narrow, 9), { createdAtMs: NOW - 90_000, completedAtMs: NOW - 10_000 });
    const old = running(1, named(wide, 2), { createdAtMs: NOW - 60_000 });

    expect(verdictsIn({ groups, jobs: [full, old, job(2, { createdAtMs: NOW - 5_000 })] })[2]).toBe(
      `chain ${named(wide, 1)}`,
    );
    expect(verdictsIn({ groups, jobs: [running(1, named(wide, 3)), job(2), job(3)] })).toEqual({
      1: 'running',
      2: `new-runner ${named(wide, 2)}`,
      3: `chain ${named(narrow, 1)}`,
    });
  });

  it('does not drop a starting runner for a job whose own one took a job that nobody had thought of', () => {
    const two = group({ maxActiveRunners: 2 });
    // Gitea gave job 3, which the cap held back, to the runner of job 1. The runner of job 2 goes on starting.
    const jobs = [job(1), job(2), running(3, named(two, 1))];
    const liveJobs = [live(named(two, 1), 'running'), live(named(two, 2), 'starting')];

    expect(verdictsIn({ groups: [two], jobs, liveJobs })).toEqual({
      1: `free-runner ${named(two, 2)}`,
      2: 'cap',
      3: 'running',
    });
  });

  it('does not do so with a runner that lacks a label of the job', () => {
    const small = group({ name: 'a-small' });
    const big = group({ name: 'b-big', labels: ['linux', 'gpu'] });
    const jobs = [running(1, named(big, 2)), job(2, { labels: ['gpu'] })];

    expect(verdictsIn({ groups: [small, big], jobs })[2]).toContain('b-big-');
  });

  it('does not do so with a runner that Kubernetes does not show, when it shows others', () => {
    const jobs = [running(1, named(ci, 2)), job(2)];

    expect(verdictsIn({ jobs, liveJobs: [live(named(ci, 2), 'running')] })[2]).toBe(`new-runner ${named(ci, 2, 1)}`);
  });

  it('gives a free runner whose job was cancelled to a job without one', () => {
    expect(verdictsIn({ jobs: [job(2)], runners: [row(named(ci, 1))] })).toEqual({ 2: `free-runner ${named(ci, 1)}` });
  });

  it('gives a single free runner to the youngest job, so that the older one keeps the runner that is starting', () => {
    expect(verdictsIn({ jobs: [job(2), job(3)], runners: [row(named(ci, 1))] })).toEqual({
      2: `new-runner ${named(ci, 2)}`,
      3: `free-runner ${named(ci, 1)}`,
    });
  });

  it('drops a free runner that no job needs', () => {
    expect(planScene({ runners: [row(named(ci, 1))] }).runners).toEqual([
      { emit: false, runner: named(ci, 1), group: { namespace: 'runners', name: 'ci' }, because: 'surplus' },
    ]);
  });

  it('replaces a starting runner, but not a registered one, when the pod template is corrected', () => {
    const fixed = group({ templateHash: 't2' });
    const starting = planScene({ groups: [fixed], jobs: [job(1)], liveJobs: [live(named(ci, 1), 'starting')] });

    expect(emittedNames(starting)).toEqual([named(fixed, 1)]);
    expect(starting.runners).toContainEqual(expect.objectContaining({ runner: named(ci, 1), because: 'replaced' }));

    expect(namesIn({ groups: [fixed], jobs: [job(1)] })).toEqual([named(fixed, 1)]);
    expect(namesIn({ groups: [fixed], jobs: [job(1)], runners: [row(named(ci, 1))] })).toEqual([named(ci, 1)]);
  });
});

describe('P2 nothing is started twice, however many runners of a job took others', () => {
  const many = Array.from({ length: 40 }, (_, i) => done(100 + i, named(ci, 1, i), { createdAtMs: NOW - 90_000 }));

  it('keeps the one that starts', () => {
    const liveJobs = [live(named(ci, 1, 40), 'starting')];

    expect(namesIn({ jobs: [...many, job(1)], liveJobs })).toEqual([named(ci, 1, 40)]);
  });

  it('waits after the one that failed', () => {
    const failed = [41, 42].map((ordinal) => live(named(ci, 1, ordinal), 'failed', { finishedAtMs: NOW - 3_000 }));

    expect(verdictsIn({ jobs: [...many, job(1)], liveJobs: failed })[1]).toBe('backing-off');
  });
});

describe('P2 a runner that no job needs', () => {
  const starting = live(named(ci, 1), 'starting');
  const elsewhere = running(9, 'build-host-1');
  const becauseOf = (scene: Scene) =>
    planScene({ liveJobs: [starting], ...scene }).runners.map(({ runner, because }) => `${because} ${runner}`);

  it('is kept while CI goes on that it could have taken', () => {
    const planned = planScene({ jobs: [elsewhere], liveJobs: [starting] });

    expect(planned.runners).toEqual([
      {
        emit: true,
        runner: named(ci, 1),
        group: { namespace: 'runners', name: 'ci' },
        because: 'spare',
        pinned: false,
        // Argo CD keeps it, and creates none.
        skip: true,
      },
    ]);
    expect(planned.groups).toMatchObject([{ waiting: 0, spare: 1 }]);
  });

  it('and serves the next job', () => {
    const planned = planScene({ jobs: [elsewhere, job(10)], liveJobs: [starting] });

    expect(verdicts(planned)[10]).toBe(`free-runner ${named(ci, 1)}`);
    expect(planned.groups).toMatchObject([{ waiting: 1, spare: 0 }]);
  });

  it('loses its pin while it is kept', () => {
    const liveJobs = [live(named(ci, 1), 'running', { pinned: true })];
    const planned = planScene({ jobs: [done(1, named(ci, 1)), elsewhere], runners: [row(named(ci, 1))], liveJobs });

    expect(planned.runners).toEqual([expect.objectContaining({ because: 'spare', pinned: false })]);
    expect(planned.runners).not.toMatchObject([{ skip: true }]);
  });

  it.each<[string, Scene]>([
    ['no CI goes on', { jobs: [done(9, 'build-host-1')] }],
    ['what goes on asks for labels that it lacks', { jobs: [running(9, 'x', { labels: ['gpu'] })] }],
    [
      'what goes on is not for its scope',
      {
        groups: [ci, group({ name: 'other', look: 'other' })],
        looks: { acme: { jobs: [], runners: [] }, other: { jobs: [elsewhere], runners: [] } },
      },
    ],
    ['it is a spawn timeout old', { jobs: [elsewhere], nowMs: starting.createdAtMs + ci.spawnTimeoutMs }],
    ['its group is suspended', { jobs: [elsewhere], groups: [group({ suspend: true })] }],
    ['the cap has no room for it', { jobs: [running(9, named(ci, 9))], groups: [group({ maxActiveRunners: 1 })] }],
  ])('goes when %s', (_, scene) => {
    const [first] = becauseOf(scene);

    expect(['surplus', 'suspended', 'never-came'].map((because) => `${because} ${named(ci, 1)}`)).toContain(first);
  });

  it('goes when nobody sees since when it has been there', () => {
    expect(becauseOf({ jobs: [elsewhere], runners: [row(named(ci, 1))], liveJobs: undefined })).toEqual([
      `surplus ${named(ci, 1)}`,
    ]);
  });

  it('goes at that age also when it is registered', () => {
    const nowMs = starting.createdAtMs + ci.spawnTimeoutMs;

    expect(becauseOf({ jobs: [elsewhere], runners: [row(named(ci, 1))], nowMs: nowMs - 1 })).toEqual([
      `spare ${named(ci, 1)}`,
    ]);
    expect(becauseOf({ jobs: [elsewhere], runners: [row(named(ci, 1))], nowMs })).toEqual([`surplus ${named(ci, 1)}`]);
  });

  it('counts for CI by the labels that it registered with', () => {
    const wider = group({ labels: ['linux', 'gpu'], templateHash: 't2' });
    const jobs = [running(9, 'build-host-1', { labels: ['gpu'] })];

    expect(becauseOf({ groups: [wider], jobs, runners: [row(named(ci, 1))] })).toEqual([`surplus ${named(ci, 1)}`]);
  });

  it('is kept for any of the jobs that go on', () => {
    const other = running(8, 'gpu-host-1', { labels: ['gpu'] });
    const later = { ...other, id: 10, createdAtMs: NOW };

    expect(becauseOf({ jobs: [other, elsewhere, later] })).toEqual([`spare ${named(ci, 1)}`]);
    expect(becauseOf({ jobs: [other, elsewhere] })).toEqual([`spare ${named(ci, 1)}`]);
  });

  it('is kept as far as there is room, registered ones first', () => {
    const two = group({ maxActiveRunners: 2 });
    const liveJobs = [1, 2, 3].map((id) => live(named(two, id), 'running'));
    const runners = [row(named(two, 3))];

    expect(becauseOf({ groups: [two], jobs: [elsewhere, job(4)], runners, liveJobs })).toEqual([
      `spare ${named(two, 1)}`,
      `surplus ${named(two, 2)}`,
      `free-runner ${named(two, 3)}`,
    ]);
  });
});
