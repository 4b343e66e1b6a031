import { describe, expect, it } from 'vitest';
import { RunnerGroupStatus } from '../../../src/config/runnergroup/status.ts';
import type { PodTrouble } from '../../../src/planner/evidence.ts';
import type { GroupCounts } from '../../../src/serve/planning/group-counts.ts';
import { type GroupFacts, isWorthWriting, statusOf, tellsLess } from '../../../src/serve/planning/group-status.ts';
import type { WakeOutcome } from '../../../src/serve/waking/wake-state.ts';
import { Failure, type FailureKind } from '../../../src/shared/failure.ts';

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);
const counts: GroupCounts = {
  queued: 3,
  held: { cap: 2, limit: 0, suspended: 0, 'backing-off': 0 },
  summary: undefined,
  stuck: [],
  suspended: [],
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

const refusal = new Failure('GR-POLICY-01', 3, 'not allowed.', 'policy');
const failing = (kind: FailureKind) => ({ giteaFailure: new Failure('GR-GITEA-99', 1, 'list jobs: no.', kind) });
const limited = (cap: number, limit: Partial<NonNullable<GroupCounts['limit']>>) => {
  return { counts: { ...counts, held: { ...counts.held, cap, limit: 3 }, limit: { most: 4, ...limit } } };
};
const stuck = (pods: number, trouble: Pick<PodTrouble, 'reason' | 'message' | 'node'>) => {
  const all = Array.from({ length: pods }, (_, nth) => {
    return { runner: `ci-${nth + 1}-1-9c31e0aa`, trouble: { ...trouble, isLate: true }, failed: false };
  });
  return { counts: { ...counts, stuck: all } };
};
const SUSPENDED = { reason: 'Suspended', message: 'Job suspended', isLate: false, isSuspended: true } as const;
const PENDING = { reason: 'Unschedulable', message: '0/3 nodes are available.' };
const managed = (differsForMs: number, last?: WakeOutcome) => {
  return { argocd: { is: 'managed', differsForMs, ...(last && { last }) } } as const;
};
const waiting = (differsForMs: number) => {
  return { argocd: { is: 'managed', differsForMs, waits: 'serve has been waking Argo CD since 12:00' } } as const;
};
const INVALID: WakeOutcome = { is: 'synced', message: 'Job.batch "ci-1" is invalid' };
const ERROR: WakeOutcome = { is: 'error', message: 'why' };
const FAILED: WakeOutcome = { is: 'failed', message: 'why' };

/** For each condition: its status and reason, the facts that differ from quiet ones, and its message. */
const SAID: Readonly<Record<string, readonly (readonly [string, Partial<GroupFacts>, (string | RegExp)?])[]>> = {
  Ready: [
    ['True Serving', {}],
    ['True Suspended', { suspended: true }, 'No new runners; busy ones finish.'],
    ['True Suspended', { suspended: '' }],
    [
      'True Suspended',
      { suspended: 'since noon, by Alice' },
      'No new runners; busy ones finish. Suspended in the cluster, not in git: since noon, by Alice',
    ],
    ['False InvalidSpec', { problem: 'spec.org is missing' }, 'spec.org is missing'],
    ['False PolicyDenied', { refusal }, 'GR-POLICY-01 not allowed.'],
    ['False PolicyDenied', { problem: 'GR-POLICY-01 no.', isDenied: true }, 'GR-POLICY-01 no.'],
    ['False ApplicationBlocked', { planFailure: refused }, /: GR-HTTP-01 list jobs of org acme: refused\.$/],
    ['False NoApplication', { argocd: { is: 'unmanaged' } }],
    [
      'True RenamedInGitea',
      { counts: { ...counts, summary: { ...EMPTY, renamedTo: 'acme-inc', unreadJobs: 7 } } },
      'Jobs get runners. Renamed to acme-inc in Gitea: change the spec.',
    ],
    ['True Serving', { checkAgeMs: 300_000 }],
    ['Unknown NotChecked', { checkAgeMs: 300_001 }, 'Gitea was not looked at for more than 5 minutes.'],
    ['False GiteaFailed', { checkAgeMs: 300_001, giteaFailure: refused }],
    ['True Serving', stuck(4, PENDING)],
    ['True Serving', { counts }],
    ['False RateLimited', failing('rate-limited')],
    ['False RateLimited', failing('told-to-wait')],
    ['False Unauthorized', failing('unauthorized')],
    ['False Unauthorized', failing('forbidden')],
    ['False GiteaFailed', failing('server-error')],
    ['False GiteaFailed', failing('other')],
    ['False ComparisonError', managed(0, ERROR)],
    ['False ForeignApplication', managed(0, { is: 'foreign' })],
    ['False WakeFailed', managed(0, FAILED)],
  ],
  GiteaReachable: [
    ['True Seen', {}],
    ['False RateLimited', failing('rate-limited')],
    ['False RateLimited', failing('told-to-wait')],
    ['False Unauthorized', failing('unauthorized')],
    ['False Unauthorized', failing('forbidden')],
    ['False ServerError', failing('server-error')],
    ['False BadAnswer', failing('other')],
    ['False TokenUnusable', failing('token-unseen')],
    ['False Unreachable', failing('unreachable')],
    ['False Unreachable', failing('timeout')],
  ],
  AtCapacity: [
    ['False RoomLeft', {}],
    ['True JobsHeldBack', { counts }],
    ['True JobsHeldByLimit', limited(0, { name: 'gpus' }), 'Jobs are held back by limit gpus, which is 4: 3.'],
    ['True JobsHeldByLimit', limited(0, {}), 'Jobs are held back by a limit of the group, which is 4: 3.'],
    [
      'True JobsHeldByLimit',
      limited(0, { branches: ['main', 'release/*'] }),
      'Jobs are held back by a limit of the group for branches main, release/*, which is 4: 3.',
    ],
    ['True JobsHeldBack', limited(1, { name: 'gpus' })],
  ],
  PodsStuck: [
    ['False AllStart', {}],
    [
      'False JobsSuspended',
      { counts: { ...counts, suspended: [{ runner: 'ci-1-1-9c31e0aa', trouble: SUSPENDED }] } },
      'Jobs of runners that somebody holds: 1. ci-1-1-9c31e0aa: Suspended: Job suspended',
    ],
    [
      'False JobsSuspended',
      { counts: { ...counts, suspended: [{ runner: 'ci-1-1-9c31e0aa', trouble: { ...SUSPENDED, queue: 'team-a' } }] } },
      'Jobs of runners that wait in queues of Kueue: 1. ci-1-1-9c31e0aa: Suspended: Job suspended',
    ],
    [
      'True PodInitializing',
      stuck(1, { reason: 'PodInitializing', message: 'no container has started', node: 'node-1' }),
      'Pods of runners that cannot start: 1. ci-1-1-9c31e0aa: PodInitializing: no container has started (node node-1)',
    ],
    [
      'True Unschedulable',
      stuck(4, PENDING),
      'Pods of runners that cannot start: 4. ci-1-1-9c31e0aa: Unschedulable: 0/3 nodes are available.; ci-2-1-9c31e0aa: Unschedulable: 0/3 nodes are available.; ci-3-1-9c31e0aa: Unschedulable: 0/3 nodes are available.',
    ],
    ['True NoPod', stuck(1, { reason: 'NoPod' }), 'Pods of runners that cannot start: 1. ci-1-1-9c31e0aa: NoPod'],
  ],
  ArgoCDSynced: [
    ['True Synced', {}],
    ['False ComparisonError', managed(0, ERROR), 'why'],
    ['False ForeignApplication', managed(0, { is: 'foreign' }), 'The Application does not manage this RunnerGroup.'],
    ['False WakeFailed', managed(0, FAILED), 'why'],
    ['True Synced', managed(60_000, { is: 'in-sync' })],
    ['False PlanDiffers', managed(60_001, { is: 'in-sync' }), /compare GITEA_RUNNERS_INSTANCE/],
    ['False PlanDiffers', managed(60_001, { is: 'synced' }), /: look at the last sync of the Application\.$/],
    ['False PlanDiffers', managed(60_001, { is: 'in-sync', says: 'zzz' }), /60 s\. Argo CD says: zzz\.$/],
    // Law V112: Argo CD's own words take the place of our guess, whatever they are.
    [
      'False PlanDiffers',
      managed(60_001, { is: 'busy', says: 'an operation has been Frobnicating since 10:00: zzz' }),
      'The cluster has not shown the plan for more than 60 s. Argo CD says: an operation has been Frobnicating since 10:00: zzz.',
    ],
    [
      'True Synced',
      managed(0, { is: 'in-sync', says: 'SharedResourceWarning: ci is part of a and b' }),
      'The cluster shows the plan, or will in a moment. Argo CD says: SharedResourceWarning: ci is part of a and b.',
    ],
    [
      'False SyncFailed',
      managed(60_001, { ...INVALID, says: 'syncOptions has Replace=true: harm' }),
      'Argo CD cannot apply all Jobs: Job.batch "ci-1" is invalid. Argo CD says: syncOptions has Replace=true: harm.',
    ],
    ['True Synced', managed(60_000, INVALID)],
    ['False SyncFailed', managed(60_001, INVALID), 'Argo CD cannot apply all Jobs: Job.batch "ci-1" is invalid.'],
    // Law V75 (docs/spec.md): the condition says what it waits for, once the cluster has differed from the plan for 30
    // s.
    ['True Synced', waiting(29_999)],
    [
      'True Waiting',
      waiting(30_000),
      'The cluster does not show the plan yet. serve has been waking Argo CD since 12:00.',
    ],
    [
      'False PlanDiffers',
      waiting(60_001),
      /^The cluster has not shown the plan for more than 60 s: .* serve has been waking Argo CD since 12:00\.$/,
    ],
  ],
};

for (const [type, rows] of Object.entries(SAID))
  for (const [at, [told, change, message]] of rows.entries())
    it(`${type} is ${told} (${at})`, () => {
      const facts = { ...calm, ...change };

      expect(words(facts)[type]).toBe(told);
      if (message instanceof RegExp) expect(said(type, facts)).toMatch(message);
      else if (message !== undefined) expect(said(type, facts)).toBe(message);
    });

it('the status of a group says that its queue was too long to be read, and what to do, in words that do not change with each look', () => {
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

it('the status of a group tells of Gitea once it was looked at, whether or not anything was planned', () => {
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

it('the status of a group counts nothing before the first plan', () => {
  const { counts: _, checkedAtMs: __, ...unlooked } = calm;
  const { conditions: ___, ...status } = statusOf(unlooked, undefined, NOW);

  expect(status).toStrictEqual({ activeRunners: 1, queuedJobs: 0, heldJobs: 0, observedGeneration: 4 });
});

it('the status of a group names no generation when Kubernetes counts none', () => {
  const status = statusOf({ ...calm, generation: undefined }, undefined, NOW);

  expect([status, ...(status.conditions ?? [])].filter((each) => 'observedGeneration' in each)).toEqual([]);
});

it('the status of a group cuts messages: a status has a bound', () => {
  expect(said('Ready', { ...calm, problem: 'x'.repeat(5_000) })).toHaveLength(1_000);
});

it('the status of a group is what the CRD admits', () => {
  expect(RunnerGroupStatus.parse(statusOf(calm, undefined, NOW))).toEqual(statusOf(calm, undefined, NOW));
});

it('the status of a group names runners that stay for a look, 20 at most, and says when there is none left', () => {
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

it('the status of a group takes a runner that stayed back also when it went while Gitea failed: a patch without it would leave it', () => {
  const debugging = [{ runner: 'ci-7-1-9c31e0aa', untilMs: NOW }];
  const before = statusOf({ ...calm, counts: { ...counts, debugging } }, undefined, NOW);
  const { counts: _, ...failing } = { ...calm, giteaFailure: refused };

  const meanwhile = statusOf(failing, before, NOW);
  expect(meanwhile).toMatchObject({ debuggingRunners: 1, debugging: before.debugging });
  expect(Object.keys(statusOf(failing, undefined, NOW))).not.toContain('debugging');
  expect(statusOf({ ...calm, counts }, meanwhile, NOW)).toMatchObject({ debuggingRunners: 0, debugging: [] });
});

it('the status of a group counts runners and jobs', () => {
  expect(statusOf({ ...calm, ...limited(2, {}) }, undefined, NOW).heldJobs).toBe(5);
  expect(statusOf({ ...calm, counts }, undefined, NOW)).toMatchObject({
    activeRunners: 1,
    queuedJobs: 3,
    heldJobs: 2,
    observedGeneration: 4,
    lastCheckTime: '2026-11-21T12:00:00Z',
  });
});

it('the status of a group says that Gitea cannot be reached, and keeps the last counts', () => {
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

it('the status of a group keeps the time of a condition whose status stays, and renews it when it turns', () => {
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

  it('a status is written when there is none yet, and when it says something new', () => {
    expect(isWorthWriting(old, undefined)).toBe(true);
    expect(isWorthWriting(statusOf({ ...calm, activeRunners: 2 }, old, NOW), old)).toBe(true);
    expect(isWorthWriting(statusOf({ ...calm, generation: 5 }, old, NOW), old)).toBe(true);
  });

  it('a status is written when a CI job was lost, and when none is any more: a patch without the list would leave the old one', () => {
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

  it('a status is not written when only the time of the last look is new, unless the old one is a minute old', () => {
    const looked = (ms: number) => statusOf({ ...calm, checkedAtMs: NOW + ms }, old, NOW + ms);

    expect(isWorthWriting(looked(60_000), old)).toBe(false);
    expect(isWorthWriting(looked(61_000), old)).toBe(true);
    // A clock was set back.
    expect(isWorthWriting(looked(-61_000), old)).toBe(true);
  });

  it('a status is not written again for a group that has no look yet, but with the first look', () => {
    const { checkedAtMs: _, ...unlooked } = calm;
    const first = statusOf(unlooked, undefined, NOW);

    expect(isWorthWriting(statusOf(unlooked, first, NOW), first)).toBe(false);
    expect(isWorthWriting(statusOf(calm, first, NOW), first)).toBe(true);
  });

  it('a status has no list of lost CI jobs while there were none', () => {
    expect(old).not.toHaveProperty('lostJobs');
  });
});
