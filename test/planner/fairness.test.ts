/** P12: `fairness: per-repository` shares the slots by repository when the cap holds jobs back (src/planner/queue.ts). */
import { describe, expect, it } from 'vitest';
import type { Job, LiveJob } from '../../src/planner/evidence.ts';
import {
  done,
  emittedNames,
  group,
  job,
  live,
  NOW,
  named,
  ORIGIN,
  planScene as planAnyScene,
  row,
  running,
  type Scene,
  servedIds,
} from '../support/scenario.ts';

const fair = group({ fairness: 'per-repository', maxActiveRunners: 3 });
/** Five jobs of the repository web came first, then two of api and one of docs. */
const flood: readonly Job[] = [
  ...[1, 2, 3, 4, 5].map((id) => job(id, { repository: 'acme/web' })),
  ...[6, 7].map((id) => job(id, { repository: 'acme/api' })),
  job(8, { repository: 'acme/docs' }),
];
const inOrder = (...ids: readonly number[]) => ids.map((id) => named(fair, id)).sort();

describe.each<[string, readonly LiveJob[]]>([
  ['where Gitea alone tells', []],
  ['where Kubernetes shows Jobs', [live(named(fair, 77), 'complete')]],
])('P12 by turns %s', (_, liveJobs) => {
  const planScene = (scene: Scene) => planAnyScene({ liveJobs, ...scene });

  it('each repository gets its first slot before one gets its second', () => {
    expect(emittedNames(planScene({ groups: [fair], jobs: flood }))).toEqual(inOrder(1, 6, 8));
  });

  it('within a turn the job that has been ready longest comes first', () => {
    const five = { ...fair, maxActiveRunners: 5 };

    expect(emittedNames(planScene({ groups: [five], jobs: flood }))).toEqual(inOrder(1, 2, 6, 7, 8));
  });

  it('runners at work count for their repository', () => {
    const busy = [running(20, named(fair, 20), { repository: 'acme/web' })];

    expect(emittedNames(planScene({ groups: [fair], jobs: [...flood, ...busy] }))).toEqual(
      [named(fair, 20), ...inOrder(6, 8)].sort(),
    );
  });

  it('a claim changes no turn: the starting runners stay wanted', () => {
    const before = emittedNames(planScene({ groups: [fair], jobs: flood }));
    const claimed = flood.map((each) => (each.id === 1 ? running(1, named(fair, 1)) : each));

    expect(emittedNames(planScene({ groups: [fair], jobs: claimed }))).toEqual(before);
  });

  it('says whose job gets the next slot', () => {
    const held = (maxActiveRunners: number) =>
      planScene({ groups: [{ ...fair, maxActiveRunners }], jobs: flood }).jobs.flatMap((decision) =>
        decision.verdict === 'held' ? [[decision.job.id, decision.next]] : [],
      );

    expect(held(3)).toEqual([2, 3, 4, 5, 7].map((id) => [id, 'acme/web']));
    expect(held(4)).toEqual([3, 4, 5, 7].map((id) => [id, 'acme/api']));
  });

  it('nobody is starved: with jobs of web coming for ever, the one of docs is served when a slot is freed', () => {
    const two = { ...fair, maxActiveRunners: 2 };
    const docs = job(8, { repository: 'acme/docs' });
    const busyWeb = running(20, named(two, 20), { repository: 'acme/web' });
    const web = [1, 2, 3].map((id) => job(id, { repository: 'acme/web' }));

    expect(emittedNames(planScene({ groups: [two], jobs: [busyWeb, ...web, docs] }))).toEqual(
      [named(two, 20), named(two, 8)].sort(),
    );
  });

  it('all runners at work count, and only those: a repository’s first waiting job has the turn after them', () => {
    const atWork = [20, 21].map((id) => running(id, named(fair, id), { repository: 'acme/web' }));
    const jobs = [
      ...[...atWork, running(22, named(fair, 22), { repository: 'acme/api' })],
      done(23, named(fair, 23), { repository: 'acme/docs' }),
      ...[job(1, { repository: 'acme/web' }), ...[6, 7].map((id) => job(id, { repository: 'acme/api' }))],
      ...[8, 9].map((id) => job(id, { repository: 'acme/docs' })),
    ];
    const served = (slots: number) =>
      servedIds(planScene({ groups: [{ ...fair, maxActiveRunners: 3 + slots }], jobs }));

    expect([1, 2, 3, 4].map(served)).toEqual([[8], [6, 8], [6, 8, 9], [1, 6, 8, 9]]);
  });

  it('names the next repository among the jobs that the cap holds back, not among those that wait for something else', () => {
    const one = { ...fair, maxActiveRunners: 1 };
    const failed = [0, 1].map((nth) => live(named(one, 1, nth), 'failed', { finishedAtMs: NOW }));
    const jobs = [
      job(1, { repository: 'acme/web' }),
      ...[2, 3].map((id) => job(id, { repository: 'acme/api' })),
      job(4, { repository: 'acme/web' }),
    ];
    const planned = planScene({ groups: [one], jobs, liveJobs: failed });

    expect(planned.jobs[0]).toMatchObject({ because: 'backing-off' });
    expect(planned.jobs[3]).toMatchObject({ because: 'cap', next: 'acme/api' });

    const theirs = live(named(group({ name: 'theirs' }), 1), 'starting', { jobUrl: job(1).url, giteaUrl: ORIGIN });
    const elsewhere = planScene({ groups: [one], jobs, liveJobs: [theirs] });
    expect(elsewhere.jobs[0]).toMatchObject({ because: 'served-elsewhere' });
    expect(elsewhere.jobs[3]).toMatchObject({ because: 'cap', next: 'acme/api' });
  });
});

