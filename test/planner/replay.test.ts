/** Which runners may be starting, if only Gitea tells (src/planner/unseen): scenes of P2, P3, P7, P9 and P12. */
import { describe, expect, it } from 'vitest';
import type { Group, Job } from '../../src/planner/evidence.ts';
import { establishFacts } from '../../src/planner/facts.ts';
import { eventsOf } from '../../src/planner/unseen/replay.ts';
import type { PastJob } from '../../src/planner/unseen/requests.ts';
import { done, evidenceOfScene, group, job, live, NOW, named, planScene, row, running } from '../support/scenario.ts';

const ci = group();
const one = group({ maxActiveRunners: 1 });
const two = group({ maxActiveRunners: 2 });
const three = group({ maxActiveRunners: 3 });
const fair = group({ maxActiveRunners: 2, fairness: 'per-repository' });
/** The narrower one is asked first. */
const web = group({ name: 'web', scope: 'repo', maxActiveRunners: 1 });
const theirs = { repository: 'acme/api' };
const all = group({ name: 'all', scope: 'global', maxActiveRunners: 1 });

/** Returns the time so many seconds ago. */
const ago = (seconds: number): number => NOW - seconds * 1000;
const ready = (id: number, seconds: number, over: Partial<Job> = {}): Job =>
  job(id, { createdAtMs: ago(seconds), ...over });
const began = (id: number, runner: string, seconds: number, at: number, over: Partial<Job> = {}): Job =>
  running(id, runner, { createdAtMs: ago(seconds), startedAtMs: ago(at), ...over });
const ended = (id: number, runner: string, seconds: number, at: number, till: number, over: Partial<Job> = {}): Job =>
  done(id, runner, { createdAtMs: ago(seconds), startedAtMs: ago(at), completedAtMs: ago(till), ...over });

const names = (groups: readonly Group[], ...jobs: readonly Job[]) => planScene({ groups, jobs }).names;
const told = (groups: readonly Group[], ...jobs: readonly Job[]) => planScene({ groups, jobs }).verdicts;

