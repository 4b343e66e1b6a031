import { describe, expect, it } from 'vitest';
import { RunnerGroupStatus } from '../../../src/config/runnergroup/status.ts';
import { type GroupFacts, isWorthWriting, statusOf, tellsLess } from '../../../src/serve/planning/group-status.ts';
import type { WakeOutcome } from '../../../src/serve/waking/wake-state.ts';
import { Failure } from '../../../src/shared/failure.ts';

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);
const counts: NonNullable<GroupFacts['counts']> = {
  queued: 3,
  held: { cap: 2, limit: 0, suspended: 0, 'backing-off': 0 },
  summary: undefined,
  stuck: [],
  debugging: [],
};
const EMPTY = {
  group: { namespace: 'runners', name: 'ci' },
  ...{ cap: 5, busy: 0, waiting: 0, debugging: 0, spare: 0, warm: 0, minIdle: 0, held: 0 },
};
const calm: GroupFacts = {
  generation: 4,
  suspended: false,
  activeRunners: 1,
  checkedAtMs: NOW,
  counts: { ...counts, queued: 0, held: { ...counts.held, cap: 0 } },
  argocd: { is: 'managed', last: { is: 'synced' }, differsForMs: 0 },
};
const refused = new Failure('GR-HTTP-01', 1, 'list jobs of org acme: refused.', 'unreachable');

function words(facts: GroupFacts): Record<string, string> {
  const status = statusOf(facts, undefined, NOW);
  return Object.fromEntries((status.conditions ?? []).map(({ type, status: is, reason }) => [type, `${is} ${reason}`]));
}

function said(wanted: string, facts: GroupFacts): string | undefined {
  return statusOf(facts, undefined, NOW).conditions?.find(({ type }) => type === wanted)?.message;
}

