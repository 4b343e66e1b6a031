/** The sentences of decisions that no golden case and no other test of `explain` shows. Each kind of decision is in one (`test/golden/coverage.ts`). */
import { describe, expect, it } from 'vitest';
import { adviceFor, verdictText } from '../../src/answers/causes.ts';
import type { ExplainedJob } from '../../src/answers/model.ts';
import { runnerText } from '../../src/answers/reasons.ts';
import type { EmittedBecause, GroupKey, RunnerDecision, ServedBy } from '../../src/planner/decisions.ts';
import { job, NOW } from '../support/scenario.ts';

const GROUP: GroupKey = { namespace: 'runners', name: 'ci' };
const OF = { job: job(7), origin: 'https://gitea.example.com' };
const RUNNER = 'ci-7-1-9c31e0aa';
const TROUBLE = { reason: 'ImagePullBackOff', message: 'not found', isLate: true };

/** A decision as it is explained; its state does not matter for its text. */
function explained(decision: object): ExplainedJob {
  return { ...OF, state: 'held', ...decision } as ExplainedJob;
}

function emitted(because: EmittedBecause, more: object = {}): RunnerDecision & { readonly emit: true } {
  return { emit: true, runner: RUNNER, group: GROUP, because, pinned: false, ...more };
}

const held = (because: string, more: object = {}): object => ({ verdict: 'held', because, ...more });
const served = (by: ServedBy): object => ({ verdict: 'served', by, group: GROUP, runner: RUNNER });
const build = { id: 8, name: 'build', status: 'in_progress' } as const;

/** A decision about a job, and its sentence. */
const JOBS: readonly (readonly [object, string])[] = [
  [{ verdict: 'running', job: job(7) }, 'runs on <unknown> (not a runner of these groups)'],
  [served('new-runner'), `asked for, not registered yet; runner ${RUNNER} of group runners/ci`],
  [
    { ...served('new-runner'), notCreated: { why: 'serve does not run', next: '', isUnserved: false } },
    `serve does not run; runner ${RUNNER} of group runners/ci`,
  ],
  [
    held('limit', { group: GROUP, limit: { most: 2, of: 'acme/web' }, job: job(7) }),
    'held back by the limit for acme/web (2) of group runners/ci',
  ],
  [
    held('limit', { group: GROUP, limit: { name: 'gpus', most: 20 }, job: job(7) }),
    'held back by limit gpus (20) of group runners/ci',
  ],
  [
    held('limit', {
      group: GROUP,
      limit: { most: 1, of: 'acme/web', branches: ['main'] },
      job: job(7, { branch: 'a' }),
    }),
    'held back by the limit for branches main of acme/web (1) of group runners/ci; Gitea could give its runner to a job of branches main of acme/web',
  ],
  [held('blocked'), 'blocked: waits for jobs it needs, for its concurrency group or for approval'],
  [
    held('blocked', { runHas: [build, build, build, build, build], repositoryHas: [build] }),
    'blocked: probably needs build (in progress), build (in progress), build (in progress) and 2 more of its run',
  ],
  [
    held('blocked', { runHas: [], repositoryHas: [], event: 'push' }),
    'blocked: no other job of its run or repository is ready or runs, so Gitea should start it soon',
  ],
  [
    held('blocked', { runHas: [], repositoryHas: [build] }),
    'blocked: it waits for its concurrency group, probably held by the run of build (in progress), or for an approval',
  ],
  [
    held('blocked', { runHas: [], repositoryHas: [build], event: 'pull_request_target' }),
    'blocked: it waits for its concurrency group, probably held by the run of build (in progress)',
  ],
  [
    held('blocked', { runHas: [], repositoryHas: [build], event: 'pull_request' }),
    'blocked: it waits for an approval, because its run is of a pull request, or for its concurrency group, probably held by the run of build (in progress)',
  ],
  [
    held('labels-not-covered', {
      elsewhere: { is: 'other-scope', group: GROUP, scope: 'org acme', gitea: 'https://old.example.com' },
    }),
    'labels not covered: linux (runners/ci has them, but it is for https://old.example.com)',
  ],
  [held('cap', { group: GROUP, position: 12 }), 'held back by the cap of group runners/ci; 12th in line'],
  [
    held('cap', {
      group: GROUP,
      next: 'acme/api',
      position: 3,
      estimate: { ms: 250_000, fromMs: 60_000, toMs: 390_000, samples: 20 },
    }),
    'held back by the cap of group runners/ci; the next slot is for acme/api; 3rd in line; about 4m10s (1m00s to 6m30s)',
  ],
  [
    held('backing-off', { group: GROUP, untilMs: NOW + 7000 }),
    'held back: the Job of its last runner ended without a CI job; group runners/ci tries again in 7s',
  ],
];