it('nor among those that wait for a limit, and keep the place under the cap', () => {
  const limits = [{ key: 'limit gpus', name: 'gpus', most: 1 }];
  const one = { ...fair, maxActiveRunners: 1, limits };
  const other = group({ name: 'other', labels: ['arm'], limits });
  const jobs = [
    running(9, named(other, 9), { labels: ['arm'] }),
    job(1, { repository: 'acme/web', createdAtMs: NOW - 1_800_000 }),
    job(2, { repository: 'acme/api' }),
  ];
  const planned = planAnyScene({ groups: [one, other], jobs, liveJobs: [live(named(other, 9), 'running')] });

  expect(planned.jobs.find((of) => of.job.id === 1)).toMatchObject({ because: 'limit' });
  expect(planned.jobs.find((of) => of.job.id === 2)).toMatchObject({ because: 'cap', next: 'acme/api' });
});

describe('P12', () => {
  const planScene = planAnyScene;

  it('a living runner is kept, whoever it was started for', () => {
    const planned = planScene({
      groups: [{ ...fair, maxActiveRunners: 1 }],
      jobs: flood,
      runners: [row(named(fair, 5))],
    });

    expect(emittedNames(planned)).toEqual([named(fair, 5)]);
  });
});

describe('without it', () => {
  const planScene = planAnyScene;

  it('the jobs that have been ready longest get the slots, and nothing is said of turns', () => {
    const oldest = group({ maxActiveRunners: 3 });
    const planned = planScene({ groups: [oldest], jobs: flood });

    expect(emittedNames(planned)).toEqual(inOrder(1, 2, 3));
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
    expect(emittedNames(planned).filter((name) => name.startsWith('other-'))).toEqual(
      [named(other, 101), named(other, 102)].sort(),
    );
  });
});

describe('where a job may go to a group with turns and to one without', () => {
  it('it has the first turn when the one without is asked first', () => {
    const plain = group({ name: 'plain', look: 'repo', scope: 'repo', maxActiveRunners: 1 });
    const turns = group({ fairness: 'per-repository', maxActiveRunners: 1 });
    const mine = [job(1), job(2)];
    const looks = { repo: { jobs: mine, runners: [] }, acme: { jobs: [...mine, job(3)], runners: [] } };
    const liveJobs = [plain, turns].map((of) => live(named(of, 77), 'complete'));

    expect(servedIds(planAnyScene({ groups: [plain, turns], looks, liveJobs }))).toEqual([1, 2]);
  });
});