describe('a runner that was asked for is kept', () => {
  it('a runner that was asked for is kept for the next in line, when somebody else takes its job', () => {
    expect(told([one], ended(1, 'elsewhere', 60, 40, 10), ready(2, 50), ready(3, 45))).toMatchObject({
      2: `chain ${named(one, 1)}`,
      3: 'cap',
    });
  });

  const cancelled = (id: number, seconds: number, over: Partial<Job> = {}) =>
    ready(id, 60, { status: 'completed', completedAtMs: ago(seconds), ...over });
  const [lint, build, deploy] = ['lint', 'build', 'deploy'].map((name) => ({ runId: 7, name }));

  it('a runner whose job is cancelled, or turns out to call a workflow, is kept for the next in line', () => {
    for (const first of [cancelled(1, 10), ready(1, 60, { status: 'in_progress' })])
      expect(names([one], first, ready(2, 50))).toEqual([named(one, 1)]);
  });

  it.each<[string, readonly Job[]]>([
    ['became ready after the cancel: its slot was free by then', [cancelled(1, 40)]],
    ['is blocked', [ready(1, 60, { status: 'blocked' })]],
    ['has ended and shows no time', [ready(1, 60, { status: 'completed' })]],
    ['was skipped', [ended(1, 'elsewhere', 60, 50, 40, build), cancelled(2, 40, deploy)]],
    [
      'had begun, whatever of its run was run again since',
      [ended(1, 'elsewhere', 600, 120, 100, { ...lint, attempt: 2 }), ended(2, 'elsewhere', 600, 500, 480, build)],
    ],
  ])('no runner was asked for by a job that %s', (_, jobs) => {
    expect(names([one], ...jobs, ready(3, 30))).toEqual([named(one, 3)]);
  });

  it('a job that was cancelled before a job that it may need had ended never had a runner', () => {
    const namesAfter = (other: Job, ...more: readonly Job[]) =>
      names([one], ...more, other, cancelled(2, 10, deploy), ready(3, 35));
    const of = { ...build, labels: ['other'] };
    const goesOn = began(1, 'elsewhere', 60, 50, of);
    const both = [cancelled(1, 10, build), cancelled(2, 10, deploy)];

    expect(names([two], ...both, ready(3, 50), ready(4, 40))).toEqual([named(two, 1), named(two, 3)]);
    expect(namesAfter(goesOn)).toEqual([named(one, 3)]);
    expect(namesAfter(goesOn, ended(-1, 'elsewhere', 61, 55, 52, { ...of, ...lint }))).toEqual([named(one, 3)]);
    // It had ended, belongs to another attempt, or comes later in the workflow file.
    expect(namesAfter(ended(1, 'elsewhere', 60, 50, 40, of))).toEqual([named(one, 2)]);
    expect(namesAfter({ ...goesOn, attempt: 2 })).toEqual([named(one, 2)]);
    expect(namesAfter({ ...goesOn, id: 9 })).toEqual([named(one, 2)]);
  });

  it('a re-run has no runner from before: it has not been ready since its first attempt', () => {
    // The runner that was made for the first attempt has run another job since. The second attempt came after that.
    for (const attempt of [1, 2]) {
      const other = ended(2, named(one, 1, 0, attempt - 1), 500, 300, 200);
      const rerun = ready(1, 600, { attempt });
      const unused = row(named(one, 1, 1, attempt - 1), { online: false });

      for (const runners of [[], [unused]])
        expect(planScene({ groups: [one], jobs: [other, rerun, ready(3, 400)], runners }).verdicts[1]).toBe('cap');
    }
  });

  it('a runner is kept for a job that waits again and still shows when it began before: that says nothing', () => {
    const again = (id: number, seconds: number, over: Partial<Job> = {}) =>
      ready(id, seconds, { startedAtMs: ago(50), ...over });

    expect(told([one], again(1, 60), ready(2, 55))).toEqual({ 1: `new-runner ${named(one, 1)}`, 2: 'cap' });
    expect(names([one], ready(1, 40), again(2, 30))).toEqual([named(one, 1)]);
  });

  it('a runner is kept for the job that waits for it, also when that of attempt 1 takes another job', () => {
    expect(told([two], ready(1, 60, { attempt: 2 }), began(2, named(two, 1, 0, 1), 50, 20))).toMatchObject({
      1: `new-runner ${named(two, 1, 0, 2)}`,
    });
  });

  it('a runner that took another job is known when the job in its name has gone: the one that waits gets the next runner', () => {
    expect(told([two], ended(1, 'elsewhere', 60, 40, 30), began(2, named(two, 1), 55, 20), ready(3, 50))).toMatchObject(
      { 3: `chain ${named(two, 2)}` },
    );
  });

  it('a runner of another Gitea with the same number in its name does not use it up', () => {
    const other = group({ name: 'other', origin: 'https://other.example.com', look: 'other' });
    const looks = {
      acme: { jobs: [ready(1, 60), began(5, named(other, 1), 55, 20), ready(6, 50)], runners: [] },
      other: { jobs: [], runners: [row(named(other, 1))] },
    };

    expect(planScene({ groups: [two, other], looks }).verdicts).toMatchObject({
      1: `new-runner ${named(two, 1)}`,
      6: `chain ${named(two, 5)}`,
    });
  });

  it('a runner is kept in the group that had room when its job became ready, whatever has room now', () => {
    expect(names([web, all], ended(1, named(web, 1), 60, 58, 30), ready(2, 50), ready(3, 40))).toEqual([
      named(all, 2),
      named(web, 3),
    ]);
  });

  it('a requested runner is not lost to a job that has waited longer, whose own runner took a younger one', () => {
    expect(told([two], ready(1, 60), ready(2, 55), began(3, named(two, 1), 50, 20))).toMatchObject({
      1: 'cap',
      2: `new-runner ${named(two, 2)}`,
    });
  });

  it('a requested runner is not lost to a job of another group whose runner took one that had waited longer', () => {
    const big = group({ labels: ['linux', 'big'], maxActiveRunners: 2 });
    const small = group({ name: 'small', maxActiveRunners: 1 });

    expect(
      told(
        [big, small],
        ready(1, 60, { labels: ['linux', 'big'] }),
        began(2, named(big, 1), 55, 20),
        ready(3, 50, { labels: ['linux', 'big'] }),
      ),
    ).toMatchObject({ 1: 'cap', 3: `new-runner ${named(big, 3)}` });
  });

  it('a runner is kept in the place of another one when a claim shows that it was asked for elsewhere', () => {
    // Job 1 looks as if it had asked `web`; its runner is one of `all`.

    expect(names([web, all], ready(1, 60), began(9, named(all, 1), 50, 40))).toEqual([named(all, 1), named(web, 1)]);
  });
});

