/** P19: a runner of somebody else under a name of our form takes no place. */
import { describe, expect, it } from 'vitest';
import type { LiveJob, Look } from '../../../src/planner/evidence.ts';
import { plan } from '../../../src/planner/plan.ts';
import {
  done,
  emittedNames,
  evidenceOfScene,
  group,
  job,
  live,
  NOW,
  named,
  row,
  running,
  verdicts,
} from '../../support/scenario.ts';

const one = group({ maxActiveRunners: 1 });
const theirs = named(one, 7);
const odd = { labels: ['whatever'] };
const more = { labels: ['linux', 'whatever'] };

/** A job waits for the only place, while another one runs under a name of ours. */
function scene(
  look: Partial<Look>,
  { liveJobs, of = one }: { readonly liveJobs?: readonly LiveJob[]; readonly of?: typeof one } = {},
) {
  const looks = {
    acme: { jobs: [job(1), running(7, theirs, odd)], runners: [], rowsWereRead: true, ...look } as const,
  };
  const evidence = evidenceOfScene({ groups: [of], looks, ...(liveJobs && { liveJobs }) });
  return plan([of], evidence);
}

const alike = [job(1), running(7, theirs)];
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
  ] as const)('%s takes no place', (_, look, seen) => {
    const planned = scene(look, seen);

    expect(verdicts(planned)).toEqual({ 1: `new-runner ${named(one, 1)}`, 7: 'running' });
    expect(planned.groups).toMatchObject([{ busy: 0, waiting: 1, held: 0 }]);
    const told = { emit: true, group: { namespace: 'runners', name: 'ci' }, job: expect.anything() };
    const foreign = planned.runners.find(({ runner }) => runner === theirs);
    expect(foreign).toStrictEqual({ ...told, runner: theirs, because: 'foreign', pinned: true, skip: true });
    expect(planned.jobs.find(({ verdict }) => verdict === 'running')).not.toHaveProperty('group');
  });

  it.each([
    ['of which nobody has read rows', { jobs: alike, ...unread }, { liveJobs: [] }],
    ['and without a row, where nobody lists Jobs', { jobs: alike }, {}],
    [
      'and with an ephemeral row: it may finish after its Job was pruned',
      { jobs: alike, runners: [row(theirs)] },
      { liveJobs: [] },
    ],
    ['whose CI job has labels that the group had before', { runners: [row(theirs, { busy: true })] }, {}],
  ] as const)('%s keeps its place', (_, look, seen) => {
    const planned = scene(look, seen);

    expect(verdicts(planned)).toEqual({ 1: 'cap', 7: 'running' });
    expect(planned.groups).toMatchObject([{ busy: 1 }]);
    expect(planned.runners).toMatchObject([{ runner: theirs, because: 'busy', pinned: true }]);
  });

  it('keeps its place while Kubernetes shows its Job', () => {
    expect(verdicts(scene({}, { liveJobs: [live(theirs, 'running')] }))[1]).toBe('cap');
  });

  it('takes no place in the past', () => {
    const ago = (seconds: number) => NOW - seconds * 1000;
    const times = { startedAtMs: ago(300), completedAtMs: ago(200) };
    const jobs = [
      running(7, theirs, { ...odd, createdAtMs: ago(600), startedAtMs: ago(500) }),
      done(1, 'elsewhere', { createdAtMs: ago(400), ...times }),
      job(2, { createdAtMs: ago(350) }),
    ];

    expect(verdicts(scene({ jobs }))[2]).toContain('chain');
  });

  it('asks for nothing in the past', () => {
    const two = group({ maxActiveRunners: 2 });
    const planned = scene({ jobs: [job(1), job(2), running(7, theirs, odd)] }, { of: two });

    expect(emittedNames(planned)).toEqual(expect.arrayContaining([named(two, 1), named(two, 2)]));
  });
});

describe('P19 several CI jobs under one name', () => {
  const two = group({ maxActiveRunners: 2 });
  const jobs = [job(1), running(7, theirs), running(8, theirs)];
  const liveJobs = [live(theirs, 'running')];
  const verdictOf = (look: Partial<Look>) => verdicts(scene({ jobs, ...look }, { of: two, liveJobs }))[1];

  it('take one place when one row has that name', () => {
    expect(verdictOf({ runners: [row(theirs)] })).toContain('new-runner');
    expect(verdictOf({})).toContain('new-runner');
  });

  it('take two when two rows have it: its Job was created again', () => {
    expect(verdictOf({ runners: [row(theirs), row(theirs, { id: 2 })] })).toBe('cap');
  });

  it('take two where nobody has read rows', () => {
    expect(verdictOf(unread)).toBe('cap');
  });

  it('take one when two looks show the same row', () => {
    const repo = group({ name: 'repo', scope: 'repo', look: 'repo', labels: ['other'] });
    const seen = { jobs, runners: [row(theirs)], rowsWereRead: true } as const;
    const evidence = evidenceOfScene({ looks: { acme: seen, repo: seen }, liveJobs });

    expect(verdicts(plan([two, repo], evidence))[1]).toContain('new-runner');
  });
});

describe('P19 an idle row of our form that is not ephemeral', () => {
  it('is no runner of ours', () => {
    const planned = scene({ jobs: [job(7)], runners: [row(theirs, { ephemeral: false })] });

    expect(verdicts(planned)).toEqual({ 7: `new-runner ${theirs}` });
  });
});
