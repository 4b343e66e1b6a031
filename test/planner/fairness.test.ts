/** P12: `fairness: per-repository` shares the slots by repository when the cap holds jobs back (src/planner/queue.ts). */
import { describe, expect, it } from 'vitest';
import type { Job, LiveJob } from '../../src/planner/evidence.ts';
import { done, group, job, live, NOW, named, ORIGIN, planScene, row, running } from '../support/scenario.ts';

const fair = group({ fairness: 'per-repository', maxActiveRunners: 3 });
const [web, api, docs] = ['acme/web', 'acme/api', 'acme/docs'].map((repository) => ({ repository }));
/** Five jobs of the repository web came first, then two of api and one of docs. */
const flood: readonly Job[] = [
  ...[1, 2, 3, 4, 5].map((id) => job(id, web)),
  ...[6, 7].map((id) => job(id, api)),
  job(8, docs),
];
const inOrder = (...ids: readonly number[]) => ids.map((id) => named(fair, id)).sort();

describe.each<[string, { readonly liveJobs?: readonly LiveJob[] }]>([
  ['where Gitea alone tells', {}],
  ['where Kubernetes shows Jobs', { liveJobs: [live(named(fair, 77), 'complete')] }],
])('P12 by turns %s', (_, seen) => {
  it('each repository gets its first slot before one gets its second', () => {
    expect(planScene({ groups: [fair], jobs: flood, ...seen }).names).toEqual(inOrder(1, 6, 8));
  });

  it('the job that has been ready longest comes first within a turn', () => {
    const five = { ...fair, maxActiveRunners: 5 };

    expect(planScene({ groups: [five], jobs: flood, ...seen }).names).toEqual(inOrder(1, 2, 6, 7, 8));
  });

  it('a claim changes no turn: the starting runners stay wanted', () => {
    const claimed = flood.map((each) => (each.id === 1 ? running(1, named(fair, 1), web) : each));

    expect(planScene({ groups: [fair], jobs: claimed, ...seen }).names).toEqual(inOrder(1, 6, 8));
  });

  it('the plan says whose job gets the next slot', () => {
    const held = (maxActiveRunners: number) =>
      planScene({ groups: [{ ...fair, maxActiveRunners }], jobs: flood, ...seen }).jobs.flatMap((decision) =>
        decision.verdict === 'held' ? [[decision.job.id, decision.next]] : [],
      );

    expect(held(3)).toEqual([2, 3, 4, 5, 7].map((id) => [id, 'acme/web']));
    expect(held(4)).toEqual([3, 4, 5, 7].map((id) => [id, 'acme/api']));
  });

  it('all runners at work count, and only those: a repository’s first waiting job has the turn after them', () => {
    const jobs = [
      ...[20, 21].map((id) => running(id, named(fair, id), web)),
      running(22, named(fair, 22), api),
      done(23, named(fair, 23), docs),
      ...[job(1, web), job(6, api), job(7, api), job(8, docs), job(9, docs)],
    ];
    const served = (slots: number) =>
      planScene({ groups: [{ ...fair, maxActiveRunners: 3 + slots }], jobs, ...seen }).served;

    expect([1, 2, 3, 4].map(served)).toEqual([[8], [6, 8], [6, 8, 9], [1, 6, 8, 9]]);
  });
});

describe('P12 the next repository is that of a job that the cap holds back, not of one that waits for something else', () => {
  const one = { ...fair, maxActiveRunners: 1 };

  it.each<[string, LiveJob[]]>([
    ['backing-off', [0, 1].map((nth) => live(named(one, 1, nth), 'failed', { finishedAtMs: NOW }))],
    [
      'served-elsewhere',
      [live(named(group({ name: 'theirs' }), 1), 'starting', { jobUrl: job(1).url, giteaUrl: ORIGIN })],
    ],
  ])('%s', (because, liveJobs) => {
    const jobs = [job(1, web), job(2, api), job(3, api), job(4, web)];
    const planned = planScene({ groups: [one], jobs, liveJobs });

    expect(planned.jobs[0]).toMatchObject({ because });
    expect(planned.jobs[3]).toMatchObject({ because: 'cap', next: 'acme/api' });
  });

  it('a limit, although that one keeps its place under the cap', () => {
    const limits = [{ key: 'limit gpus', name: 'gpus', most: 1 }];
    const other = group({ name: 'other', labels: ['arm'], limits });
    const jobs = [
      running(9, named(other, 9), { labels: ['arm'] }),
      job(1, { ...web, createdAtMs: NOW - 1_800_000 }),
      job(2, api),
    ];
    const liveJobs = [live(named(other, 9), 'running')];
    const planned = planScene({ groups: [{ ...one, limits }, other], jobs, liveJobs });

    expect(planned.jobs.find((of) => of.job.id === 1)).toMatchObject({ because: 'limit' });
    expect(planned.jobs.find((of) => of.job.id === 2)).toMatchObject({ because: 'cap', next: 'acme/api' });
  });
});

it('P12 a living runner is kept, whoever it was started for', () => {
  const groups = [{ ...fair, maxActiveRunners: 1 }];

  expect(planScene({ groups, jobs: flood, runners: [row(named(fair, 5))] }).names).toEqual([named(fair, 5)]);
});

describe('without it', () => {
  it('the jobs that have been ready longest get the slots, and nothing is said of turns', () => {
    const oldest = group({ maxActiveRunners: 3 });
    const planned = planScene({ groups: [oldest], jobs: flood });

    expect(planned.names).toEqual(inOrder(1, 2, 3));
    for (const decision of planned.jobs) expect(decision).not.toHaveProperty('next');
  });

  it('another group keeps its own order', () => {
    const other = group({ name: 'other', look: 'other', maxActiveRunners: 2 });
    const planned = planScene({
      groups: [fair, other],
      looks: {
        acme: { jobs: flood, runners: [] },
        other: { jobs: flood.map((each) => ({ ...each, id: each.id + 100 })), runners: [] },
      },
    });

    for (const decision of planned.jobs) if (decision.job.id > 100) expect(decision).not.toHaveProperty('next');
    expect(planned.names.filter((name) => name.startsWith('other-'))).toEqual(
      [named(other, 101), named(other, 102)].sort(),
    );
  });
});

it('a job of two groups has the first turn when the group without turns is asked first', () => {
  const plain = group({ name: 'plain', look: 'repo', scope: 'repo', maxActiveRunners: 1 });
  const turns = group({ fairness: 'per-repository', maxActiveRunners: 1 });
  const mine = [job(1), job(2)];
  const looks = { repo: { jobs: mine, runners: [] }, acme: { jobs: [...mine, job(3)], runners: [] } };
  const liveJobs = [plain, turns].map((of) => live(named(of, 77), 'complete'));

  expect(planScene({ groups: [plain, turns], looks, liveJobs }).served).toEqual([1, 2]);
});