it('the slot of a runner that is lost without a word was free from the first moment on at which nothing was heard of it: all plans say the same', () => {
  const jobs = [began(1, named(one, 1), 1010, 860), ready(2, 1000), job(9, { labels: ['elsewhere'] })];

  // Requested 800 s ago, and again 500 s ago. The second one has 600 s.
  expect(planScene({ groups: [one], jobs, runners: [row(named(one, 1), { online: false })] }).verdicts[2]).toBe(
    `new-runner ${named(one, 2, 1)}`,
  );
});

it('the slot of a runner that is lost without a word was freed once by each job that it ran', () => {
  const name = named(one, 1);
  const jobs = [
    ...[ended(1, name, 510, 500, 400), began(2, name, 310, 300)],
    ...[ready(3, 200, { status: 'completed', completedAtMs: ago(10) }), ready(4, 100)],
    job(9, { labels: ['elsewhere'] }),
  ];

  // Job 4 waited, and has the runner of job 3 since that one was cancelled.
  expect(planScene({ groups: [one], jobs, runners: [row(name, { online: false })] }).verdicts[4]).toBe(
    `chain ${named(one, 3)}`,
  );
});

it('the slot of a runner that is lost without a word is freed at no time that is no time, when Gitea does not say when its job began', () => {
  const { startedAtMs: _, ...timeless } = began(1, named(one, 1), 100, 50);
  const facts = establishFacts([one], evidenceOfScene({ jobs: [timeless], liveJobs: [live(named(one, 1), 'failed')] }));
  const past = facts.jobs.map((listed, rank): PastJob => {
    const nothing = { line: undefined, home: undefined, runner: undefined, made: undefined };
    return { listed, readyMs: ago(100), rank, ...nothing, missed: 0, hasLeft: false };
  });

  expect(facts.findRunner(named(one, 1))?.state).toBe('lost');
  expect(eventsOf(past, facts)).toMatchObject([{ what: 'ready', atMs: ago(100) }]);
});

it('a slot is free from its begin on when Gitea does not say when the job ended', () => {
  const { completedAtMs: _, ...ran } = ended(1, named(one, 1), 500, 200, 1);

  // Asked for 200 s ago.
  expect(names([one], ran, ready(2, 400))).toEqual([named(one, 2)]);
});

it('a slot goes to the one that has been ready longest of all who wait for the group, also for others', () => {
  const needsBig = { labels: ['linux', 'big'] };
  const small = group({ name: 'small', maxActiveRunners: 1 });
  const big = group({ name: 'big', ...needsBig, maxActiveRunners: 1 });
  const taken = [began(8, named(small, 8), 60, 50), ended(9, named(big, 9), 60, 50, 10, needsBig)];

  for (const waiting of [
    [ready(2, 45), ready(3, 40, needsBig)],
    [ready(2, 45, needsBig), ready(3, 40)],
  ])
    expect(told([small, big], ...taken, ...waiting)).toMatchObject({ 2: `new-runner ${named(big, 2)}`, 3: 'cap' });
});

it('a slot goes to the job that has been ready longest, also when it was in line last: its runner took another one', () => {
  const others = [ready(1, 60), ended(3, named(one, 1), 40, 30, 10), ready(4, 45)];

  expect(names([one], ready(2, 50), ...others)).toEqual([named(one, 1, 1)]);
  // Of two jobs that became ready in the same second, the older one counts as ready for longer.
  expect(names([one], ready(2, 60), ...others)).toEqual([named(one, 1, 1)]);
  // The next slot goes to the next one.
  expect(names([two], ended(5, named(two, 5), 62, 55, 5), ready(2, 50), ...others)).toEqual([
    named(two, 1, 1),
    named(two, 2),
  ]);
});

