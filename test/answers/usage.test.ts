/** Tests the notes of `report` on unknown figures. Whole histories: test/cli/report/truth.test.ts. */
import { describe, expect, it } from 'vitest';
import { type Dimension, type EndedRunner, type Usage, type UsageEvidence, usageOf } from '../../src/answers/usage.ts';
import type { EndedJob, ScopeHistory } from '../../src/clients/gitea/history.ts';
import { runnerName } from '../../src/planner/names.ts';
import { runnerGroup } from '../support/runner-group.ts';

const GITEA = 'https://gitea.example.com';
const FROM_MS = Date.parse('2026-03-02T00:00:00Z');
const MINUTE_MS = 60_000;
const PERIOD = { fromMs: FROM_MS, toMs: FROM_MS + 24 * 60 * MINUTE_MS };
const LINUX = runnerGroup({ giteaUrl: GITEA, namespace: 'runners', name: 'linux' });

const nameFor = (id: number): string =>
  runnerName('', { ...LINUX, origin: GITEA, templateHash: 'x' } as never, { id, attempt: 1 }, 0);

interface Row {
  readonly id: number;
  /** Minutes after the begin of the period. */
  readonly times: readonly [created: number, started: number, completed: number];
  readonly runId?: number;
  readonly runner?: string | undefined;
  readonly labels?: readonly string[];
  readonly isRerunInPlace?: boolean;
}

function job({ id, times: [created, started, completed], runId = id, runner, labels, isRerunInPlace }: Row): EndedJob {
  const at = (minutes: number): number => FROM_MS + minutes * MINUTE_MS;
  return {
    id,
    runId,
    repository: 'acme/web',
    labels: labels ?? LINUX.labels.map(({ name }) => name).slice(0, 1),
    createdAtMs: at(created),
    completedAtMs: at(completed),
    result: 'success',
    ran: { startedAtMs: at(started), runnerId: id, ...(runner !== undefined && { runner }) },
    isRerunInPlace: isRerunInPlace ?? false,
  };
}

function endedRunner(id: number, created: number, ended: number): EndedRunner {
  const times = { createdAtMs: FROM_MS + created * MINUTE_MS, endedAtMs: FROM_MS + ended * MINUTE_MS };
  return { namespace: 'runners', name: nameFor(id), ...times, cpu: 2, memoryGib: 4 };
}

function usage(
  jobs: readonly EndedJob[],
  runners?: readonly EndedRunner[],
  {
    by = 'group',
    groups = [LINUX],
    priceOf,
    ...more
  }: { by?: Dimension; groups?: (typeof LINUX)[] } & Pick<UsageEvidence, 'priceOf'> & Partial<ScopeHistory> = {},
): Usage {
  const users = new Set(jobs.flatMap(({ ran }) => ran?.runner ?? []));
  const history: ScopeHistory = { jobs, users, hidden: [], workflows: new Map(), isWhole: true, ...more };
  const histories = [{ url: GITEA, scope: LINUX.scope, ...history }];
  return usageOf({ instance: '', groups, histories, runners, period: PERIOD, ...(priceOf && { priceOf }) }, by);
}

const first: Row = { id: 1, runId: 7, times: [0, 0, 10], runner: nameFor(1) };

it.each<[string, readonly Row[], atLeast: number, atMost: number]>([
  ['is known when no other job of its run ended before its start', [{ id: 1, times: [0, 3, 9] }], 180, 180],
  [
    'is at least the time since the last end in its run, which it may have needed',
    [first, { id: 2, runId: 7, times: [0, 12, 20] }],
    120,
    720,
  ],
  [
    'may have begun at the begin of the period when the job was created before',
    [{ id: 1, times: [-30, 5, 9] }],
    300,
    2100,
  ],
  [
    'is nothing at least for a re-run that keeps its row',
    [{ id: 1, times: [0, 50, 59], isRerunInPlace: true }],
    0,
    3000,
  ],
])('the wait of a CI job %s', (_, rows, atLeast, atMost) => {
  const jobs = rows.map((row) => job({ runner: nameFor(row.id), ...row }));

  expect(usage(jobs).total.waitP95).toEqual({ atLeast, atMost });
});