describe('the status of a group', () => {
  it('says that its queue was too long to be read, and what to do, in words that do not change with each look', () => {
    const cut = (unreadJobs: number): GroupFacts => ({
      ...calm,
      counts: { ...counts, summary: { ...EMPTY, unreadJobs } },
    });

    expect(words(cut(92_345))['Ready']).toBe('True QueueCut');
    const [ready] = statusOf(cut(92_345), undefined, NOW).conditions ?? [];
    expect(ready?.message).toBe(
      'Jobs get runners, but about 90000 queued jobs were not read, because there are too many. Next: cancel the runs that nobody needs, in Gitea under Actions of the repository that has most of them.',
    );
    expect(isWorthWriting(statusOf(cut(92_346), undefined, NOW), statusOf(cut(92_345), undefined, NOW))).toBe(false);
  });

  it('says that a group is suspended in the cluster, and what is said there', () => {
    const [ready] = statusOf({ ...calm, suspended: 'since noon, by Alice' }, undefined, NOW).conditions ?? [];

    expect(ready).toMatchObject({ type: 'Ready', status: 'True', reason: 'Suspended' });
    expect(ready?.message).toBe(
      'No new runners; busy ones finish. Suspended in the cluster, not in git: since noon, by Alice',
    );
  });

  it('says that a group is suspended in git', () => {
    expect(said('Ready', { ...calm, suspended: true })).toBe('No new runners; busy ones finish.');
  });

  it('says why the policy of serve refuses a group', () => {
    const refusal = new Failure('GR-POLICY-01', 3, 'not allowed.', 'policy');

    expect(said('Ready', { ...calm, refusal })).toBe('GR-POLICY-01 not allowed.');
    expect(words({ ...calm, refusal })).toMatchObject({ Ready: 'False PolicyDenied' });
  });

  it('tells of Gitea once it was looked at, whether or not anything was planned', () => {
    const { counts: _, checkedAtMs: __, ...unlooked } = calm;

    expect(words(unlooked)).toMatchObject({
      Ready: 'Unknown NotLookedYet',
      GiteaReachable: 'Unknown NotLookedYet',
      AtCapacity: 'Unknown NotPlanned',
      PodsStuck: 'Unknown NotPlanned',
    });
    expect(words({ ...unlooked, checkedAtMs: NOW })['GiteaReachable']).toBe('True Seen');
    expect(words({ ...unlooked, counts })['GiteaReachable']).toBe('True Seen');
  });

  it('counts nothing before the first plan', () => {
    const { counts: _, checkedAtMs: __, ...unlooked } = calm;
    const { conditions: ___, ...status } = statusOf(unlooked, undefined, NOW);

    expect(status).toStrictEqual({ activeRunners: 1, queuedJobs: 0, heldJobs: 0, observedGeneration: 4 });
  });

  it('names no generation when Kubernetes counts none', () => {
    const status = statusOf({ ...calm, generation: undefined }, undefined, NOW);

    expect([status, ...(status.conditions ?? [])].filter((each) => 'observedGeneration' in each)).toEqual([]);
  });

  it('cuts messages: a status has a bound', () => {
    expect(said('Ready', { ...calm, problem: 'x'.repeat(5_000) })).toHaveLength(1_000);
  });

  it('is what the CRD admits', () => {
    expect(RunnerGroupStatus.parse(statusOf(calm, undefined, NOW))).toEqual(statusOf(calm, undefined, NOW));
  });

  it('names runners that stay for a look, 20 at most, and says when there is none left', () => {
    const debugging = Array.from({ length: 21 }, (_, nth) => ({ runner: `ci-${nth}`, untilMs: NOW + 500 }));
    const status = statusOf({ ...calm, counts: { ...counts, debugging } }, undefined, NOW);

    expect(RunnerGroupStatus.parse(status)).toEqual(status);
    expect(status).toMatchObject({ debuggingRunners: 21 });
    expect(status.debugging).toHaveLength(20);
    expect(status.debugging?.[0]).toEqual({ runner: 'ci-0', until: '2026-11-21T12:00:00Z' });
    expect(statusOf(calm, status, NOW)).toMatchObject({ debuggingRunners: 0, debugging: [] });
    expect(isWorthWriting(statusOf(calm, status, NOW), status)).toBe(true);
    expect(statusOf(calm, undefined, NOW)).not.toHaveProperty('debuggingRunners');
  });

  it('takes a runner that stayed back also when it went while Gitea failed: a patch without it would leave it', () => {
    const debugging = [{ runner: 'ci-7-1-9c31e0aa', untilMs: NOW }];
    const before = statusOf({ ...calm, counts: { ...counts, debugging } }, undefined, NOW);
    const { counts: _, ...failing } = { ...calm, giteaFailure: refused };

    const meanwhile = statusOf(failing, before, NOW);
    expect(meanwhile).toMatchObject({ debuggingRunners: 1, debugging: before.debugging });
    expect(Object.keys(statusOf(failing, undefined, NOW))).not.toContain('debugging');
    expect(statusOf({ ...calm, counts }, meanwhile, NOW)).toMatchObject({ debuggingRunners: 0, debugging: [] });
  });

  it('counts runners and jobs', () => {
    expect(statusOf({ ...calm, counts }, undefined, NOW)).toMatchObject({
      activeRunners: 1,
      queuedJobs: 3,
      heldJobs: 2,
      observedGeneration: 4,
      lastCheckTime: '2026-11-21T12:00:00Z',
    });
  });

  it('says that all is well', () => {
    expect(words(calm)).toEqual({
      Ready: 'True Serving',
      GiteaReachable: 'True Seen',
      AtCapacity: 'False RoomLeft',
      PodsStuck: 'False AllStart',
      ArgoCDSynced: 'True Synced',
    });
  });

  it('is not Ready when nobody has looked for more than five minutes', () => {
    expect(words({ ...calm, checkAgeMs: 300_000 })['Ready']).toBe('True Serving');
    expect(words({ ...calm, checkAgeMs: 300_001 })['Ready']).toBe('Unknown NotChecked');
    expect(said('Ready', { ...calm, checkAgeMs: 300_001 })).toBe('Gitea was not looked at for more than 5 minutes.');
    expect(words({ ...calm, checkAgeMs: 300_001, giteaFailure: refused })['Ready']).toBe('False GiteaFailed');
  });

  it('names pods that cannot start, with Kubernetes’ words', () => {
    const stuck = [1, 2, 3, 4].map((nth) => ({
      runner: `ci-${nth}-1-9c31e0aa`,
      trouble: { reason: 'Unschedulable', message: '0/3 nodes are available.', isLate: true },
      failed: false,
    }));
    const { conditions = [] } = statusOf({ ...calm, counts: { ...counts, stuck } }, undefined, NOW);

    expect(conditions.find(({ type }) => type === 'PodsStuck')).toMatchObject({
      status: 'True',
      reason: 'Unschedulable',
      message:
        'Pods of runners that cannot start: 4. ci-1-1-9c31e0aa: Unschedulable: 0/3 nodes are available.; ci-2-1-9c31e0aa: Unschedulable: 0/3 nodes are available.; ci-3-1-9c31e0aa: Unschedulable: 0/3 nodes are available.',
    });
    expect(words({ ...calm, counts: { ...counts, stuck } })).toMatchObject({ Ready: 'True Serving' });
  });

  it('says that the cap holds jobs back, which is no fault', () => {
    expect(words({ ...calm, counts })).toMatchObject({ Ready: 'True Serving', AtCapacity: 'True JobsHeldBack' });
  });

  it('names the limit that holds jobs back, unless the cap does so, too', () => {
    const limited = (cap: number, name?: string): GroupFacts => {
      const limit = { most: 4, ...(name !== undefined && { name }) };
      return { ...calm, counts: { ...counts, held: { ...counts.held, cap, limit: 3 }, limit } };
    };

    expect(words(limited(0, 'gpus'))['AtCapacity']).toBe('True JobsHeldByLimit');
    expect(said('AtCapacity', limited(0, 'gpus'))).toBe('Jobs are held back by limit gpus, which is 4: 3.');
    expect(said('AtCapacity', limited(0))).toBe('Jobs are held back by a limit of the group, which is 4: 3.');
    const branches = ['main', 'release/*'];
    expect(
      said('AtCapacity', {
        ...calm,
        counts: { ...counts, held: { ...counts.held, cap: 0, limit: 3 }, limit: { most: 1, branches } },
      }),
    ).toBe('Jobs are held back by a limit of the group for branches main, release/*, which is 1: 3.');
    expect(words(limited(1, 'gpus'))['AtCapacity']).toBe('True JobsHeldBack');
    expect(statusOf(limited(2), undefined, NOW).heldJobs).toBe(5);
  });

  it('names a pod of which Kubernetes gives no more than a reason', () => {
    const stuck = [{ runner: 'ci-1-1-9c31e0aa', trouble: { reason: 'NoPod', isLate: true }, failed: false }];

    expect(said('PodsStuck', { ...calm, counts: { ...counts, stuck } })).toBe(
      'Pods of runners that cannot start: 1. ci-1-1-9c31e0aa: NoPod',
    );
  });

  it.each([
    ['rate-limited', 'RateLimited', 'RateLimited'],
    ['told-to-wait', 'RateLimited', 'RateLimited'],
    ['unauthorized', 'Unauthorized', 'Unauthorized'],
    ['forbidden', 'Unauthorized', 'Unauthorized'],
    ['server-error', 'GiteaFailed', 'ServerError'],
    ['other', 'GiteaFailed', 'BadAnswer'],
    ['unreachable', 'GiteaFailed', 'Unreachable'],
    ['timeout', 'GiteaFailed', 'Unreachable'],
  ] as const)('says why a look failed: %s is %s', (kind, ready, reachable) => {
    const giteaFailure = new Failure('GR-GITEA-99', 1, 'list jobs of org acme: no.', kind);

    expect(words({ ...calm, giteaFailure })).toMatchObject({
      Ready: `False ${ready}`,
      GiteaReachable: `False ${reachable}`,
    });
  });

  it('says that Gitea cannot be reached, and keeps the last counts', () => {
    const { counts: _, ...facts } = calm;
    const old = statusOf({ ...calm, counts }, undefined, NOW);
    const status = statusOf({ ...facts, giteaFailure: refused }, old, NOW);

    expect(words({ ...facts, giteaFailure: refused })).toMatchObject({
      Ready: 'False GiteaFailed',
      GiteaReachable: 'False Unreachable',
      AtCapacity: 'Unknown NotPlanned',
    });
    expect(status).toMatchObject({ queuedJobs: 3, heldJobs: 2 });
    expect(status.conditions?.[0]?.message).toBe('GR-HTTP-01 list jobs of org acme: refused.');
  });

  it.each([
    ['an invalid spec', { problem: 'spec.org is missing' }, 'False InvalidSpec'],
    ['trouble of a neighbour', { planFailure: refused }, 'False ApplicationBlocked'],
    ['a suspended group', { suspended: true }, 'True Suspended'],
    ['a group that is suspended without a word', { suspended: '' }, 'True Suspended'],
    ['an object that Argo CD does not manage', { argocd: { is: 'unmanaged' } }, 'False NoApplication'],
  ] as const)('tells of %s', (_, change, ready) => {
    expect(words({ ...calm, ...change })['Ready']).toBe(ready);
  });

  it.each([
    ['error', 'False ComparisonError'],
    ['foreign', 'False ForeignApplication'],
    ['failed', 'False WakeFailed'],
  ] as const)('tells of a wake that ended with %s', (is, said) => {
    const told = words({ ...calm, argocd: { is: 'managed', last: { is, message: 'why' }, differsForMs: 0 } });

    expect(told).toMatchObject({ ArgoCDSynced: said, Ready: said });
  });

  it('explains a wake that ended in error in Argo CD’s words, and one of a foreign Application in ours', () => {
    const saidOf = (last: WakeOutcome) =>
      said('ArgoCDSynced', { ...calm, argocd: { is: 'managed', differsForMs: 0, last } });

    expect(saidOf({ is: 'error', message: 'why' })).toBe('why');
    expect(saidOf({ is: 'foreign' })).toBe('The Application does not manage this RunnerGroup.');
  });

  /** Law V75 (docs/spec.md). */
  it('says what is waited for once the cluster has not shown the plan for 30 s', () => {
    const at = (differsForMs: number): GroupFacts => {
      return { ...calm, argocd: { is: 'managed', differsForMs, waits: 'Argo CD is being woken since 12:00' } };
    };
    const waits = ' Now Argo CD is being woken since 12:00.';

    expect(words(at(29_999))['ArgoCDSynced']).toBe('True Synced');
    expect(words(at(30_000))['ArgoCDSynced']).toBe('True Waiting');
    expect(said('ArgoCDSynced', at(30_000))).toBe(`The cluster does not show the plan yet.${waits}`);
    expect(said('ArgoCDSynced', at(60_001))).toMatch(
      /^The cluster has not shown the plan for more than 60 s: .*Now Argo/,
    );
  });

  it('tolerates a difference for a while only', () => {
    const argo = (differsForMs: number) =>
      words({ ...calm, argocd: { is: 'managed', last: { is: 'in-sync' }, differsForMs } })['ArgoCDSynced'];

    expect(argo(60_000)).toBe('True Synced');
    expect(argo(60_001)).toBe('False PlanDiffers');
  });

  it('says why the sync of its Jobs has failed, once that has lasted a while', () => {
    const argo = (differsForMs: number) => {
      const last = { is: 'synced', message: 'Job.batch "ci-1" is invalid' } as const;
      const { conditions = [] } = statusOf({ ...calm, argocd: { is: 'managed', last, differsForMs } }, undefined, NOW);
      return conditions.find(({ type }) => type === 'ArgoCDSynced');
    };

    expect(argo(60_000)?.reason).toBe('Synced');
    expect(argo(60_001)).toMatchObject({
      status: 'False',
      reason: 'SyncFailed',
      message: 'Argo CD cannot apply all Jobs: Job.batch "ci-1" is invalid',
    });
  });

  it('keeps the time of a condition whose status stays, and renews it when it turns', () => {
    const before = statusOf(calm, undefined, NOW);
    const later = statusOf({ ...calm, counts }, before, NOW + 60_000);
    const times = Object.fromEntries((later.conditions ?? []).map((each) => [each.type, each.lastTransitionTime]));

    expect(times).toEqual({
      Ready: '2026-11-21T12:00:00Z',
      GiteaReachable: '2026-11-21T12:00:00Z',
      AtCapacity: '2026-11-21T12:01:00Z',
      PodsStuck: '2026-11-21T12:00:00Z',
      ArgoCDSynced: '2026-11-21T12:00:00Z',
    });
  });
});

