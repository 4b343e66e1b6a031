/** Tests which figures a person sees, and which are left out. */
import { expect, it } from 'vitest';
import type { ExplainedGroup, ExplainedJob, Explanation } from '../../src/answers/model.ts';
import { CHART_HOURS, type Figures, groupFor, jobFor, jobsFor, type Reader } from '../../src/page/view.ts';
import type { RunnerDecision } from '../../src/planner/decisions.ts';
import type { Job } from '../../src/planner/evidence.ts';
import { runnerName } from '../../src/planner/names.ts';
import { job, live } from '../support/scenario.ts';

const NOW = Date.UTC(2026, 10, 25, 12, 30);
const GROUP = { namespace: 'runners', name: 'ci' };
const HIDDEN = { repository: 'acme/secret' };
const OTHER = { namespace: 'runners', name: 'theirs' };

function held(of: Job, more: object): ExplainedJob {
  return { job: of, origin: 'https://gitea.example.com', verdict: 'held', state: 'held', ...more } as ExplainedJob;
}

function group(key: typeof GROUP, scope: string): ExplainedGroup {
  const counts = { cap: 1, busy: 1, waiting: 0, debugging: 0, spare: 0, warm: 0, minIdle: 0, held: 1, cannotStart: 0 };
  const written = { file: 'f', gitea: 'https://gitea.example.com', scope, labels: ['linux'], suspended: false };
  return { ...key, ...written, ...counts };
}

function figures(over: Partial<Explanation>, begun: readonly Job[] = []): Figures {
  return {
    explanation: {
      checkedAt: new Date(NOW).toISOString(),
      groups: [group(GROUP, 'org acme'), group(OTHER, 'org secret-org')],
      jobs: [],
      runners: [],
      ...over,
    },
    details: () => (of) => of,
    repositories: new Set(),
    scopes: new Map([
      ['runners/ci', { kind: 'org', org: 'acme' }],
      ['runners/theirs', { kind: 'org', org: 'secret-org' }],
    ]),
    begun,
    runOf: () => undefined,
    pods: new Map(),
    instance: '',
  };
}

/** Reads acme/web, and owns acme if it is said. */
function reader(owns = false): Reader {
  return {
    login: 'dora',
    isAdmin: false,
    mayRead: (repository) => repository === 'acme/web',
    owns: (group) => owns && group === 'runners/ci',
    unknown: 0,
    rights: '',
  };
}

it('the page shows no Job of another Application under a limit, but to an owner of the group', () => {
  const others = [{ name: 'gpu-1', application: 'team-b' }];
  const shown = figures({
    jobs: [held(job(1), { because: 'limit', group: GROUP, limit: { name: 'gpus', most: 3, others }, position: 1 })],
  });

  expect(JSON.stringify(jobFor(shown, reader(), 1))).not.toMatch(/gpu-1|team-b/);
  expect(JSON.stringify(jobFor(shown, reader(true), 1))).toContain('gpu-1 (Application team-b)');
});