it('a runner without a CI job is needless, and its time counts', () => {
  const { rows } = usage([], [endedRunner(1, 10, 25)]);

  expect(rows).toMatchObject([
    {
      name: 'runners/linux',
      needlessStarts: 1,
      runnerMinutes: { atLeast: 15, isExact: true },
      cpuHours: { atLeast: 0.5 },
    },
  ]);
});

it.each<[string, Parameters<typeof usage>]>([
  ['the history is not whole', [[], [endedRunner(1, 10, 25)], { isWhole: false }]],
  [
    'Gitea has forgotten the runner of a job that started since',
    [[job({ id: 9, times: [8, 11, 20] })], [endedRunner(1, 10, 25)]],
  ],
  [
    'a re-run has taken the row of a job of that time',
    [[], [endedRunner(1, 10, 25)], { hidden: [{ fromMs: FROM_MS, toMs: FROM_MS + 30 * MINUTE_MS }] }],
  ],
])('a runner without a CI job may have had one when %s', (_, scene) => {
  const { total, unmatchedRunners } = usage(...scene);

  expect([total.needlessStarts, unmatchedRunners]).toEqual([0, 1]);
});

it('a runner without a CI job is none when its job still runs, or ended outside of the period', () => {
  const { rows, unmatchedRunners } = usage([], [endedRunner(1, 10, 25)], { users: new Set([nameFor(1)]) });

  expect([rows, unmatchedRunners]).toEqual([[], 0]);
});

const named = job({ id: 1, times: [0, 1, 2], runner: nameFor(1) });

it('the group of a CI job is that of its runner, whatever its labels say', () => {
  expect(usage([{ ...named, labels: ['windows'] }]).rows).toMatchObject([{ name: 'runners/linux', byLabels: 0 }]);
});

it('the group of a CI job is none when another runner ran it', () => {
  const { onOtherRunners, rows } = usage([job({ id: 1, times: [0, 1, 2], runner: 'vm-1' })]);

  expect([rows, onOtherRunners]).toEqual([[], 1]);
});

it('the group of a CI job is the only one that covers it when the name is forgotten', () => {
  expect(usage([job({ id: 1, times: [0, 1, 2] })]).rows).toMatchObject([{ name: 'runners/linux', byLabels: 1 }]);
});

it.each([
  ['several groups cover it', { groups: [LINUX, { ...LINUX, name: 'other' }] }, undefined],
  ['none does', {}, ['windows']],
])('the group of a CI job is not known when the name is forgotten and %s', (_, more, labels) => {
  const { ofUnknownGroup, rows } = usage(
    [job({ id: 1, times: [0, 1, 2], ...(labels && { labels }) })],
    undefined,
    more,
  );

  expect([rows, ofUnknownGroup]).toEqual([[], 1]);
});

it('a row that a re-run has copied counts once', () => {
  const first = job({ id: 1, runId: 5, times: [0, 1, 3], runner: nameFor(1) });
  const copy: EndedJob = { ...first, id: 2, createdAtMs: FROM_MS + 30 * MINUTE_MS };

  expect(usage([first, copy]).total).toMatchObject({ jobs: 1, ciMinutes: 2 });
});

it('sums are at least the CI minutes and needless starts are not known, without sight of Kubernetes', () => {
  const { total } = usage([job({ id: 1, times: [0, 1, 31], runner: nameFor(1) })]);

  expect(total.runnerMinutes).toEqual({ atLeast: 30, isExact: false });
  expect(total).not.toHaveProperty('needlessStarts');
});

