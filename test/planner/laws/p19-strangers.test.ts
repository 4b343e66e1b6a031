/** P19: a runner of somebody else under a name of our form takes no place. */
import { describe, expect, it } from 'vitest';
import type { Group, Look } from '../../../src/planner/evidence.ts';
import { done, group, job, live, NOW, named, planScene, row, running, type Scene } from '../../support/scenario.ts';

const one = group({ maxActiveRunners: 1 });
const theirs = named(one, 7);
const odd = { labels: ['whatever'] };
const more = { labels: ['linux', 'whatever'] };

/** A job waits for the only slot, while another one runs under a name of ours. */
const scene = (
  look: Partial<Look>,
  { of = one, ...seen }: Pick<Scene, 'liveJobs' | 'pods'> & { readonly of?: Group } = {},
) =>
  planScene({
    groups: [of],
    pods: [],
    looks: { acme: { jobs: [job(1), running(7, theirs, odd)], runners: [], rowsWereRead: true, ...look } },
    ...seen,
  });

const alike = [job(1), running(7, theirs)];
const ours = { jobs: alike, runners: [row(theirs, { busy: true })] };
/** Kueue may bring its pods to another cluster, which nobody sees. */
const queued = { ...one, queue: 'team-a' };
const unread = { rowsWereRead: undefined } as unknown as Partial<Look>;

describe('P19 a runner at work without a Job', () => {
  it.each([
    ['and without a row, where both were read', { jobs: alike }, { liveJobs: [] }],
    ['and without a row, whose CI job has labels that the group has not', {}, {}],
    ['and without a row, whose CI job has one such label', { jobs: [job(1), running(7, theirs, more)] }, {}],
    ['whose CI job has labels that the group has not', { runners: [row(theirs, { busy: true })] }, { liveJobs: [] }],
    [
      'and with a row that is not ephemeral',
      { jobs: alike, runners: [row(theirs, { ephemeral: false })] },
      { liveJobs: [] },
    ],
    ['whose CI job has such labels, and rows were not read', unread, { liveJobs: [] }],
    ['and with an ephemeral row like ours, where no pod is seen', ours, { liveJobs: [] }],
    ['and without a pod, of which nobody has read rows', { jobs: alike, ...unread }, { liveJobs: [] }],
  ] as const)('a runner at work without a Job %s takes no slot', (_, look, seen) => {
    const planned = scene(look, seen);

    expect(planned.verdicts).toEqual({ 1: `new-runner ${named(one, 1)}`, 7: 'running' });
    expect(planned.groups).toMatchObject([{ busy: 0, waiting: 1, held: 0 }]);
    const told = { emit: true, group: { namespace: 'runners', name: 'ci' }, job: expect.anything() };
    const foreign = planned.runners.find(({ runner }) => runner === theirs);
    expect(foreign).toStrictEqual({ ...told, runner: theirs, because: 'foreign', pinned: true, skip: true });
    expect(planned.jobs.find(({ verdict }) => verdict === 'running')).not.toHaveProperty('group');
  });

  it.each([
    ['and without a row, where nobody lists Jobs', { jobs: alike }, {}],
    ['whose pod may finish after its Job was pruned', ours, { liveJobs: [], pods: [theirs] }],
    ['whose pod may finish, and which has no row', { jobs: alike }, { liveJobs: [], pods: [theirs] }],
    ['whose pod may be in another cluster', ours, { liveJobs: [], of: queued }],
    ['whose CI job has labels that the group had before', { runners: [row(theirs, { busy: true })] }, {}],
    ['whose Job Kubernetes shows', {}, { liveJobs: [live(theirs, 'running')] }],
  ] as const)('a runner at work without a Job %s keeps its slot', (_, look, seen) => {
    const planned = scene(look, seen);

    expect(planned.verdicts).toEqual({ 1: 'cap', 7: 'running' });
    expect(planned.groups).toMatchObject([{ busy: 1 }]);
    expect(planned.runners).toMatchObject([{ runner: theirs, because: 'busy', pinned: true }]);
  });

  it('a runner at work without a Job and without a row takes no slot, even if its pod might be in another cluster', () => {
    expect(scene({ jobs: alike }, { liveJobs: [], of: queued }).reasons[theirs]).toBe('foreign');
  });

  it('a runner at work without a Job and a pod is told as lost while it is silent: its node may be gone', () => {
    const silent = { jobs: alike, runners: [row(theirs, { online: false })] };

    expect(scene(silent, { liveJobs: [] })).toMatchObject({ reasons: { [theirs]: 'lost' }, groups: [{ busy: 0 }] });
    expect(scene(silent, { liveJobs: [], pods: [theirs] }).reasons[theirs]).toBe('busy');
  });

  it('a runner at work without a Job and a pod is told as lost, too, if Gitea shows its job longer than any runner lives', () => {
    const jobs = [job(1), running(7, theirs, { startedAtMs: NOW - 2 * one.longestRunMs })];

    expect(scene({ ...ours, jobs }, { liveJobs: [] }).reasons[theirs]).toBe('lost');
  });

  it('a runner at work without a Job takes no slot in the past', () => {
    const ago = (seconds: number) => NOW - seconds * 1000;
    const times = { startedAtMs: ago(300), completedAtMs: ago(200) };
    const jobs = [
      running(7, theirs, { ...odd, createdAtMs: ago(600), startedAtMs: ago(500) }),
      done(1, 'elsewhere', { createdAtMs: ago(400), ...times }),
      job(2, { createdAtMs: ago(350) }),
    ];

    expect(scene({ jobs }).verdicts[2]).toContain('chain');
  });

  it('a runner at work without a Job asks for nothing in the past', () => {
    const two = group({ maxActiveRunners: 2 });
    const planned = scene({ jobs: [job(1), job(2), running(7, theirs, odd)] }, { of: two });

    expect(planned.names).toEqual(expect.arrayContaining([named(two, 1), named(two, 2)]));
  });

  it('a runner at work without a Job is not one whose idle row of our form is not ephemeral: that row is none of ours', () => {
    const planned = scene({ jobs: [job(7)], runners: [row(theirs, { ephemeral: false })] });

    expect(planned.verdicts).toEqual({ 7: `new-runner ${theirs}` });
  });
});