it('the page shows no pod of another owner that has the slot of a shared limit, but to an owner of both', () => {
  const runner = { emit: true, runner: 'theirs-9-1-abcdabcd', group: OTHER, because: 'busy', limits: ['gpus'] };
  const offline = { why: 'NodeNotReady: node-7' };
  const holders = [{ id: 9, repository: 'acme/web', runner: runner.runner, group: OTHER, offline }];
  const shown = figures({
    jobs: [held(job(1), { because: 'limit', group: GROUP, limit: { name: 'gpus', most: 1 }, holders })],
    runners: [{ ...runner, job: job(9) } as RunnerDecision],
  });
  const both = { ...reader(), owns: () => true };

  const told = JSON.stringify(jobFor(shown, reader(true), 1)?.answer);
  expect(told).toContain('job 9 has a runner that is offline');
  expect(told).not.toMatch(/node-7|"Slot"/);
  expect(JSON.stringify(jobFor(shown, both, 1)?.answer)).toMatch(/node-7.*"Slot/);
});

it("the page shows no advice for owners about the job that a person's own waits for", () => {
  const build = held(job(1, { labels: ['gpu'] }), {
    because: 'labels-not-covered',
    state: 'unserved',
    missing: ['gpu'],
    nearest: GROUP,
  });
  const runHas = [{ id: 1, name: 'build', status: 'queued' }];
  const waits = held(job(2, { status: 'blocked' }), {
    because: 'blocked',
    state: 'blocked',
    runHas,
    repositoryHas: [],
  });
  const shown = figures({ jobs: [build, waits] });

  const steps = (who: Reader) => JSON.stringify(jobFor(shown, who, 2)?.answer.filter(([name]) => name === 'Next'));
  expect(steps(reader())).toContain('or ask who owns groups here for runners with gpu');
  expect(steps(reader(true))).toContain('write a RunnerGroup for it');
});

it('his own jobs do not name what a person may not read: whose turn is next, who holds a slot, where the labels are', () => {
  const named = { ...GROUP, origin: 'o', templateHash: 'h' };
  const [runner, kept] = [9, 8].map((id) => runnerName('', named, { id, attempt: 1 }, 0)) as [string, string];
  const shown = figures({
    jobs: [
      held(job(1), { because: 'cap', group: GROUP, cap: 1, position: 1, next: 'acme/secret' }),
      held(job(2, { labels: ['gpu'] }), {
        because: 'labels-not-covered',
        elsewhere: { is: 'other-scope', group: OTHER, scope: 'org secret-org' },
      }),
      held(job(3, HIDDEN), { because: 'cap', group: GROUP, cap: 1, position: 2 }),
      held(job(4), { because: 'limit', group: GROUP, limit: { of: 'acme/secret', most: 3 }, position: 1 }),
      held(job(5), { because: 'limit', group: GROUP, limit: { of: 'secret-org', most: 4 }, position: 2 }),
    ],
    runners: [
      { emit: true, runner, group: GROUP, because: 'busy', pinned: true, job: job(9, { ...HIDDEN, name: 'hush' }) },
      {
        emit: true,
        runner: kept,
        group: GROUP,
        because: 'debugging',
        pinned: true,
        job: job(8, { ...HIDDEN, name: 'hush' }),
      },
    ],
  });

  const all = JSON.stringify([
    jobsFor(shown, reader(true)),
    jobFor(shown, reader(true), 1),
    ...[2, 4, 5].map((id) => jobFor(shown, reader(true), id)),
    groupFor(shown, reader(true), 'runners/ci'),
  ]);

  expect(jobFor(shown, reader(), 3)).toBeUndefined();
  expect(all).toContain('labels not covered: gpu');
  expect(all).toContain(runner);
  expect(all).toContain(kept);
  expect(all).toMatch(/limit[^"]*\(3\)/);
  expect(all).toMatch(/limit[^"]*\(4\)/);
  expect(all).not.toMatch(/secret|hush/);
});

it('the page shows no address in the trouble of a group of others, but to its owners', () => {
  const why = 'RunnerGroup runners/ci is not ready: list jobs of http://gitea.internal/acme/secret';
  const notCreated = { why, next: why, isUnserved: true };
  const served = { job: job(1), origin: 'o', verdict: 'served', by: 'new-runner', group: GROUP };
  const shown = figures({ jobs: [{ ...served, runner: 'r', state: 'unserved', notCreated } as ExplainedJob] });

  const [ofReader, ofOwner] = [false, true].map((owns) => JSON.stringify(jobFor(shown, reader(owns), 1)));

  expect(ofReader).toContain('owners of the group see why');
  expect(ofReader).not.toMatch(/internal|secret/);
  expect(ofOwner).toContain('gitea.internal');
});

it('the page does not show what Argo CD says of the Application of others, while a runner is on its way', () => {
  const notCreated = { why: 'Argo CD says: waiting for batch/Job/canary', next: 'canary', isUnserved: false };
  const served = { job: job(1), origin: 'o', verdict: 'served', by: 'new-runner', group: GROUP, runner: 'r' };
  const shown = figures({ jobs: [{ ...served, state: 'starting', notCreated } as ExplainedJob] });

  const [ofReader, ofOwner] = [false, true].map((owns) => JSON.stringify(jobFor(shown, reader(owns), 1)));

  expect(ofReader).toContain('Argo CD has not created its Kubernetes Job yet');
  expect(ofReader).not.toContain('canary');
  expect(ofOwner).toContain('canary');
});

it('the page shows no ended job of a repository that the person may not read', () => {
  const ended = { status: 'completed', completedAtMs: NOW } as const;
  const shown = figures({}, [job(1, ended), job(2, { ...HIDDEN, ...ended })]);

  expect(jobsFor(shown, reader()).ended.map(({ id }) => id)).toEqual([1]);
  expect(jobFor(shown, reader(), 1)?.title).toContain('has ended');
  expect(jobFor(shown, reader(), 2)).toBeUndefined();
});

it('the page tells a person what he may read', () => {
  const next = held(job(1), { because: 'cap', group: GROUP, cap: 1, position: 1, next: 'acme/web' });

  expect(jobsFor(figures({ jobs: [next] }), reader()).jobs[0]?.what).toContain('the next slot is for acme/web');
});

it('the page shows no group of somebody else', () => {
  expect(groupFor(figures({}), reader(true), 'runners/theirs')).toBeUndefined();
  expect(groupFor(figures({}), reader(false), 'runners/ci')).toBeUndefined();
});

it.each([
  ['https://gitea.example.com/x', 'https://gitea.example.com/x'],
  ...['javascript:alert(1)', 'data:text/html,x', '', '//evil.example', `https://a/${'x'.repeat(3_000)}`].map((bad) => [
    bad,
  ]),
])('a link is none when it is no address of http: %s', (url, link) => {
  const pods = new Map([['runners/r', { pod: 'r-abcde', node: 'node-7' }]]);
  const runner: RunnerDecision = { emit: true, runner: 'r', group: GROUP, because: 'spare', pinned: false };
  const shown = {
    ...figures({
      jobs: [held(job(1, { url }), { because: 'blocked' })],
      runners: [runner],
      liveJobs: [live('r', 'running')],
    }),
    pods,
  };

  expect(jobsFor(shown, reader()).jobs[0]?.link).toBe(link);
  expect(groupFor(shown, reader(true), 'runners/ci', url)?.runners[0]?.logLink).toBe(link);
});

it('waiting times are those of jobs that began on runners of the group, by the hour of their begin', () => {
  const named = { ...GROUP, origin: 'o', templateHash: 'h' };
  const began = (id: number, waitedS: number, agoMs: number, of = named): Job => ({
    ...job(id, HIDDEN),
    status: 'completed',
    runner: runnerName('', of, { id, attempt: 1 }, 0),
    startedAtMs: NOW - agoMs,
    createdAtMs: NOW - agoMs - waitedS * 1000,
    completedAtMs: NOW,
  });
  const begun = [
    ...[10, 20, 90].map((waitedS, index) => began(index + 1, waitedS, 60_000)),
    began(4, 5, 3_600_000),
    began(5, 7, 3_600_000, { ...named, name: 'theirs' }),
    began(6, 8, 13 * 3_600_000),
  ];

  const waits = groupFor(figures({}, begun), reader(true), 'runners/ci')?.waits ?? [];

  expect(waits).toHaveLength(CHART_HOURS);
  expect(waits.at(-1)).toEqual({ from: '2026-11-25T12:00:00.000Z', jobs: 3, median: 20, longest: 90 });
  expect(waits.at(-2)).toEqual({ from: '2026-11-25T11:00:00.000Z', jobs: 1, median: 5, longest: 5 });
  expect(waits.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(4);
});
