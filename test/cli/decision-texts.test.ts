/** The sentence of every decision, as people read it. A new decision gets its row here. */
import { describe, expect, it } from 'vitest';
import { runnerText, verdictText } from '../../src/observe/explain/causes.ts';
import type { ExplainedJob } from '../../src/observe/explain/explanation.ts';
import type { LabelsElsewhere } from '../../src/observe/explain/held-back.ts';
import type {
  DroppedBecause,
  EmittedBecause,
  GroupKey,
  HeldBecause,
  RunnerDecision,
  ServedBy,
} from '../../src/planner/decisions.ts';
import { DROPPED, HELD, KEPT, SERVED } from '../golden/coverage.ts';
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

/** Each decision about a job, and its sentence. */
const JOBS: readonly (readonly [object, string])[] = [
  [{ verdict: 'running', group: GROUP, job: job(7, { runner: RUNNER }) }, `runs on ${RUNNER}`],
  [{ verdict: 'running', job: job(7, { runner: 'build-host' }) }, 'runs on build-host (not a runner of these groups)'],
  [{ verdict: 'running', job: job(7) }, 'runs on <unknown> (not a runner of these groups)'],
  [served('own-runner'), `${RUNNER} (owned by group runners/ci; its runner is alive)`],
  [served('chain'), `${RUNNER} (owned by group runners/ci; takes over the runner of another job)`],
  [served('free-runner'), `${RUNNER} (owned by group runners/ci; a free runner)`],
  [served('new-runner'), `${RUNNER} (owned by group runners/ci; asked for, not registered yet)`],
  [
    { ...served('own-runner'), isActionsOff: true },
    'Actions is switched off in the settings of acme/web: Gitea gives its jobs to no runner',
  ],
  [
    { ...served('own-runner'), idleMs: 300_000 },
    `${RUNNER} (owned by group runners/ci; it is registered and idle for 5m00s: Gitea does not give it the job)`,
  ],
  [
    { ...served('new-runner'), notCreated: { why: 'serve does not run', next: '', isUnserved: false } },
    `${RUNNER} (owned by group runners/ci; serve does not run)`,
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
    held('limit', { group: GROUP, limit: { most: 1, of: 'acme/other' }, job: job(7) }),
    'held back by the limit for acme/other (1) of group runners/ci; Gitea could give its runner to a job of acme/other',
  ],
  [
    held('limit', { group: GROUP, limit: { most: 1, branches: ['main', 'fix/*'] }, job: job(7, { branch: 'main' }) }),
    'held back by the limit for branches main, fix/* (1) of group runners/ci',
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
  [held('blocked', { runHas: [build], repositoryHas: [] }), 'blocked: probably needs build (in progress) of its run'],
  [
    held('blocked', { runHas: [build, build, build, build, build], repositoryHas: [build] }),
    'blocked: probably needs build (in progress), build (in progress), build (in progress) and 2 more of its run',
  ],
  [
    held('blocked', { runHas: [], repositoryHas: [] }),
    'blocked: it probably waits for an approval: no other job of its run or repository is ready or runs',
  ],
  [
    held('blocked', { runHas: [], repositoryHas: [], event: 'pull_request' }),
    'blocked: it waits for an approval: no other job of its run or repository is ready or runs',
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
  [held('no-labels'), 'no labels: no runner is started for it (the call of a reusable workflow needs none)'],
  [held('labels-not-covered', { missing: ['gpu'] }), 'labels not covered: gpu'],
  [
    held('labels-not-covered', { missing: ['gpu'], nearest: GROUP }),
    'labels not covered: gpu (nearest group: runners/ci)',
  ],
  [
    held('labels-not-covered', { elsewhere: { is: 'other-scope', group: GROUP, scope: 'repository acme/ml' } }),
    'labels not covered: linux (runners/ci has them, but its scope, repository acme/ml, does not have acme/web)',
  ],
  [
    held('labels-not-covered', {
      elsewhere: { is: 'other-scope', group: GROUP, scope: 'org acme', gitea: 'https://old.example.com' },
    }),
    'labels not covered: linux (runners/ci has them, but it is for https://old.example.com)',
  ],
  [
    held('labels-not-covered', {
      elsewhere: {
        is: 'several-groups',
        places: [
          { label: 'linux', group: GROUP },
          { label: 'gpu', group: { namespace: 'runners', name: 'big' } },
        ],
      },
    }),
    'labels not covered: linux (no group has all of them: linux is in runners/ci, gpu is in runners/big)',
  ],
  [held('suspended', { group: GROUP }), 'held back: group runners/ci is suspended'],
  [held('cap', { group: GROUP }), 'held back by the cap of group runners/ci'],
  [held('cap', { group: GROUP, cap: 0 }), 'held back: group runners/ci starts no runners, because its cap is 0'],
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
  [
    held('backing-off', {
      group: GROUP,
      untilMs: NOW + 7000,
      ended: { runner: RUNNER, reason: 'RegistrationFailed', message: 'container register ended with exit code 1' },
    }),
    'held back: its last runner failed: RegistrationFailed: container register ended with exit code 1; group runners/ci tries again in 7s',
  ],
  [held('served-elsewhere', { runner: 'other-1' }), 'other-1 is there for it (not a runner of these groups)'],
];

/** Each decision about a runner. */
const RUNNERS: readonly (readonly [RunnerDecision, string])[] = [
  [emitted('busy', { job: job(7) }), 'stays: it runs job 7 "job 7" of acme/web'],
  [emitted('own-runner', { job: job(7) }), 'stays: it is wanted for job 7 "job 7" of acme/web'],
  [emitted('finishing'), 'stays: busy in Gitea without a listed job (a cancelled job cleans up)'],
  [emitted('spare'), 'stays: no job needs it now, but CI goes on; it goes spawnTimeoutSeconds after its start'],
  [
    emitted('foreign'),
    'takes no place: a CI job names it, but it was registered by somebody else under a name like ours',
  ],
  [emitted('lost'), 'stays as a record: its pod is lost while Gitea still shows a CI job on it, it holds no slot'],
  [emitted('unpinning'), 'goes: no job needs it; the next sync takes its protection away, the one after it the Job'],
  [
    emitted('back-off-record', { trouble: TROUBLE }),
    'stays as a record: its Job ended without a CI job, it holds no slot; its pod cannot start: ImagePullBackOff: not found',
  ],
  ...(
    [
      ['used-up', 'goes: it has done its job'],
      ['failed', 'goes: its Job ended without a CI job'],
      ['never-came', 'goes: has not registered within spawnTimeoutSeconds'],
      ['stuck', 'goes: its pod has not started within pendingDeadlineSeconds, another one is tried'],
      ['replaced', 'goes: its RunnerGroup was changed before it registered'],
      ['disabled', 'goes: is disabled in Gitea'],
      ['suspended', 'goes: its group is suspended'],
      ['surplus', 'goes: no job needs it'],
      ['drained', 'goes: its group was changed, keeps fewer idle runners, or has no room for them under its cap'],
      ['deleting', 'goes: its Job is being deleted'],
      ['gone', 'goes: its Job is gone, which Gitea has not noticed yet'],
      ['offline', 'is only an old registration: offline in Gitea'],
    ] as const
  ).map(([because, text]): [RunnerDecision, string] => [{ emit: false, runner: RUNNER, group: GROUP, because }, text]),
  [emitted('chain', { job: job(7) }), 'stays: it is wanted for job 7 "job 7" of acme/web'],
  [emitted('free-runner', { job: job(7) }), 'stays: it is wanted for job 7 "job 7" of acme/web'],
  [emitted('new-runner', { job: job(7) }), 'stays: it is wanted for job 7 "job 7" of acme/web'],
  [emitted('moved'), 'stays: it was at work when its RunnerGroup moved to another Gitea or scope, and it may finish'],
  [emitted('warm'), 'kept warm: one of 0'],
  [emitted('group-in-trouble'), 'stays as it is: its RunnerGroup cannot be planned now'],
  [
    emitted('debugging', { job: job(7), keep: { endedAtMs: 0, untilMs: 1_200_000 } }),
    'debugging: its CI job acme/web job 7 (job 7) failed; stays until 1970-01-01T00:20:00Z (20m00s); ' +
      'kubectl exec -it -n runners job/ci-7-1-9c31e0aa -c runner -- sh',
  ],
];

describe('a job', () => {
  it.each(JOBS)('%j reads', (decision, text) => {
    expect(verdictText(explained(decision), NOW, new Map())).toBe(text);
  });

  it('whose runner cannot start, or is lost, says so', () => {
    const stuck = new Map([[RUNNER, emitted('new-runner', { trouble: TROUBLE })]]);
    const lost = new Map([[RUNNER, emitted('lost')]]);
    const running = explained({ verdict: 'running', group: GROUP, job: job(7, { runner: RUNNER }) });

    expect(verdictText(explained(served('new-runner')), NOW, stuck)).toBe(
      `${RUNNER} (owned by group runners/ci; its pod cannot start: ImagePullBackOff: not found)`,
    );
    expect(verdictText(running, NOW, lost)).toBe(`its runner ${RUNNER} is lost: Gitea fails it after 10 to 15 minutes`);
    const killed = { ...running, ended: { runner: RUNNER, reason: 'OOMKilled', message: 'too little memory' } };
    expect(verdictText(killed, NOW, lost)).toBe(
      `its runner ${RUNNER} is lost (OOMKilled: too little memory): Gitea fails it after 10 to 15 minutes`,
    );
  });
});

describe('a runner', () => {
  it.each(RUNNERS)('%j reads', (decision, text) => {
    expect(runnerText(decision, [], 0)).toBe(text);
  });
});

/** A new decision does not compile until it is here, and then it needs a row above. */
const EVERY: Readonly<
  Record<HeldBecause | ServedBy | LabelsElsewhere['is'] | EmittedBecause | DroppedBecause | 'running', true>
> = {
  ...SERVED,
  ...HELD,
  ...KEPT,
  ...DROPPED,
  running: true,
  'other-scope': true,
  'several-groups': true,
  'group-in-trouble': true,
};

it('every decision has its sentence', () => {
  const written = JSON.stringify([...JOBS, ...RUNNERS].map(([decision]) => decision));
  expect(Object.keys(EVERY).filter((kind) => !written.includes(`"${kind}"`))).toEqual([]);
});