it('a slot goes to no job that has been cancelled or taken while it was in line', () => {
  const freed = ended(1, named(one, 1), 60, 50, 10);
  const cancelled = ready(2, 45, { status: 'completed', completedAtMs: ago(30) });
  expect(names([one], freed, cancelled, ready(3, 40))).toEqual([named(one, 3)]);

  // Job 3 was in line when the runner of job 1 took it.
  const taken = [ended(2, named(two, 2), 58, 45, 20), ended(3, named(two, 1), 56, 40, 30)];
  expect(names([two], ready(1, 60), ...taken, ready(4, 35))).toEqual([named(two, 1, 1), named(two, 4)]);
});

it('a slot of a suspended group goes to nobody: the next owner of its job is asked', () => {
  expect(names([{ ...web, suspend: true }, all], ended(1, 'elsewhere', 60, 40, 10), ready(2, 50))).toEqual([
    named(all, 1),
  ]);
});

it('a slot goes and is lost by age alone, where repositories do not take turns', () => {
  const jobs = [ready(2, 45), ready(3, 40, theirs)];
  const freed = ended(9, named(two, 9), 60, 55, 10);

  expect(names([two], began(1, named(two, 1), 60, 55), freed, ...jobs)).toEqual([named(two, 1), named(two, 2)]);
  expect(names([two], began(1, named(two, 99), 60, 20), ...jobs)).toEqual([named(two, 2), named(two, 99)]);
});

it('a slot goes past a repository that has a runner at work, where they take turns', () => {
  const atWork = began(1, named(fair, 1), 1200, 1190);
  const docs = ended(9, named(fair, 9), 1200, 1190, 400, { repository: 'acme/docs' });

  // Asked for 400 s ago, and once more 100 s ago.
  expect(names([fair], atWork, docs, ready(2, 1100), ready(3, 1000, theirs))).toEqual([
    named(fair, 1),
    named(fair, 3, 1),
  ]);
});

it('a slot is lost by the youngest job, also when an older one was asked for once more after it', () => {
  expect(told([two], began(1, named(two, 99), 100, 20), ready(2, 400), ready(3, 200))).toMatchObject({
    2: `new-runner ${named(two, 2, 1)}`,
    3: 'cap',
  });
});

it('a slot is lost to no repository that would have as many, where they take turns', () => {
  const groups = [{ ...fair, maxActiveRunners: 1 }];

  expect(told(groups, ready(1, 60), ended(3, 'elsewhere', 50, 30, 20, theirs))[1]).toBe(`new-runner ${named(fair, 1)}`);
});

it('a slot goes to the repository with the fewest, where they take turns', () => {
  const taken = ended(3, 'elsewhere', 50, 30, 20, theirs);

  // Job 3 takes the slot of job 2. When a foreign runner runs it, its runner goes to job 4, whose repository has
  // none, and not to job 2.
  expect(told([fair], ready(1, 60), ready(2, 55), taken, ready(4, 40, theirs))).toEqual({
    1: `new-runner ${named(fair, 1)}`,
    2: 'cap',
    3: 'done',
    4: `chain ${named(fair, 3)}`,
  });
});

it('a runner that does not come is asked for again under the next name, from the second in which it was asked for', () => {
  const waits = [ended(1, named(one, 1), 900, 880, 60), ready(2, 890)];

  expect(names([one], ...waits)).toEqual([named(one, 2)]);
  expect(names([one], ready(2, 301))).toEqual([named(one, 2, 1)]);
  // The second one has twice the time.
  expect(names([one], ready(2, 899))).toEqual([named(one, 2, 1)]);
  expect(names([one], ready(2, 901))).toEqual([named(one, 2, 2)]);
  // The result is the same if something happened between the two.
  const between = ended(9, 'elsewhere', 580, 550, 500, { labels: ['other'] });
  expect(names([one], ready(2, 901), between)).toEqual([named(one, 2, 2)]);
});

it('a runner that does not come is asked for again, whatever was asked for after it, or happened before', () => {
  const before = ended(9, 'elsewhere', 600, 590, 200, { labels: ['other'] });

  expect(names([two], ready(1, 400), ready(2, 100))).toEqual([named(two, 1, 1), named(two, 2)]);
  expect(names([one], before, ready(2, 350))).toEqual([named(one, 2, 1)]);
});

