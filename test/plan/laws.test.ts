/** The laws P1-P10 (docs/spec.md), each by the scenes that made it necessary. Their properties: laws.property.test.ts. */
import { describe, expect, it } from 'vitest';
import type { Group, LiveJob } from '../../src/plan/evidence.ts';
import { ORDINALS_SEARCHED } from '../../src/plan/names.ts';
import {
  done,
  emitted,
  emittedNames,
  group,
  job,
  live,
  NOW,
  named,
  planScene,
  row,
  running,
  type Scene,
  servedIds,
  verdicts,
} from './scenario.ts';

const ci = group();

describe('P1 a busy runner stays, pinned', () => {
  it.each<[string, Partial<Group>]>([
    ['the cap is lowered below it', { maxActiveRunners: 0 }],
    ['the group is suspended', { suspend: true }],
    ['the labels change', { labels: ['other'] }],
    ['the pod template changes', { templateHash: 't2' }],
  ])('when %s', (_, change) => {
    const planned = planScene({ groups: [group(change)], jobs: [running(1, named(ci, 7))] });

    expect(emitted(planned)).toMatchObject([{ runner: named(ci, 7), pinned: true, because: 'busy', job: { id: 1 } }]);
  });

  it('when its registration is gone and its Job is being deleted', () => {
    const planned = planScene({ jobs: [running(1, named(ci, 1))], liveJobs: [live(named(ci, 1), 'deleting')] });

    expect(emitted(planned)).toMatchObject([{ runner: named(ci, 1), pinned: true }]);
  });

  it('and is kept and not created by Argo CD when its Job is unseen or about to go', () => {
    const skipped = (...liveJobs: LiveJob[]) =>
      emitted(planScene({ jobs: [running(1, named(ci, 1))], liveJobs })).map(({ skip = false }) => skip);

    expect(skipped()).toEqual([true]);
    expect(skipped(live(named(ci, 9), 'complete'))).toEqual([true]);
    expect(skipped(live(named(ci, 1), 'deleting'))).toEqual([true]);
    expect(skipped(live(named(ci, 1), 'running'))).toEqual([false]);
  });

  it('and once it is pinned, so that a sync of old manifests creates no second one', () => {
    const pinned = live(named(ci, 1), 'running', { pinned: true });

    expect(emitted(planScene({ jobs: [running(1, named(ci, 1))], liveJobs: [pinned] }))).toMatchObject([
      { because: 'busy', pinned: true, skip: true },
    ]);
  });

  it('the same while it cleans up after a cancel', () => {
    const runners = [row(named(ci, 1), { busy: true })];
    const skipped = (...liveJobs: LiveJob[]) =>
      emitted(planScene({ jobs: [job(2)], runners, liveJobs })).flatMap(({ because, skip = false }) =>
        because === 'finishing' ? skip : [],
      );

    expect(skipped()).toEqual([true]);
    expect(skipped(live(named(ci, 1), 'running'))).toEqual([false]);
  });

  it('until it is idle again: then nothing protects it any more, and one sync later it goes', () => {
    const idle = { runners: [row(named(ci, 1))] };
    const before = planScene({ ...idle, liveJobs: [live(named(ci, 1), 'running', { pinned: true })] });
    const after = planScene({ ...idle, liveJobs: [live(named(ci, 1), 'running')] });

    expect(before.runners).toMatchObject([{ emit: true, because: 'unpinning', pinned: false }]);
    expect(after.runners).toMatchObject([{ emit: false, because: 'surplus' }]);
  });

  it.each<[string, Partial<Group>, boolean]>([
    ['whose group is suspended', { suspend: true }, false],
    ['that Gitea shows disabled', {}, true],
  ])('until it is idle again, also one %s', (_, change, disabled) => {
    const planned = planScene({
      groups: [group(change)],
      runners: [row(named(ci, 1), { disabled })],
      liveJobs: [live(named(ci, 1), 'running', { pinned: true })],
    });

    expect(planned.runners).toMatchObject([{ emit: true, because: 'unpinning', pinned: false }]);
  });

  it('and takes the next job without a pin when it is idle again', () => {
    const planned = planScene({
      jobs: [job(2)],
      runners: [row(named(ci, 1))],
      liveJobs: [live(named(ci, 1), 'running', { pinned: true })],
    });

    expect(emitted(planned)).toMatchObject([{ runner: named(ci, 1), pinned: false, because: 'free-runner' }]);
  });

  it('unless Kubernetes shows that its pod is lost: then its slot is free at once', () => {
    const one = group({ maxActiveRunners: 1 });
    const planned = planScene({
      groups: [one],
      jobs: [running(1, named(one, 1)), job(2)],
      liveJobs: [live(named(one, 1), 'failed', { finishedAtMs: NOW })],
    });

    expect(emittedNames(planned)).toEqual([named(one, 2)]);
    expect(planned.runners[0]).toMatchObject({ because: 'lost', emit: true, pinned: false, skip: true });
  });
});