describe('P19 a busy row without a CI job and without a Job', () => {
  const look = { jobs: [job(1)], runners: [row(theirs, { busy: true })] };

  it.each([one, queued])(
    'a busy row takes no slot where Kubernetes shows no pod of it, however long it is there',
    (of) => {
      const planned = scene(look, { liveJobs: [], of });

      expect(planned.verdicts).toEqual({ 1: `new-runner ${named(one, 1)}` });
      expect(planned.reasons[theirs]).toBe('foreign');
      expect(planned.groups).toMatchObject([{ busy: 0 }]);
    },
  );

  it.each([
    ['its pod may finish', { liveJobs: [], pods: [theirs] }],
    ['nobody sees Jobs', {}],
  ] as const)('a busy row keeps its slot where %s', (_, seen) => {
    expect(scene(look, seen).verdicts).toEqual({ 1: 'cap' });
  });
});

describe('P19 several CI jobs under one name', () => {
  const two = group({ maxActiveRunners: 2 });
  const jobs = [job(1), running(7, theirs), running(8, theirs)];
  const liveJobs = [live(theirs, 'running')];
  const pods = [theirs, theirs];

  it.each<[string, Partial<Look>, string]>([
    ['one slot when one row has that name', { runners: [row(theirs)] }, `new-runner ${named(two, 1)}`],
    ['one slot when no row has it', {}, `new-runner ${named(two, 1)}`],
    ['two when two rows have it: its Job was created again', { runners: [row(theirs), row(theirs, { id: 2 })] }, 'cap'],
    ['two where nobody has read rows', unread, 'cap'],
  ])('take %s', (_, look, verdict) => {
    expect(scene({ jobs, ...look }, { of: two, liveJobs, pods }).verdicts[1]).toBe(verdict);
  });

  it('take one slot where one pod of that name is seen, however many rows have the name', () => {
    const rows = [1, 2, 3].map((id) => row(theirs, { id, busy: true }));

    expect(scene({ jobs, runners: rows }, { of: two, liveJobs, pods: [theirs] }).verdicts[1]).toContain('new-runner');
  });

  it('take two slots where Kueue may have brought the pods of its Job to another cluster, whatever the group says now', () => {
    const runners = [row(theirs), row(theirs, { id: 2 })];
    const atKueue = [live(theirs, 'running', { queue: 'team-a' })];

    expect(scene({ jobs, runners }, { of: two, liveJobs: atKueue }).verdicts[1]).toBe('cap');
    expect(
      scene({ jobs, runners }, { of: { ...two, queue: 'team-a' }, liveJobs, pods: [theirs] }).verdicts[1],
    ).toContain('new-runner');
  });

  it('take one when two looks show the same row', () => {
    const repo = group({ name: 'repo', scope: 'repo', look: 'repo', labels: ['other'] });
    const seen = { jobs, runners: [row(theirs)], rowsWereRead: true } as const;

    expect(planScene({ groups: [two, repo], looks: { acme: seen, repo: seen }, liveJobs }).verdicts[1]).toContain(
      'new-runner',
    );
  });
});