it('a missing runner is asked for again after the spawn timeout of its own group, not that of another', () => {
  const patient = group({ name: 'patient', labels: ['big'], spawnTimeoutMs: 30_000_000 });
  const namesAfter = (waitS: number) => names([one, patient], ready(2, waitS));

  expect(namesAfter(299)).toEqual([named(one, 2)]);
  expect(namesAfter(301)).toEqual([named(one, 2, 1)]);
});

it('a runner that does not come has twice the time when another one of its group has not come either', () => {
  const other = group({ name: 'other', labels: ['big'], maxActiveRunners: 1 });
  const big = (seconds: number): Job => ready(3, seconds, { labels: ['big'] });
  const namesAfter = (waitS: number, of = two) => names([of], ready(1, waitS), ready(2, waitS));

  // One of them is requested again at once, and shows whether starts are slow.
  expect(namesAfter(299)).toEqual([named(two, 1), named(two, 2)]);
  expect(namesAfter(301)).toEqual([named(two, 1, 1), named(two, 2)]);
  expect(namesAfter(599)).toEqual([named(two, 1, 1), named(two, 2)]);
  expect(namesAfter(601)).toEqual([named(two, 1, 1), named(two, 2, 1)]);
  // Another group proves nothing.
  expect(names([two, other], ready(1, 301), big(301))).toEqual([named(two, 1, 1), named(other, 3, 1)]);
});

it('a runner that does not come has twelve spawn timeouts at most, however many of its group have not come', () => {
  const namesAfter = (seconds: number) => names([two], ready(1, 300_000), ready(2, seconds));

  expect(namesAfter(3599)[1]).toBe(named(two, 2));
  expect(namesAfter(3601)[1]).toBe(named(two, 2, 1));
});

it('a runner that does not come has no more time than that when one has come that was asked for later', () => {
  const namesWith = (...more: Job[]) => names([three], ready(1, 700), ...more, ready(3, 310));

  expect(namesWith()).toEqual([named(three, 1, 1), named(three, 3)]);
  // It came after the runner of job 1 was given up, or before.
  expect(namesWith(ended(2, named(three, 2), 390, 380, 320))).toEqual([named(three, 1, 1), named(three, 3, 1)]);
  expect(namesWith(ended(2, named(three, 2), 690, 680, 620))).toEqual([named(three, 1, 1), named(three, 3, 1)]);
  // A runner that was requested earlier proves nothing about later ones.
  expect(namesWith(ended(2, named(three, 2), 720, 695, 620))).toEqual([named(three, 1, 1), named(three, 3)]);
  // A runner that was requested at the same moment does.
  expect(namesWith(ended(2, named(three, 2), 700, 680, 620))).toEqual([named(three, 1, 1), named(three, 3, 1)]);
});

it('a runner that does not come has more time also when one comes late that was asked for before it', () => {
  const second = ended(2, named(three, 2, 1), 1210, 570, 500);
  const newest = ended(4, named(three, 4), 900, 880, 820);

  // The runner of job 1 was given up 575 s ago. The second one of job 2 came after that, in 340 s, which alone gives
  // 510 s.
  expect(names([three], second, newest, ready(1, 875), ready(3, 560))).toEqual([named(three, 1, 1), named(three, 3)]);
});

it('a runner that does not come has more time also when the first runner in that name has come and has taken another job', () => {
  const unlabelled = ended(2, named(ci, 1), 690, 660, 640, { labels: [] });

  expect(planScene({ jobs: [ready(1, 700), unlabelled] }).names).toEqual([named(ci, 1, 2)]);
});

it('a runner that does not come has longer than the slowest one of its group took, when that was longer than a spawn timeout', () => {
  const slow = (ms: number) => ended(1, named(two, 1, 1), 2000, 2000 - ms, 1000);
  const namesAfter = (slowest: number, waitS: number) => names([two], slow(slowest), ready(2, waitS));

  // The runner of job 1 came 700 s after the job: 400 s after it was asked for the second time. The next one has 600 s.
  expect(namesAfter(700, 599)).toEqual([named(two, 2)]);
  expect(namesAfter(700, 601)).toEqual([named(two, 2, 1)]);
  // An ordinary start teaches nothing.
  expect(namesAfter(30, 299)).toEqual([named(two, 2)]);
  expect(namesAfter(30, 301)).toEqual([named(two, 2, 1)]);
});