describe('what a runner asked for that Kubernetes shows no more', () => {
  const resources = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: {} });
  const SIZED = {
    ...LINUX,
    resources: resources('2', '2Gi'),
    sizes: [
      { name: 'large', weight: 4, resources: resources('8', '16Gi') },
      { name: 'quick', weight: 1, resources: resources('4', '1Gi') },
    ],
  };
  const LARGE = ['linux', 'large'];
  const hour = (id: number, more: Partial<Row> = {}): EndedJob => job({ id, times: [0, 1, 61], ...more });
  const pooled = runnerName('', { ...LINUX, origin: GITEA, templateHash: 'x' } as never, { poolIndex: 1 }, 0);

  it.each<[string, readonly EndedJob[], number, number]>([
    ['of the size that its job names', [hour(1, { runner: nameFor(1), labels: LARGE })], 8, 16],
    ['of the size that a job names whose runner Gitea has forgotten', [hour(1, { labels: LARGE })], 8, 16],
    [
      'of the size that it was made for when it ran another job',
      [hour(1, { runner: nameFor(2) }), job({ id: 2, times: [0, 0, 0], runner: nameFor(1), labels: LARGE })],
      8,
      16,
    ],
    ['of the group when it was made for a job without a size', [hour(1, { runner: nameFor(1) })], 2, 2],
    ['of the group when it is of its pool', [hour(1, { runner: pooled })], 2, 2],
    ['the least of all sizes when nobody knows its size', [hour(1)], 2, 1],
    [
      'the least of all sizes when the job that it was made for is not in the period',
      [hour(1, { runner: nameFor(9) })],
      2,
      1,
    ],
  ])('the request of a runner that Kubernetes no longer shows is %s', (_, jobs, cpu, memoryGib) => {
    const { total } = usage(jobs, undefined, { groups: [SIZED] });

    expect([total.cpuHours.atLeast, total.memoryGibHours.atLeast]).toEqual([cpu, memoryGib]);
  });

  it('the request of a runner that Kubernetes no longer shows is what the podTemplate says of it, of the group and of a size', () => {
    const template = (cpu: string) => ({
      podTemplate: {
        spec: {
          containers: [
            { name: 'runner', resources: { requests: { cpu } } },
            { name: 'db', image: 'postgres:18', resources: { limits: { cpu: '500m' } } },
          ],
        },
      },
    });
    const group = {
      ...LINUX,
      ...template('1'),
      securityProfile: 'privileged' as const,
      sizes: [{ name: 'large', weight: 4, ...template('6') }],
    };
    const jobs = [hour(1, { runner: nameFor(1) }), hour(2, { runner: nameFor(2), labels: LARGE })];

    expect(usage(jobs, undefined, { groups: [group] }).total.cpuHours.atLeast).toBe(1.5 + 6.5);
  });

  it('no runner of one size has the labels of two', () => {
    const { ofUnknownGroup } = usage([hour(1, { labels: [...LARGE, 'quick'] })], undefined, { groups: [SIZED] });

    expect(ofUnknownGroup).toBe(1);
  });

  it('costs what its size costs, of a Job that is seen and of one that is not, and the least when it is not known', () => {
    const priceOf: UsageEvidence['priceOf'] = (_, size) => ({
      runnerHour: size === 'large' ? 5 : size === 'quick' ? 0.25 : 1,
      cpuHour: 0.5,
      memoryGibHour: 0,
    });
    const cost = (jobs: readonly EndedJob[], runners?: readonly EndedRunner[]) =>
      usage(jobs, runners, { groups: [SIZED], priceOf }).total.cost?.atLeast;
    const large = hour(1, { runner: nameFor(1), labels: LARGE });

    expect(cost([large])).toBe(5 + 8 * 0.5);
    expect(cost([large], [{ ...endedRunner(1, 1, 61), cpu: 6, size: 'large' }])).toBe(5 + 6 * 0.5);
    expect(cost([hour(1)])).toBe(1 + 2 * 0.5);
  });
});