it('a leader that has not looked yet leaves what the one before has told of the same spec, for five minutes', () => {
  const { counts: _, checkedAtMs: __, ...unlooked } = calm;
  const old = statusOf(calm, undefined, NOW);

  expect(tellsLess(unlooked, old, NOW + 300_000)).toBe(true);
  expect(tellsLess(unlooked, old, NOW + 300_001)).toBe(false);
  expect(tellsLess(unlooked, undefined, NOW)).toBe(false);
  expect(tellsLess({ ...unlooked, generation: 5 }, old, NOW)).toBe(false);
  expect(tellsLess({ ...unlooked, problem: 'spec.labels is empty' }, old, NOW)).toBe(false);
  for (const why of ['giteaFailure', 'planFailure', 'refusal'])
    expect(tellsLess({ ...unlooked, [why]: refused }, old, NOW)).toBe(false);
  expect(tellsLess(calm, old, NOW)).toBe(false);
});

describe('a status is written', () => {
  const old = statusOf(calm, undefined, NOW);

  it('when there is none yet, and when it says something new', () => {
    expect(isWorthWriting(old, undefined)).toBe(true);
    expect(isWorthWriting(statusOf({ ...calm, activeRunners: 2 }, old, NOW), old)).toBe(true);
    expect(isWorthWriting(statusOf({ ...calm, generation: 5 }, old, NOW), old)).toBe(true);
  });

  it('when a CI job was lost, and when none is any more: a patch without the list would leave the old one', () => {
    const lost = {
      runner: 'ci-7-1-9c31e0aa',
      repository: 'acme/web',
      runId: 3,
      jobId: 7,
      attempt: 1,
      reason: 'Evicted',
      lostAt: '2026-11-21T12:00:00Z',
    };
    const noted = statusOf({ ...calm, lostJobs: [lost] }, old, NOW);
    const settled = statusOf({ ...calm, lostJobs: [] }, noted, NOW);
    const later = statusOf({ ...calm, lostJobs: [] }, settled, NOW);

    expect([old.lostJobs, noted.lostJobs, settled.lostJobs]).toEqual([undefined, [lost], []]);
    expect([isWorthWriting(noted, old), isWorthWriting(settled, noted), isWorthWriting(later, settled)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('not when only the time of the last look is new, unless the old one is a minute old', () => {
    const looked = (ms: number) => statusOf({ ...calm, checkedAtMs: NOW + ms }, old, NOW + ms);

    expect(isWorthWriting(looked(60_000), old)).toBe(false);
    expect(isWorthWriting(looked(61_000), old)).toBe(true);
    // A clock was set back.
    expect(isWorthWriting(looked(-61_000), old)).toBe(true);
  });

  it('not for a group that has no look yet, and with the first one', () => {
    const { checkedAtMs: _, ...unlooked } = calm;
    const first = statusOf(unlooked, undefined, NOW);

    expect(isWorthWriting(statusOf(unlooked, first, NOW), first)).toBe(false);
    expect(isWorthWriting(statusOf(calm, first, NOW), first)).toBe(true);
  });

  it('without a list of lost CI jobs, while there were none', () => {
    expect(old).not.toHaveProperty('lostJobs');
  });
});