it('a runner that does not come has as long as the starts of its group take, as soon as the first one shows it', () => {
  // Both were requested at the same time. The runner of job 1 came after so long.
  const namesAfter = (tookS: number, waitS: number) =>
    names([two], ended(1, named(two, 1), waitS, waitS - tookS, 1), ready(2, waitS));

  expect(namesAfter(290, 434)).toEqual([named(two, 2)]);
  expect(namesAfter(290, 436)).toEqual([named(two, 2, 1)]);
  expect(namesAfter(20, 299)).toEqual([named(two, 2)]);
  expect(namesAfter(20, 301)).toEqual([named(two, 2, 1)]);
});

it('a runner that does not come has as long as the slow start took, also when a later start of its group was quick', () => {
  const slow = ended(1, named(two, 1), 2000, 1710, 1000);
  const quick = ended(3, named(two, 3), 900, 890, 800);
  const namesAfter = (waitS: number) => names([two], slow, quick, ready(2, waitS));

  // 290 s, and half as long again.
  expect(namesAfter(434)).toEqual([named(two, 2)]);
  expect(namesAfter(436)).toEqual([named(two, 2, 1)]);
});

it('a runner that does not come is asleep when it is registered and idle all the same, and leaves its job to the next one', () => {
  const verdictAfter = (waitS: number) =>
    planScene({ groups: [one], jobs: [ready(2, waitS)], runners: [row(named(one, 2))] }).verdicts[2];

  expect(verdictAfter(899)).toBe(`own-runner ${named(one, 2)}`);
  expect(verdictAfter(901)).toBe(`new-runner ${named(one, 2, 3)}`);
});

it('a runner whose repository lost the slot to another one does not tell whether starts are slow', () => {
  const jobs = [ready(1, 1000), ready(2, 1000), ready(3, 990, theirs)];

  // Two have not come. After three, the second one of job 3 would not be due yet.
  expect(names([fair], ...jobs)).toEqual([named(fair, 1, 1), named(fair, 3, 1)]);
  // Each repository has one now: none of them loses it to a third.
  const third = ready(4, 970, { repository: 'acme/docs' });
  expect(names([fair], ...jobs, third)).toEqual([named(fair, 1, 1), named(fair, 3, 1)]);
});

it('a runner that was missed before one came does not tell whether starts are slow', () => {
  const jobs = [
    // Asked for 2000 s ago and 1700 s ago. The second one took 350 s.
    ended(1, named(ci, 1, 1), 2000, 1350, 1300),
    ended(2, named(ci, 2), 1700, 1690, 1600),
    // Its first runner was missed 1380 s ago.
    ended(3, 'elsewhere', 1680, 1360, 1350),
    ready(4, 550),
  ];

  // It had one and a half times the 350 s.
  expect(planScene({ jobs }).names).toEqual([named(ci, 4, 1)]);
});

it('a claim by a runner of another group than was thought frees a slot, which goes to the first in line', () => {
  // Job 9 asked for a runner of the second group, because the first one was full. A runner of the first group took it.
  const jobs = [ready(1, 100), began(9, named(web, 9), 96, 94), ready(5, 95)];
  const look = { jobs, runners: [] };
  const wide = { ...all, look: 'all' };

  expect(planScene({ groups: [{ ...web, look: 'repo' }, wide], looks: { repo: look, all: look } }).verdicts).toEqual({
    1: 'cap',
    5: `new-runner ${named(wide, 5)}`,
    9: 'running',
  });
});