describe('P10 a runner at work of which Gitea hears nothing', () => {
  const one = group({ maxActiveRunners: 1 });
  const silent = row(named(one, 1), { online: false });
  const begun = (seconds: number) =>
    running(1, named(one, 1), { startedAtMs: NOW - seconds * 1000, createdAtMs: NOW - 700_000 });
  const kept = { because: 'lost', emit: true, pinned: true, skip: true };
  /** Job 2, and whether Gitea was there so many seconds ago. */
  const room = (scene: Parameters<typeof planScene>[0], seconds = 20) =>
    verdicts(
      planScene({
        groups: [one],
        jobs: [begun(61), job(2, { createdAtMs: NOW - seconds * 1000 })],
        runners: [silent],
        ...scene,
      }),
    )[2];

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

describe('P1 a busy runner whose Job was re-created', () => {
  const two = group({ maxActiveRunners: 2 });
  const busy = running(1, named(two, 1), { startedAtMs: NOW - 60_000 });
  const recreated = (state: LiveJob['state']) => live(named(two, 1), state, { pinned: true });
  const verdictOfNext = (liveJobs: readonly LiveJob[], liveSinceMs = NOW - 1_000) =>
    verdicts(planScene({ groups: [two], jobs: [busy, job(2)], liveJobs, liveSinceMs }))[2];

  it('takes two places under the cap: a pod that has not started is not the one that works', () => {
    expect(verdictOfNext([recreated('starting')])).toBe('cap');
    expect(verdictOfNext([recreated('running')])).toBe(`new-runner ${named(two, 2)}`);
    expect(verdictOfNext([live(named(two, 9), 'complete')])).toBe(`new-runner ${named(two, 2)}`);
  });

  it('but only when the Jobs were listed after the CI job had begun', () => {
    expect(verdictOfNext([recreated('starting')], NOW - 58_001)).toBe(`new-runner ${named(two, 2)}`);
    expect(verdictOfNext([recreated('starting')], NOW - 57_999)).toBe('cap');
  });

  it('is found without a comparison of the clocks of Gitea and Kubernetes', () => {
    const ahead = { ...recreated('starting'), createdAtMs: NOW + 60_000 };
    const behind = { ...recreated('running'), createdAtMs: NOW - 300_000 };

    expect(verdictOfNext([ahead])).toBe('cap');
    expect(verdictOfNext([behind])).toBe(`new-runner ${named(two, 2)}`);
  });

  it('is not ended by the second runner of its name that has run another job', () => {
    const second = done(2, named(two, 1), { startedAtMs: NOW - 30_000 });
    const liveJobs = [live(named(two, 1), 'complete')];

    expect(planScene({ groups: [two], jobs: [busy, second], liveJobs }).runners).toMatchObject([{ because: 'busy' }]);
  });

  it('takes a place for each job that runs under its name', () => {
    const planned = planScene({ groups: [two], jobs: [busy, running(2, named(two, 1)), job(3)] });

    expect(verdicts(planned)[3]).toBe('cap');
  });

  it('is free when Gitea has given up the job and the pod that is seen has not started', () => {
    const jobs = [done(1, named(ci, 1), { startedAtMs: NOW - 60_000 }), job(2)];

    expect(verdicts(planScene({ jobs, liveJobs: [live(named(ci, 1), 'starting')] }))[2]).toBe(
      `free-runner ${named(ci, 1)}`,
    );
    expect(verdicts(planScene({ jobs, liveJobs: [live(named(ci, 1), 'running')] }))[2]).toBe(
      `new-runner ${named(ci, 2)}`,
    );
  });

  it('loses its pin then, when no job needs it', () => {
    const jobs = [done(1, named(ci, 1), { startedAtMs: NOW - 60_000 })];
    const planned = planScene({ jobs, liveJobs: [live(named(ci, 1), 'starting', { pinned: true })] });

    expect(planned.runners).toMatchObject([{ emit: true, because: 'unpinning', pinned: false }]);
  });
});

describe('P2 nothing is started twice', () => {
  it('gives each ready job one runner under its own name', () => {
    const planned = planScene({ jobs: [job(1), job(2)] });

    expect(emittedNames(planned)).toEqual([named(ci, 1), named(ci, 2)]);
  });

  it('keeps the registered runner of a job', () => {
    const planned = planScene({ jobs: [job(1)], runners: [row(named(ci, 1))] });

    expect(verdicts(planned)).toEqual({ 1: `own-runner ${named(ci, 1)}` });
  });

  it('gives a job whose runner took another job that job’s runner', () => {
    const planned = planScene({ jobs: [running(1, named(ci, 2)), job(2)] });

    expect(verdicts(planned)).toEqual({ 1: 'running', 2: `chain ${named(ci, 1)}` });
  });

  it('does so over several jobs, also finished ones', () => {
    const jobs = [done(1, named(ci, 2)), running(2, named(ci, 3)), job(3)];

    expect(verdicts(planScene({ jobs }))[3]).toBe(`chain ${named(ci, 1)}`);
    // Where Kubernetes shows two starting runners, both are kept.
    const liveJobs = [live(named(ci, 1), 'starting'), live(named(ci, 77), 'starting')];
    expect(verdicts(planScene({ jobs: [...jobs, job(4)], liveJobs }))).toMatchObject({
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
    expect(emittedNames(planScene({ groups: one, jobs: [job(1), job(2), job(3)] }))).toEqual([
      named(ci, 2),
      named(narrow, 1),
      named(wide, 3),
    ]);
    expect(verdicts(planScene({ groups: one, jobs }))).toEqual({
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

    expect(verdicts(planScene({ groups, jobs: [full, old, job(2, { createdAtMs: NOW - 5_000 })] }))[2]).toBe(
      `chain ${named(wide, 1)}`,
    );
    expect(verdicts(planScene({ groups, jobs: [running(1, named(wide, 3)), job(2), job(3)] }))).toEqual({
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

    expect(verdicts(planScene({ groups: [two], jobs, liveJobs }))).toEqual({
      1: `free-runner ${named(two, 2)}`,
      2: 'cap',
      3: 'running',
    });
  });

  it('does not do so with a runner that lacks a label of the job', () => {
    const small = group({ name: 'a-small' });
    const big = group({ name: 'b-big', labels: ['linux', 'gpu'] });
    const jobs = [running(1, named(big, 2)), job(2, { labels: ['gpu'] })];

    expect(verdicts(planScene({ groups: [small, big], jobs }))[2]).toContain('b-big-');
  });

  it('does not do so with a runner that Kubernetes does not show, when it shows others', () => {
    const jobs = [running(1, named(ci, 2)), job(2)];
    const planned = planScene({ jobs, liveJobs: [live(named(ci, 2), 'running')] });

    expect(verdicts(planned)[2]).toBe(`new-runner ${named(ci, 2, 1)}`);
  });

  it('gives a free runner whose job was cancelled to a job without one', () => {
    const planned = planScene({ jobs: [job(2)], runners: [row(named(ci, 1))] });

    expect(verdicts(planned)).toEqual({ 2: `free-runner ${named(ci, 1)}` });
  });

  it('gives a single free runner to the youngest job, so that the older one keeps the runner that is starting', () => {
    const planned = planScene({ jobs: [job(2), job(3)], runners: [row(named(ci, 1))] });

    expect(verdicts(planned)).toEqual({ 2: `new-runner ${named(ci, 2)}`, 3: `free-runner ${named(ci, 1)}` });
  });

  it('drops a free runner that no job needs', () => {
    const planned = planScene({ runners: [row(named(ci, 1))] });

    expect(planned.runners).toEqual([
      { emit: false, runner: named(ci, 1), group: { namespace: 'runners', name: 'ci' }, because: 'surplus' },
    ]);
  });

  it('replaces a starting runner, but not a registered one, when the pod template is corrected', () => {
    const fixed = group({ templateHash: 't2' });
    const starting = planScene({ groups: [fixed], jobs: [job(1)], liveJobs: [live(named(ci, 1), 'starting')] });

    expect(emittedNames(starting)).toEqual([named(fixed, 1)]);
    expect(starting.runners).toContainEqual(expect.objectContaining({ runner: named(ci, 1), because: 'replaced' }));

    expect(emittedNames(planScene({ groups: [fixed], jobs: [job(1)] }))).toEqual([named(fixed, 1)]);
    expect(emittedNames(planScene({ groups: [fixed], jobs: [job(1)], runners: [row(named(ci, 1))] }))).toEqual([
      named(ci, 1),
    ]);
  });
});

describe('P2 nothing is started twice, however many runners of a job took others', () => {
  const many = Array.from({ length: 40 }, (_, i) => done(100 + i, named(ci, 1, i), { createdAtMs: NOW - 90_000 }));

  it('keeps the one that starts', () => {
    const liveJobs = [live(named(ci, 1, 40), 'starting')];

    expect(emittedNames(planScene({ jobs: [...many, job(1)], liveJobs }))).toEqual([named(ci, 1, 40)]);
  });

  it('waits after the one that failed', () => {
    const failed = [41, 42].map((ordinal) => live(named(ci, 1, ordinal), 'failed', { finishedAtMs: NOW - 3_000 }));

    expect(verdicts(planScene({ jobs: [...many, job(1)], liveJobs: failed }))[1]).toBe('backing-off');
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
    const planned = planScene({ jobs: [elsewhere], runners: [row(named(ci, 1))], liveJobs });

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
    expect(becauseOf({ jobs: [elsewhere], runners: [row(named(ci, 1))], liveJobs: [] })).toEqual([
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

describe('P3 the cap holds', () => {
  const two = group({ maxActiveRunners: 2 });

  it('serves the jobs first that have been ready longest, and holds back the others', () => {
    const planned = planScene({ groups: [two], jobs: [job(3), job(1), job(2)] });

    expect(emittedNames(planned)).toEqual([named(two, 1), named(two, 2)]);
    expect(verdicts(planned)[3]).toBe('cap');
    expect(planned.groups).toMatchObject([{ cap: 2, busy: 0, waiting: 2, held: 1 }]);
  });

  it('counts busy runners, and lets more than the cap live only while they are busy', () => {
    const jobs = [1, 2, 3].map((id) => running(id, named(two, id)));

    expect(emittedNames(planScene({ groups: [two], jobs: [...jobs, job(4)] }))).toHaveLength(3);
  });

  it('puts a job that needed another one behind those that were ready before, whatever its id', () => {
    const jobs = [done(1, 'elsewhere', { runId: 7 }), job(2, { runId: 7 }), job(3), job(4)];

    expect(servedIds(planScene({ groups: [two], jobs }))).toEqual([3, 4]);
  });

  it('does not take the end of a leg of its own matrix for the end of a needed job', () => {
    const leg = (id: number) => ({ runId: 7, name: `test (${id})` });
    const jobs = [done(1, 'elsewhere', leg(1)), job(2, leg(2)), job(3), job(4)];

    expect(servedIds(planScene({ groups: [two], jobs }))).toEqual([2, 3]);
  });

  it('nor when that leg was cancelled before it began', () => {
    const cancelled = job(1, { runId: 7, name: 'test (1)', status: 'completed', completedAtMs: NOW - 1_000 });
    const jobs = [cancelled, job(2, { runId: 7, name: 'test (2)' }), job(3), job(4)];

    expect(servedIds(planScene({ groups: [two], jobs }))).toEqual([2, 3]);
  });

  it('does not take an end after the begin of a leg of its own matrix for the end of a needed job', () => {
    const begun = { runId: 7, name: 'test (1)', startedAtMs: NOW - 9_000 };
    const jobs = [
      running(1, 'elsewhere', begun),
      done(2, 'elsewhere', { runId: 7, name: 'lint', completedAtMs: NOW - 1_000 }),
      job(3, { runId: 7, name: 'test (3)' }),
      job(4),
      job(5),
    ];

    expect(servedIds(planScene({ groups: [two], jobs }))).toEqual([3, 4]);
  });

  it('takes the newest end of any other job of the run, also when a leg ended after it', () => {
    const jobs = [
      done(1, 'elsewhere', { runId: 7, name: 'build', completedAtMs: NOW - 5_000 }),
      done(2, 'elsewhere', {
        runId: 7,
        name: 'test (2)',
        startedAtMs: NOW - 4_000,
        completedAtMs: NOW - 1_000,
      }),
      done(3, 'elsewhere', { runId: 7, name: 'lint', completedAtMs: NOW - 15_000 }),
      job(4, { runId: 7, name: 'test (4)' }),
      job(5, { createdAtMs: NOW - 6_000 }),
      job(6, { createdAtMs: NOW - 4_000 }),
    ];

    expect(servedIds(planScene({ groups: [two], jobs }))).toEqual([4, 5]);
    // By one slot: job 5 has waited longer than job 4, whose needed job ended after 5 came.
    const one = group({ maxActiveRunners: 1 });
    expect(servedIds(planScene({ groups: [one], jobs }))).toEqual([5]);
  });

  it('does not take an end after a runner made for the job had begun another one for the end of a needed job', () => {
    const lint = done(1, 'elsewhere', { runId: 7, name: 'lint', completedAtMs: NOW - 1_000 });
    const other = (runner: string) => running(3, runner, { labels: ['elsewhere'], startedAtMs: NOW - 9_000 });
    // Gives its slot to the first in line.
    const before = done(5, named(two, 5), {
      createdAtMs: NOW - 30_000,
      startedAtMs: NOW - 15_000,
      completedAtMs: NOW - 5_000,
    });
    const servedBeside = (runner: string) =>
      servedIds(
        planScene({ groups: [two], jobs: [lint, job(2, { runId: 7, name: 'unit' }), other(runner), job(4), before] }),
      );

    expect(servedBeside(named(two, 2))).toEqual([2]);
    expect(servedBeside(named(two, 99))).toEqual([4]);
  });

  it('takes an end in the very second in which its own runner began another job for the end of a needed job', () => {
    const lint = done(1, 'elsewhere', { runId: 7, name: 'lint', completedAtMs: NOW - 9_000 });
    const other = running(3, named(two, 2), { labels: ['elsewhere'], startedAtMs: NOW - 9_000 });
    const before = done(5, named(two, 5), {
      createdAtMs: NOW - 30_000,
      startedAtMs: NOW - 15_000,
      completedAtMs: NOW - 5_000,
    });
    const jobs = [lint, job(2, { runId: 7, name: 'unit' }), other, job(4), before];

    expect(servedIds(planScene({ groups: [two], jobs }))).toEqual([4]);
  });

  it('sorts by creation, then id, not by the order of the answer', () => {
    const one = group({ maxActiveRunners: 1 });
    const jobs = [job(1, { createdAtMs: NOW }), job(2, { createdAtMs: NOW - 1 }), job(3, { createdAtMs: NOW })];

    expect(emittedNames(planScene({ groups: [one], jobs }))).toEqual([named(one, 2)]);
  });
});

describe('P4 a used-up name is not emitted again', () => {
  it('takes the next ordinal when the runner of that name has finished a job', () => {
    const planned = planScene({ jobs: [done(1, named(ci, 2)), job(2)], liveJobs: [live(named(ci, 2), 'complete')] });

    expect(emittedNames(planned)).toEqual([named(ci, 2, 1)]);
  });

  it.each(['failed', 'complete'] as const)(
    'takes the next ordinal at once when the first Job is %s without a CI job, and the one after it only after a back-off',
    (state) => {
      const failed = (ordinal: number) =>
        live(named(ci, 1, ordinal), state, { finishedAtMs: NOW - 2_000 + 1_000 * ordinal });
      const first = planScene({ jobs: [job(1)], liveJobs: [failed(0)] });
      const second = planScene({ jobs: [job(1)], liveJobs: [failed(0), failed(1)] });
      const later = planScene({ jobs: [job(1)], liveJobs: [failed(0), failed(1)], nowMs: NOW + 9_000 });

      expect(emittedNames(first)).toEqual([named(ci, 1, 1)]);
      expect(emittedNames(second)).toEqual([]);
      expect(verdicts(second)).toEqual({ 1: 'backing-off' });
      // Both stay to be counted.
      const record = { because: 'back-off-record', pinned: false, skip: true };
      expect(second.runners.filter(({ emit }) => emit)).toMatchObject([record, record]);
      expect(emittedNames(later)).toEqual([named(ci, 1, 2)]);
    },
  );

  it('waits 10 s after the second failure, twice as long after each further one, at most a spawn timeout', () => {
    const waits = (count: number) => {
      const liveJobs = Array.from({ length: count }, (_, nth) =>
        live(named(ci, 1, nth), 'failed', { finishedAtMs: NOW - 1_000 * (count - nth) }),
      );
      const at = (nowMs: number) => verdicts(planScene({ jobs: [job(1)], liveJobs, nowMs }))[1] === 'backing-off';
      return [0, 10, 20, 40, 80, 160, 300].find((seconds) => !at(NOW - 1_000 + seconds * 1_000));
    };

    expect([1, 2, 3, 4, 5, 6, 7, 20].map(waits)).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
    // From the end of the last one.
    const ends = [5_000, 1_000].map((agoMs, nth) => live(named(ci, 1, nth), 'failed', { finishedAtMs: NOW - agoMs }));
    expect(verdicts(planScene({ jobs: [job(1)], liveJobs: ends, nowMs: NOW + 8_999 }))[1]).toBe('backing-off');
  });

  it('does not wait for a failure that lies far ahead: that clock is wrong', () => {
    const ends = [0, 1].map((nth) => live(named(ci, 1, nth), 'failed', { finishedAtMs: NOW + 200_000_000 }));

    expect(verdicts(planScene({ jobs: [job(1)], liveJobs: ends }))[1]).toBe(`new-runner ${named(ci, 1, 2)}`);
  });

  it('counts the failures, whatever their names: an old job starts with a high ordinal', () => {
    const failed = live(named(ci, 1, 8), 'failed', { finishedAtMs: NOW - 1_000 });

    expect(verdicts(planScene({ jobs: [job(1)], liveJobs: [failed] }))).toEqual({ 1: `new-runner ${named(ci, 1)}` });
  });

  it('gives the slot of a job that backs off to the next one, and a free runner to the job', () => {
    const one = group({ maxActiveRunners: 1 });
    const liveJobs = [0, 1].map((ordinal) => live(named(one, 1, ordinal), 'failed', { finishedAtMs: NOW }));

    expect(verdicts(planScene({ groups: [one], jobs: [job(1), job(2)], liveJobs }))).toEqual({
      1: 'backing-off',
      2: `new-runner ${named(one, 2)}`,
    });
    const withFree = [...liveJobs, live(named(ci, 9), 'running')];
    expect(verdicts(planScene({ jobs: [job(1)], liveJobs: withFree, runners: [row(named(ci, 9))] }))).toEqual({
      1: `free-runner ${named(ci, 9)}`,
    });
  });

  it('passes a job whose first owner backs off on to the next one', () => {
    const web = group({ name: 'web', look: 'repo', scope: 'repo' });
    const liveJobs = [0, 1].map((ordinal) => live(named(web, 1, ordinal), 'failed', { finishedAtMs: NOW }));
    const look = { jobs: [job(1)], runners: [] };

    expect(verdicts(planScene({ groups: [web, ci], looks: { repo: look, acme: look }, liveJobs }))).toEqual({
      1: `new-runner ${named(ci, 1)}`,
    });
  });

  it('gives free runners to jobs that back off only as far as the cap goes', () => {
    const one = group({ maxActiveRunners: 1 });
    const planned = planScene({
      groups: [one],
      jobs: [job(1), job(2)],
      liveJobs: [
        live(named(one, 1, 0), 'failed', { finishedAtMs: NOW }),
        live(named(one, 1, 1), 'failed', { finishedAtMs: NOW }),
        live(named(one, 8), 'running'),
        live(named(one, 9), 'running'),
      ],
      runners: [row(named(one, 8)), row(named(one, 9))],
    });

    expect(verdicts(planned)).toEqual({ 1: 'backing-off', 2: `free-runner ${named(one, 8)}` });
  });

  it('does not count on an idle runner whose Job is gone, when other Jobs of the group are seen', () => {
    const ghost = named(ci, 1);
    const jobs = [done(2, named(ci, 2)), job(3)];
    const used = live(named(ci, 2), 'complete', { finishedAtMs: NOW });

    expect(verdicts(planScene({ jobs, runners: [row(ghost)], liveJobs: [used] }))[3]).toBe(
      `new-runner ${named(ci, 3)}`,
    );
    // Without any Job in sight this cluster may be another one.
    expect(verdicts(planScene({ jobs, runners: [row(ghost)] }))[3]).toBe(`free-runner ${ghost}`);
    // A runner that works is never given up for what is not seen.
    const busy = planScene({
      jobs: [running(4, ghost), job(3)],
      runners: [row(ghost, { busy: true })],
      liveJobs: [used],
    });
    expect(emittedNames(busy)).toContain(ghost);
  });

  it('does not take a runner that was lost while it ran a job for one that failed to start', () => {
    const lost = named(ci, 1, 1);
    const planned = planScene({
      jobs: [job(1), running(2, lost)],
      liveJobs: [live(lost, 'failed', { finishedAtMs: NOW })],
    });

    expect(verdicts(planned)[1]).toBe(`new-runner ${named(ci, 1)}`);
  });

  it('takes a name that lives again, because Gitea shows its row online, for alive', () => {
    const planned = planScene({ jobs: [done(1, named(ci, 1)), job(2)], runners: [row(named(ci, 1))] });

    expect(verdicts(planned)[2]).toBe(`free-runner ${named(ci, 1)}`);
  });
});

describe('P5 only ready jobs get runners', () => {
  it.each([
    ['blocked', job(1, { status: 'blocked' }), 'blocked'],
    ['completed', done(1, 'someone-else'), 'done'],
    ['in progress elsewhere', running(1, 'someone-else'), 'running'],
    ['without labels', job(1, { labels: [] }), 'no-labels'],
  ])('not a job that is %s', (_, it_, verdict) => {
    const planned = planScene({ jobs: [it_] });

    expect(emittedNames(planned)).toEqual([]);
    expect(verdicts(planned)).toEqual({ 1: verdict });
  });

  it('a job without labels only where the group asks for it', () => {
    const open = group({ acceptUnlabelledJobs: true });

    expect(emittedNames(planScene({ groups: [open], jobs: [job(1, { labels: [] })] }))).toEqual([named(open, 1)]);
  });
});

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
    expect(emittedNames(planScene({ groups: [both], jobs: [job(1, { labels })] }))).toHaveLength(covered ? 1 : 0);
  });

  it('names the labels that the nearest group lacks', () => {
    const planned = planScene({
      groups: [ci, group({ name: 'big', labels: ['linux', 'gpu'] })],
      jobs: [job(1, { labels: ['linux', 'gpu', 'arm'] })],
    });

    expect(planned.jobs).toMatchObject([{ because: 'labels-not-covered', missing: ['arm'] }]);
  });
});

describe('P6 a runner serves only jobs that its own registration covers', () => {
  const wider = group({ labels: ['linux', 'gpu'], templateHash: 't2' });
  const gpuJob = job(2, { labels: ['gpu'] });

  it('not a label that its group got later', () => {
    const planned = planScene({ groups: [wider], jobs: [gpuJob], runners: [row(named(ci, 1))] });

    expect(verdicts(planned)).toEqual({ 2: `new-runner ${named(wider, 2)}` });
    expect(planned.runners).toContainEqual(expect.objectContaining({ runner: named(ci, 1), because: 'surplus' }));
  });

  it('not even the job that it was made for', () => {
    const planned = planScene({ groups: [wider], jobs: [gpuJob], runners: [row(named(ci, 2))] });

    expect(verdicts(planned)).toEqual({ 2: `new-runner ${named(wider, 2)}` });
  });

  it('while a fitting one goes to the job that it fits', () => {
    const jobs = [job(3), gpuJob];
    const runners = [row(named(ci, 8)), row(named(wider, 9), { labels: ['linux', 'gpu'] })];

    expect(verdicts(planScene({ groups: [wider], jobs, runners }))).toEqual({
      2: `free-runner ${named(wider, 9)}`,
      3: `free-runner ${named(ci, 8)}`,
    });
  });
});

describe('P7 a job that several groups cover has one owner', () => {
  const repo = group({ name: 'z-repo', scope: 'repo', labels: ['linux', 'gpu', 'arm'], look: 'acme' });
  const org = group({ name: 'b-org', labels: ['linux', 'gpu'] });
  const small = group({ name: 'x-small' });
  const same = group({ name: 'w-same' });
  const global = group({ name: 'a-global', scope: 'global' });
  const ownerAmong = (...groups: Group[]) =>
    emitted(planScene({ groups, jobs: [job(1)] })).map(({ group: { name } }) => name);

  it('narrowest scope, then fewest labels, then name', () => {
    expect(ownerAmong(global, org, small, same, repo)).toEqual(['z-repo']);
    expect(ownerAmong(global, org, small, same)).toEqual(['w-same']);
    expect(ownerAmong(global, org, small)).toEqual(['x-small']);
    expect(ownerAmong(global, org)).toEqual(['b-org']);
  });

  it('passes on to the next group with room when the owner is full or suspended', () => {
    expect(ownerAmong(group({ maxActiveRunners: 0 }), global)).toEqual(['a-global']);
    expect(ownerAmong(group({ suspend: true }), global)).toEqual(['a-global']);
  });

  it('stays with the group that had room first, where its runner may be starting unseen', () => {
    const full = group({ maxActiveRunners: 1 });
    const old = { createdAtMs: NOW - 60_000 };
    const jobs = [done(1, named(full, 1), { ...old, completedAtMs: NOW - 1_000 }), job(2, old)];

    expect(emittedNames(planScene({ groups: [full, global], jobs }))).toEqual([named(global, 2)]);
  });

  it('goes to its first owner where Kubernetes shows that nothing is starting', () => {
    const full = group({ maxActiveRunners: 1 });
    const jobs = [done(1, named(full, 1), { createdAtMs: NOW - 60_000 }), job(2, { createdAtMs: NOW - 60_000 })];
    const liveJobs = [live(named(full, 1), 'complete')];

    expect(emittedNames(planScene({ groups: [full, global], jobs, liveJobs }))).toEqual([named(full, 2)]);
  });

  it('stays with the group that already has a living runner for it', () => {
    const planned = planScene({ groups: [ci, global], jobs: [job(1)], runners: [row(named(global, 1))] });

    expect(emittedNames(planned)).toEqual([named(global, 1)]);
  });

  it('is not shared with a group of another Gitea that has a job of the same id', () => {
    const other = group({ name: 'other', origin: 'https://two.example.com', look: 'two' });
    const planned = planScene({
      groups: [ci, other],
      looks: { acme: { jobs: [job(1)], runners: [] }, two: { jobs: [job(1)], runners: [] } },
    });

    expect(emittedNames(planned)).toEqual([named(ci, 1), named(other, 1)]);
  });

  it('is served only by groups whose look lists it', () => {
    const narrow = group({ name: 'narrow', scope: 'repo', look: 'repo' });
    const planned = planScene({
      groups: [narrow, ci],
      looks: { acme: { jobs: [job(1)], runners: [] }, repo: { jobs: [], runners: [] } },
    });

    expect(emittedNames(planned)).toEqual([named(ci, 1)]);
  });
});

describe('P8 time alone changes nothing but at a spawn timeout', () => {
  it('takes the next name when a runner has not come for a spawn timeout, and again after twice as long each time', () => {
    const at = (seconds: number) =>
      emittedNames(planScene({ jobs: [job(1, { createdAtMs: NOW })], nowMs: NOW + seconds * 1000 }));

    expect(at(0)).toEqual([named(ci, 1, 0)]);
    expect(at(299)).toEqual([named(ci, 1, 0)]);
    expect(at(300)).toEqual([named(ci, 1, 1)]);
    expect(at(899)).toEqual([named(ci, 1, 1)]);
    expect(at(900)).toEqual([named(ci, 1, 2)]);
    expect(at(2100)).toEqual([named(ci, 1, 3)]);
  });

  it('counts from when the job came within the cap, not from its creation', () => {
    const one = group({ maxActiveRunners: 1 });
    const old = { createdAtMs: NOW - 3_600_000 };
    const planned = planScene({ groups: [one], jobs: [done(1, named(one, 1), old), job(2, old)] });

    expect(emittedNames(planned)).toEqual([named(one, 2)]);
  });

  it('counts from the end that freed its own slot, not from a later one', () => {
    const two = group({ maxActiveRunners: 2 });
    const old = { createdAtMs: NOW - 3_600_000 };
    const jobs = [
      done(1, named(two, 1), { ...old, completedAtMs: NOW - 400_000 }),
      done(2, named(two, 2), { ...old, completedAtMs: NOW - 1_000 }),
      job(3, old),
      job(4, old),
    ];

    expect(emittedNames(planScene({ groups: [two], jobs }))).toEqual([named(two, 3, 1), named(two, 4, 0)]);
  });

  it('counts from the end of the job that it needed', () => {
    const old = { createdAtMs: NOW - 3_600_000, runId: 9 };

    expect(emittedNames(planScene({ jobs: [done(1, 'elsewhere', old), job(2, old)] }))).toEqual([named(ci, 2)]);
  });

  it('counts from what Kubernetes shows of the pod', () => {
    const oldJob = job(1, { createdAtMs: NOW - 3_600_000 });
    const seen = (state: LiveJob['state'], ageMs: number, over: Partial<LiveJob> = {}) =>
      verdicts(
        planScene({ jobs: [oldJob], liveJobs: [live(named(ci, 1), state, { createdAtMs: NOW - ageMs, ...over })] }),
      )[1];
    const own = `own-runner ${named(ci, 1)}`;
    const next = `new-runner ${named(ci, 1, 1)}`;

    // Its container runs, and it does not register.
    expect(seen('running', 299_000)).toBe(own);
    expect(seen('running', 300_000)).toBe(next);
    expect(seen('running', 400_000, { runningSinceMs: NOW - 299_000 })).toBe(own);
    expect(seen('running', 400_000, { runningSinceMs: NOW - 300_000 })).toBe(next);
    // An image that cannot be pulled.
    expect(seen('starting', 299_000, { stuck: true })).toBe(own);
    expect(seen('starting', 300_000, { stuck: true })).toBe(next);
  });

  it('keeps the same one of two registered runners of a job, in whatever order Gitea lists them', () => {
    const runners = [row(named(ci, 1, 0)), row(named(ci, 1, 1), { id: 2 })];
    const kept = verdicts(planScene({ jobs: [job(1)], runners }));

    expect(verdicts(planScene({ jobs: [job(1)], runners: runners.toReversed() }))).toEqual(kept);
  });

  it('gives a job the same one of two free runners, in whatever order Gitea lists them', () => {
    const runners = [row(named(ci, 8)), row(named(ci, 9), { id: 2 })];
    const given = verdicts(planScene({ jobs: [job(1)], runners }));

    expect(verdicts(planScene({ jobs: [job(1)], runners: runners.toReversed() }))).toEqual(given);
  });

  it('is not upset by a Gitea whose clock is ahead', () => {
    expect(emittedNames(planScene({ jobs: [job(1, { createdAtMs: NOW + 900_000 })] }))).toEqual([named(ci, 1)]);
  });
});

describe('P9 nothing waits for ever', () => {
  it('a pod that is on its way is not exchanged for another one, which would be as slow', () => {
    const seen = (ageMs: number) =>
      verdicts(planScene({ jobs: [job(1)], liveJobs: [live(named(ci, 1), 'starting', { createdAtMs: NOW - ageMs })] }));

    expect(seen(310_000)).toEqual({ 1: `own-runner ${named(ci, 1)}` });
    expect(seen(3_599_000)).toEqual({ 1: `own-runner ${named(ci, 1)}` });
    // After an hour its node will not come.
    expect(seen(3_600_000)).toEqual({ 1: `new-runner ${named(ci, 1, 1)}` });
  });

  it('a runner that was started for a job which had waited for hours is known again', () => {
    const old = job(1, { createdAtMs: NOW - 10 * 3_600_000 });
    const [first = ''] = emittedNames(planScene({ jobs: [old] }));

    expect(emittedNames(planScene({ jobs: [old], liveJobs: [live(first, 'starting')] }))).toEqual([first]);
    expect(emittedNames(planScene({ jobs: [old], liveJobs: [live(first, 'starting')], nowMs: NOW + 200_000 }))).toEqual(
      [first],
    );
  });

  it.each([
    ['a day', 86_400_000],
    ['two thousand years', 2_000 * 31_557_600_000],
  ])('jobs that have waited for %s get few ordinals: what a plan costs does not grow with time', (_, ageMs) => {
    const quick = group({ spawnTimeoutMs: 1_000, maxActiveRunners: 100 });
    const jobs = Array.from({ length: 100 }, (_each, nth) => job(nth + 1, { createdAtMs: NOW - ageMs }));
    const names = emittedNames(planScene({ groups: [quick], jobs }));
    const possible = Array.from({ length: ORDINALS_SEARCHED }, (_each, ordinal) => named(quick, 1, ordinal));

    expect(names).toHaveLength(100);
    expect(possible).toContain(names.find((name) => name.startsWith('ci-1-')));
  });

  it('gives a job a new runner when its own was disabled', () => {
    const planned = planScene({ jobs: [job(1)], runners: [row(named(ci, 1), { disabled: true })] });

    expect(emittedNames(planned)).toEqual([named(ci, 1, 1)]);
  });

  it('gives a job a new runner when its own is hung: its Job runs, it is offline, and the spawn timeout has passed', () => {
    const planned = planScene({
      jobs: [job(1)],
      runners: [row(named(ci, 1), { online: false })],
      liveJobs: [live(named(ci, 1), 'running', { createdAtMs: NOW - 300_000 })],
    });

    expect(emittedNames(planned)).toEqual([named(ci, 1, 1)]);
  });

  it('keeps asking for the same name while the runner’s old row is offline', () => {
    expect(emittedNames(planScene({ jobs: [job(1)], runners: [row(named(ci, 1), { online: false })] }))).toEqual([
      named(ci, 1),
    ]);
  });

  it('gives a job a new runner when its own sleeps: registered, but both have been there for a spawn timeout (Gitea 1.26)', () => {
    const waits = job(1, { createdAtMs: NOW - 3_600_000 });
    const seen = (ageMs: number) =>
      verdicts(
        planScene({
          jobs: [waits],
          runners: [row(named(ci, 1))],
          liveJobs: [live(named(ci, 1), 'running', { createdAtMs: NOW - ageMs })],
        }),
      )[1];

    expect(seen(299_000)).toBe(`own-runner ${named(ci, 1)}`);
    expect(seen(300_000)).toBe(`new-runner ${named(ci, 1, 1)}`);
  });

  it('keeps a runner that has been idle for long for a job that has just become ready', () => {
    const planned = planScene({
      jobs: [job(1)],
      runners: [row(named(ci, 9))],
      liveJobs: [live(named(ci, 9), 'running', { createdAtMs: NOW - 3_600_000 })],
    });

    expect(verdicts(planned)).toEqual({ 1: `free-runner ${named(ci, 9)}` });
  });

  it('does not wait for a Job that is being deleted', () => {
    expect(emittedNames(planScene({ jobs: [job(1)], liveJobs: [live(named(ci, 1), 'deleting')] }))).toEqual([
      named(ci, 1, 1),
    ]);
  });

  it('gives a job that is queued again after a rerun (same id, Gitea 1.26) a runner of its own', () => {
    const planned = planScene({ jobs: [job(1, { attempt: 1 })], liveJobs: [live(named(ci, 1, 0, 0), 'complete')] });

    expect(emittedNames(planned)).toEqual([named(ci, 1, 0, 1)]);
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

    expect(emittedNames(planScene({ groups: [ci, repo], looks }))).toEqual([named(ci, 1)]);
  });

  it('a job that one look shows queued again after a rerun, and another one in its first stay', () => {
    const repo = group({ name: 'repo', scope: 'repo', look: 'repo' });
    const again = { jobs: [job(1, { attempt: 2 })], runners: [] };
    const first = { jobs: [done(1, named(ci, 1))], runners: [] };

    expect(verdicts(planScene({ groups: [ci, repo], looks: { acme: again, repo: first } }))[1]).toContain('new-runner');
    expect(verdicts(planScene({ groups: [ci, repo], looks: { acme: first, repo: again } }))[1]).toContain('new-runner');
  });

  it('a runner whose row is listed twice, once offline', () => {
    const runners = [row(named(ci, 1), { online: false }), row(named(ci, 1), { id: 2, busy: true })];

    expect(emitted(planScene({ runners }))).toMatchObject([{ because: 'finishing' }]);
  });

  it('fails when the look of a group is missing', () => {
    expect(() => planScene({ looks: {} })).toThrow('no look at Gitea for RunnerGroup runners/ci');
  });
});

describe('a runner is ours only when prefix, form and group hash fit', () => {
  it.each([
    ['a namesake in another namespace', named(group({ namespace: 'elsewhere' }), 1)],
    ['a namesake of another instance', named(ci, 1).replace(/[0-9a-f]{8}$/, '0000cafe')],
    ['a person’s runner', 'build-host-1'],
    ['a group whose name starts alike', named(group({ name: 'ci-2' }), 1)],
  ])('not %s', (_, name) => {
    const planned = planScene({ jobs: [running(1, name)], runners: [row(name, { busy: true })] });

    expect(planned.runners).toEqual([]);
    expect(planned.jobs).toMatchObject([{ verdict: 'running' }]);
    expect(planned.jobs[0]).not.toHaveProperty('group');
  });

  it('not one that another Gitea reports under our name', () => {
    const two = group({ name: 'two', origin: 'https://two.example.com', look: 'two' });
    const looks = {
      acme: { jobs: [], runners: [] },
      two: { jobs: [running(1, named(ci, 1))], runners: [] },
    };

    expect(planScene({ groups: [ci, two], looks }).runners).toEqual([]);
  });

  it('not a Job of that name in another namespace', () => {
    const planned = planScene({ jobs: [job(1)], liveJobs: [live(named(ci, 1), 'failed', { namespace: 'elsewhere' })] });

    expect(emittedNames(planned)).toEqual([named(ci, 1)]);
  });

  it('and two groups that could not be told apart are refused', () => {
    expect(() => planScene({ groups: [ci, { ...ci }] })).toThrow(/would have the same runner names; rename one/);
  });
});