/** About a runner. */
const RUNNERS: readonly (readonly [RunnerDecision, string])[] = [
  [emitted('busy', { job: job(7) }), 'stays: it runs job 7 "job 7" of acme/web'],
  [emitted('own-runner', { job: job(7) }), 'stays: it is wanted for job 7 "job 7" of acme/web'],
  [
    emitted('back-off-record', { trouble: TROUBLE }),
    'stays as a record: its Job ended without a CI job, it holds no slot; ImagePullBackOff: not found',
  ],
  [{ emit: false, runner: RUNNER, group: GROUP, because: 'used-up' }, 'goes: it has done its job'],
  [emitted('group-in-trouble'), 'stays as it is: its RunnerGroup cannot be planned now'],
];

describe('a job', () => {
  it.each(JOBS)('%j reads', (decision, text) => {
    expect(verdictText(explained(decision), NOW, new Map())).toBe(text);
  });

  it('the text of a job says that its runner cannot start, or is lost', () => {
    const stuck = new Map([[RUNNER, emitted('new-runner', { trouble: TROUBLE })]]);
    const running = explained({ verdict: 'running', group: GROUP, job: job(7, { runner: RUNNER }) });
    const lost = { ...running, loss: 'lost' as const };

    expect(verdictText(explained(served('new-runner')), NOW, stuck)).toBe(
      `its pod cannot start: ImagePullBackOff: not found; runner ${RUNNER} of group runners/ci`,
    );
    expect(verdictText(lost, NOW, new Map())).toBe(
      `its runner ${RUNNER} is lost: Gitea fails it after 10 to 15 minutes`,
    );
    expect(verdictText({ ...running, loss: 'outlived' as const }, NOW, new Map())).toBe(
      `no runner of its group lives as long as Gitea shows it in progress: ${RUNNER} is gone, and holds no slot`,
    );
    const killed = { ...lost, ended: { runner: RUNNER, reason: 'OOMKilled', message: 'too little memory' } };
    expect(verdictText(killed, NOW, new Map())).toBe(
      `its runner ${RUNNER} is lost (OOMKilled: too little memory): Gitea fails it after 10 to 15 minutes`,
    );
  });
});

it.each(RUNNERS)('a runner: %j reads', (decision, text) => {
  expect(runnerText(decision, [], 0)).toBe(text);
});

const others = [{ name: 'gpu-1-1-9c31e0aa', application: 'team-b' }, { name: 'x' }];
const limited = explained(held('limit', { group: GROUP, limit: { name: 'gpus', most: 20, others } }));

it('a limit that other Applications share is told with their Jobs in the advice, which the person on call reads', () => {
  expect(adviceFor(limited, [])).toEqual([
    'wait for a runner under limit gpus (20), or raise its max in spec.limits. Jobs of other Applications have slots there: gpu-1-1-9c31e0aa (Application team-b), x (Application <unknown>)',
  ]);
});

it('a limit that other Applications share is told without them in the cause, which also stands beside a commit', () => {
  expect(verdictText(limited, NOW, new Map())).toBe('held back by limit gpus (20) of group runners/ci');
});