describe('a job that several groups cover', () => {
  const [narrow, wide] = [group({ name: 'narrow', scope: 'repo', maxActiveRunners: 1 }), group()];

  it('a job that several groups cover keeps the runner of the group that it is booked in, when two have one for it', () => {
    const runners = [row(named(narrow, 1)), row(named(wide, 1), { id: 2 })];

    expect(
      planScene({ groups: [narrow, wide], jobs: [ready(1, 60)], runners }).runners.map(({ emit, runner, because }) => [
        emit,
        runner,
        because,
      ]),
    ).toEqual([
      [false, named(wide, 1), 'surplus'],
      [true, named(narrow, 1), 'own-runner'],
    ]);
  });

  it('a job that several groups cover gets the idle runner of a job that somebody else took', () => {
    const jobs = [ended(1, 'elsewhere', 60, 40, 30), ready(2, 55)];
    const runners = [row(named(wide, 1))];

    expect(planScene({ groups: [narrow, wide], jobs, runners }).verdicts[2]).toBe(`free-runner ${named(wide, 1)}`);
  });

  it('a job that several groups cover gets no runner of a group that has been suspended since, in the name of the one that was asked', () => {
    const jobs = [ended(1, 'elsewhere', 60, 40, 30), ready(2, 55)];
    const groups = [narrow, { ...wide, suspend: true }];

    expect(planScene({ groups, jobs, runners: [row(named(wide, 1))] }).names).toEqual([named(narrow, 1)]);
  });

  it('a job that several groups cover gets a runner in its own name when it goes to another group than the one that was asked', () => {
    const last = group({ maxActiveRunners: 1 });
    const jobs = [...[ended(9, named(last, 9), 70, 60, 10), ended(1, 'elsewhere', 58, 40, 30)], ...[ready(2, 55)]];
    const groups = [narrow, last];
    const finishing = row(named(narrow, 77), { busy: true });

    expect(told(groups, ...jobs)[2]).toBe(`chain ${named(narrow, 1)}`);
    expect(planScene({ groups, jobs, runners: [finishing] }).verdicts[2]).toBe(`new-runner ${named(last, 2)}`);

    // Its spawn timeout is over: a runner should have come.
    const late = [...jobs.slice(0, 2), ready(2, 57)];
    const soon = groups.map((each) => ({ ...each, spawnTimeoutMs: 30_000 }));
    expect(planScene({ groups: soon, jobs: late, runners: [finishing] }).verdicts[2]).toBe(
      `new-runner ${named(last, 2, 1)}`,
    );
  });

  it('a job that several groups cover is booked where its living runner is, and leaves the room of its first owner to others', () => {
    const [first, second] = [group({ name: 'web', look: 'repo', scope: 'repo', maxActiveRunners: 1 }), group()];
    const jobs = [ready(1, 60), ready(2, 50)];
    const look = { jobs, runners: [row(named(second, 1))] };

    expect(planScene({ groups: [first, second], looks: { repo: look, acme: look } }).verdicts).toEqual({
      1: `own-runner ${named(second, 1)}`,
      2: `new-runner ${named(first, 2)}`,
    });
  });

  it('a job that several groups cover is not asked for there while that group had no room', () => {
    const [first, second] = [
      group({ name: 'web', scope: 'repo', maxActiveRunners: 2 }),
      { ...wide, maxActiveRunners: 1 },
    ];
    // Both runners of the first group were requested when job 3 came. It has one of that group now, and job 4 has
    // waited in line.
    const gone = [ended(1, 'elsewhere', 100, 50, 45), ended(2, 'elsewhere', 100, 40, 35)];
    const jobs = [...gone, ready(3, 90), ready(4, 80)];

    expect(planScene({ groups: [first, second], jobs, runners: [row(named(first, 3))] }).verdicts).toMatchObject({
      3: `own-runner ${named(first, 3)}`,
      4: `chain ${named(first, 1)}`,
    });
  });
});

it.each([
  ['and shows a Job', [live(named(one, 77), 'complete')]],
  ['and shows none', []],
])('nothing is replayed where Kubernetes is seen %s', (_, liveJobs) => {
  const jobs = [ended(1, 'elsewhere', 60, 40, 10), ready(2, 50)];

  expect(planScene({ groups: [one], jobs, liveJobs }).names).toEqual([named(one, 2)]);
  expect(planScene({ groups: [one], jobs: [ready(2, 3_000)], liveJobs }).names).toEqual([named(one, 2)]);
});
