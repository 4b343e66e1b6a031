/** Law P2 (docs/spec.md): nothing is started twice. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import { done, group, job, live, NOW, named, planScene, row, running, type Scene } from '../../support/scenario.ts';

const ci = group();

describe('P2 nothing is started twice', () => {
  it.each<[string, Scene, Readonly<Record<number, string>>]>([
    [
      'gives each ready job one runner under its own name',
      { jobs: [job(1), job(2)] },
      { 1: `new-runner ${named(ci, 1)}`, 2: `new-runner ${named(ci, 2)}` },
    ],
    [
      'keeps the registered runner of a job, and does not give it to another one',
      { jobs: [job(1), job(2)], runners: [row(named(ci, 1))] },
      { 1: `own-runner ${named(ci, 1)}`, 2: `new-runner ${named(ci, 2)}` },
    ],
    [
      'gives a job whose runner took another job that job’s runner',
      { jobs: [running(1, named(ci, 2)), job(2)] },
      { 1: 'running', 2: `chain ${named(ci, 1)}` },
    ],
    [
      'does so over several jobs, also finished ones',
      { jobs: [done(1, named(ci, 2)), running(2, named(ci, 3)), job(3)] },
      { 1: 'done', 2: 'running', 3: `chain ${named(ci, 1)}` },
    ],
    [
      'leaves the runner that a job waits for to that job when it has registered, whoever is younger',
      { jobs: [running(1, named(ci, 2)), job(2), job(3)], runners: [row(named(ci, 1))] },
      { 1: 'running', 2: `chain ${named(ci, 1)}`, 3: `new-runner ${named(ci, 3)}` },
    ],
    [
      'does not do so with a runner that Kubernetes does not show, when it shows others',
      { jobs: [running(1, named(ci, 2)), job(2)], liveJobs: [live(named(ci, 2), 'running')] },
      { 1: 'running', 2: `new-runner ${named(ci, 2, 1)}` },
    ],
    [
      'keeps two starting runners where Kubernetes shows them, whatever they were made for',
      { jobs: [job(3), job(4)], liveJobs: [live(named(ci, 1), 'starting'), live(named(ci, 77), 'starting')] },
      { 3: `free-runner ${named(ci, 77)}`, 4: `free-runner ${named(ci, 1)}` },
    ],
    [
      'gives a single free runner to the youngest job, so that the older one keeps the runner that is starting',
      { jobs: [job(2), job(3)], runners: [row(named(ci, 1))] },
      { 2: `new-runner ${named(ci, 2)}`, 3: `free-runner ${named(ci, 1)}` },
    ],
  ])('%s', (_, scene, expected) => {
    expect(planScene(scene).verdicts).toEqual(expected);
  });

  it('the plan keeps one of the runners of a job, when two of its owners have one and the first has none', () => {
    const [first, second, third] = ['a', 'b', 'c'].map((name) => group({ name })) as [typeof ci, typeof ci, typeof ci];
    const runners = [row(named(second, 1)), row(named(third, 1), { id: 2 })];
    const liveJobs = [live(named(first, 9), 'complete'), ...runners.map(({ name }) => live(name, 'running'))];

    for (const seen of [{}, { liveJobs }])
      expect(planScene({ groups: [first, second, third], jobs: [job(1)], runners, ...seen }).names).toEqual([
        named(second, 1),
      ]);
  });

  it('the plan passes a runner of another group on, where it was planned', () => {
    const groups = [
      group({ name: 'narrow', scope: 'repo', maxActiveRunners: 1 }),
      group({ maxActiveRunners: 1 }),
      group({ name: 'wide', scope: 'global', maxActiveRunners: 1 }),
    ] as const;
    const [narrow, , wide] = groups;

    // At first, job 1 went to the narrow group, job 2 to ci, and job 3 found no slot but in the wide one.
    expect(planScene({ groups, jobs: [job(1), job(2), job(3)] }).names).toEqual([
      named(ci, 2),
      named(narrow, 1),
      named(wide, 3),
    ]);
    expect(planScene({ groups, jobs: [running(1, named(ci, 2)), job(2), job(3)] }).verdicts).toEqual({
      1: 'running',
      2: `chain ${named(narrow, 1)}`,
      3: `new-runner ${named(wide, 3)}`,
    });
  });

  it('the planner starts nothing twice in the group in which the other job had room first', () => {
    const narrow = group({ name: 'narrow', scope: 'repo', maxActiveRunners: 1 });
    const wide = group({ name: 'wide', scope: 'global' });
    const groups = [narrow, wide];
    const full = done(9, named(narrow, 9), { createdAtMs: NOW - 90_000, completedAtMs: NOW - 10_000 });
    const old = running(1, named(wide, 2), { createdAtMs: NOW - 60_000 });

    expect(planScene({ groups, jobs: [full, old, job(2, { createdAtMs: NOW - 5_000 })] }).verdicts[2]).toBe(
      `chain ${named(wide, 1)}`,
    );
    expect(planScene({ groups, jobs: [running(1, named(wide, 3)), job(2), job(3)] }).verdicts).toEqual({
      1: 'running',
      2: `new-runner ${named(wide, 2)}`,
      3: `chain ${named(narrow, 1)}`,
    });
  });

  it('the planner does not drop a starting runner for a job whose own one took a job that nobody had thought of', () => {
    const two = group({ maxActiveRunners: 2 });
    // Gitea gave job 3, which the cap held back, to the runner of job 1. The runner of job 2 goes on starting.
    const jobs = [job(1), job(2), running(3, named(two, 1))];
    const liveJobs = [live(named(two, 1), 'running'), live(named(two, 2), 'starting')];

    expect(planScene({ groups: [two], jobs, liveJobs }).verdicts).toEqual({
      1: `free-runner ${named(two, 2)}`,
      2: 'cap',
      3: 'running',
    });
  });

  it('the plan passes no runner on that lacks a label of the job', () => {
    const big = group({ name: 'b-big', labels: ['linux', 'gpu'] });
    const jobs = [running(1, named(big, 2)), job(2, { labels: ['gpu'] })];

    expect(planScene({ groups: [group({ name: 'a-small' }), big], jobs }).verdicts[2]).toContain('b-big-');
  });

  it('drops a free runner that no job needs', () => {
    expect(planScene({ runners: [row(named(ci, 1))] }).runners).toEqual([
      { emit: false, runner: named(ci, 1), group: { namespace: 'runners', name: 'ci' }, because: 'surplus' },
    ]);
  });

  it('replaces a starting runner, but not a registered one, when the pod template is corrected', () => {
    const groups = [group({ templateHash: 't2' })];
    const fixed = named(group({ templateHash: 't2' }), 1);

    expect(planScene({ groups, jobs: [job(1)], liveJobs: [live(named(ci, 1), 'starting')] }).reasons).toEqual({
      [fixed]: 'new-runner',
      [named(ci, 1)]: 'replaced',
    });
    expect(planScene({ groups, jobs: [job(1)] }).names).toEqual([fixed]);
    expect(planScene({ groups, jobs: [job(1)], runners: [row(named(ci, 1))] }).names).toEqual([named(ci, 1)]);
  });

  it('the plan keeps the runner that starts after 40 runners of its job took others, and waits after those that failed', () => {
    const many = Array.from({ length: 40 }, (_, i) => done(100 + i, named(ci, 1, i), { createdAtMs: NOW - 90_000 }));
    const jobs = [...many, job(1)];
    const failed = [41, 42].map((ordinal) => live(named(ci, 1, ordinal), 'failed', { finishedAtMs: NOW - 3_000 }));

    expect(planScene({ jobs, liveJobs: [live(named(ci, 1, 40), 'starting')] }).names).toEqual([named(ci, 1, 40)]);
    expect(planScene({ jobs, liveJobs: failed }).verdicts[1]).toBe('backing-off');
  });
});

describe('P2 a runner that no job needs', () => {
  const starting = live(named(ci, 1), 'starting');
  const registered = { runners: [row(named(ci, 1))] };
  const elsewhere = running(9, 'build-host-1');
  const gpuJob = (id: number) => running(id, 'gpu-host-1', { labels: ['gpu'] });
  const fateIn = (scene: Scene) => planScene({ liveJobs: [starting], ...scene }).reasons[named(ci, 1)];

  it('a runner that no job needs is kept while CI goes on that it could have taken', () => {
    const planned = planScene({ jobs: [elsewhere], liveJobs: [starting] });

    // Argo CD keeps it, and creates none.
    const kept = { emit: true, because: 'spare', pinned: false, skip: true };
    expect(planned.runners).toEqual([{ ...kept, runner: named(ci, 1), group: { namespace: 'runners', name: 'ci' } }]);
    expect(planned.groups).toMatchObject([{ waiting: 0, spare: 1 }]);
    // Any job that goes on will do.
    expect(fateIn({ jobs: [gpuJob(8), elsewhere, { ...gpuJob(10), createdAtMs: NOW }] })).toBe('spare');
    expect(fateIn({ jobs: [gpuJob(8), elsewhere] })).toBe('spare');
  });

  it('a runner that no job needs serves the next job', () => {
    const scene = { jobs: [elsewhere, job(10)], liveJobs: [starting] };

    expect(planScene(scene).verdicts[10]).toBe(`free-runner ${named(ci, 1)}`);
    expect(planScene(scene).groups).toMatchObject([{ waiting: 1, spare: 0 }]);
  });

  it('loses its pin while it is kept', () => {
    const liveJobs = [live(named(ci, 1), 'running', { pinned: true })];
    const [kept] = planScene({ jobs: [done(1, named(ci, 1)), elsewhere], ...registered, liveJobs }).runners;

    expect(kept).toMatchObject({ because: 'spare', pinned: false });
    expect(kept).not.toHaveProperty('skip');
  });

  it.each<[string, string, Scene]>([
    ['no CI goes on', 'surplus', { jobs: [done(9, 'build-host-1')] }],
    ['what goes on asks for labels that it lacks', 'surplus', { jobs: [gpuJob(9)] }],
    [
      'what goes on asks for labels that its group got after it registered',
      'surplus',
      { groups: [group({ labels: ['linux', 'gpu'], templateHash: 't2' })], jobs: [gpuJob(9)], ...registered },
    ],
    [
      'what goes on is not for its scope',
      'surplus',
      {
        groups: [ci, group({ name: 'other', look: 'other' })],
        looks: { acme: { jobs: [], runners: [] }, other: { jobs: [elsewhere], runners: [] } },
      },
    ],
    ['its group is suspended', 'suspended', { jobs: [elsewhere], groups: [group({ suspend: true })] }],
    [
      'the cap has no room for it',
      'surplus',
      { jobs: [running(9, named(ci, 9))], groups: [group({ maxActiveRunners: 1 })] },
    ],
    ['nobody sees since when it has been there', 'surplus', { jobs: [elsewhere], ...registered, liveJobs: undefined }],
  ])('a runner that no job needs goes when %s', (_, because, scene) => {
    expect(fateIn(scene)).toBe(because);
  });

  it('a runner that no job needs goes when it is a spawn timeout old, also when it is registered', () => {
    const nowMs = starting.createdAtMs + ci.spawnTimeoutMs;

    const begunLater = live(named(ci, 1), 'running', { ...starting, state: 'running', runningSinceMs: nowMs - 1_000 });

    for (const seen of [{}, registered, { ...registered, liveJobs: [begunLater] }]) {
      expect(fateIn({ jobs: [elsewhere], ...seen, nowMs: nowMs - 1 })).toBe('spare');
      expect(fateIn({ jobs: [elsewhere], ...seen, nowMs })).toBe('surplus');
    }
  });

  it('a runner that no job needs is kept as far as there is room, registered ones first', () => {
    const liveJobs = [1, 2, 3].map((id) => live(named(ci, id), 'running'));
    const groups = [group({ maxActiveRunners: 2 })];

    expect(planScene({ groups, jobs: [elsewhere, job(4)], runners: [row(named(ci, 3))], liveJobs }).reasons).toEqual({
      [named(ci, 1)]: 'spare',
      [named(ci, 2)]: 'surplus',
      [named(ci, 3)]: 'free-runner',
    });
  });
});
