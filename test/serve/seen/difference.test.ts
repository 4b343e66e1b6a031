import { describe, expect, it } from 'vitest';
import { jobAnnotations } from '../../../src/plan/output-of-plan.ts';
import type { RunnerDecision } from '../../../src/planner/decisions.ts';
import type { LiveState } from '../../../src/planner/evidence.ts';
import { type Difference, differenceOf, differingByGroup, mayWaitMs } from '../../../src/serve/seen/difference.ts';
import type { LiveRunner } from '../../../src/serve/seen/live.ts';
import { present } from '../../../src/shared/marks.ts';
import { job, runner } from '../../manifests/fixtures.ts';

const NAME = 'ci-4711-1-9c31e0aa';
const KEY = `runners/${NAME}`;
/** Far from the begin of any CI job but those that say so. */
const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);
const NOTHING = { missing: [], unpinned: [], surplus: [], untidy: [] };

function live(state: LiveState, pinned = false, more: Readonly<Record<string, string>> = {}): LiveRunner {
  return {
    job: { namespace: 'runners', name: NAME, state, createdAtMs: 0, pinned },
    annotations: { ...present(jobAnnotations(runner({ pinned }))), 'argocd.argoproj.io/tracking-id': 'x', ...more },
  };
}

function stopped(pinned: boolean): LiveRunner {
  const { job: of, ...rest } = live('failed', pinned);
  return { ...rest, job: { ...of, isStopped: true } };
}

const begun = (agoMs: number) => runner({ pinned: true, job: job({ startedAtMs: NOW - agoMs }) });
const keep = { endedAtMs: NOW - 60_000, untilMs: NOW + 60_000 };
const stays = runner({ because: 'debugging', pinned: true, keep, job: job({ startedAtMs: 0 }) });
/** The Job of the runner, with its stay. */
const told = (untilMs = keep.untilMs): LiveRunner => ({
  job: { ...live('running', true).job, endedAtMs: keep.endedAtMs },
  annotations: present(jobAnnotations({ ...stays, keep: { ...keep, untilMs } })),
});
const URL = 'https://gitea.example.com/a';
const JOB_URL = 'gitea.bpg.pw/job-url';
const skipped = runner({ pinned: true, skip: true });
const dropped = { emit: false, runner: NAME, group: { namespace: 'runners', name: 'ci' }, because: 'surplus' } as const;

type Row = readonly [
  what: string,
  wanted: readonly RunnerDecision[],
  jobs: readonly LiveRunner[],
  differs: Partial<Difference>,
  printed?: ReadonlySet<string>,
];
const ROWS: readonly Row[] = [
  ['a runner that has its Job', [runner()], [live('starting')], {}],
  ['a busy one that has its Job', [runner({ pinned: true })], [live('running', true)], {}],
  ['a runner without a Job', [runner()], [], { missing: [KEY] }],
  ['a runner that the planner dropped', [dropped], [], {}],
  ['a busy runner that is not pinned in the first seconds', [begun(19_999)], [live('running')], { unpinned: [KEY] }],
  ['a busy runner that is not pinned later', [begun(20_000)], [live('running')], {}],
  ['one that stays for a look and is not pinned', [stays], [live('running')], { unpinned: [KEY] }],
  ['one that stays and does not say since when', [stays], [live('running', true)], { unpinned: [KEY] }],
  ['one that stays and says since when', [stays], [told()], {}],
  ['one that stays and says another end', [stays], [told(1)], { untidy: [KEY] }],
  ['a busy one without a Job that Argo CD is to skip', [skipped], [], {}],
  ['a busy one whose Job goes, and that Argo CD is to skip', [skipped], [live('deleting')], {}],
  ['a busy one whose Job is complete', [begun(0)], [live('complete')], {}],
  ['a busy one whose Job has failed', [begun(0)], [live('failed')], {}],
  ['a starting Job that nobody wants', [], [live('starting')], { surplus: [KEY] }],
  ['a running Job that nobody wants', [], [live('running')], { surplus: [KEY] }],
  ['an unknown Job that nobody wants', [], [live('unknown')], { surplus: [KEY] }],
  ['a complete Job that nobody wants', [], [live('complete')], { untidy: [KEY] }],
  ['a failed Job that nobody wants', [], [live('failed')], { untidy: [KEY] }],
  ['a pinned Job, which a prune leaves alone', [], [live('running', true)], {}],
  ['a complete pinned Job, which a prune leaves alone', [], [live('complete', true)], {}],
  ['a Job that is being deleted', [], [live('deleting')], {}],
  // It may start again (law P51).
  ['a Job that Kueue has stopped and that nobody wants', [], [stopped(false)], { surplus: [KEY] }],
  ['one that is still pinned', [runner({ because: 'unpinning' })], [stopped(true)], { untidy: [KEY] }],
  ['a Job that is still pinned and shall not be', [runner()], [live('running', true)], { untidy: [KEY] }],
  ['a Job that tells of another CI job', [runner()], [live('starting', false, { [JOB_URL]: URL })], { untidy: [KEY] }],
  [
    'a Job of an older version, which has no link for Argo CD',
    [runner({ job: job({ url: URL }) })],
    [live('starting', false, { [JOB_URL]: URL })],
    {},
  ],
  ['an ended Job that is printed', [], [live('complete', true)], { untidy: [KEY] }, new Set([KEY])],
  ['a name that is printed and that nobody has', [], [], { untidy: [KEY] }, new Set([KEY])],
  ['a running Job that is printed and not wanted', [], [live('running')], { surplus: [KEY] }, new Set([KEY])],
  ['a runner that is printed and has its Job', [runner()], [live('starting')], {}, new Set([KEY])],
];

describe('the difference between a plan and the cluster', () => {
  for (const [what, wanted, jobs, differs, printed] of ROWS)
    it(`the difference between a plan and the cluster is right about ${what}`, () => {
      expect(differenceOf(wanted, jobs, NOW, printed)).toEqual({ ...NOTHING, ...differs });
    });

  it('the difference between a plan and the cluster names what it finds in order, and by group', () => {
    const first = { ...runner(), runner: 'ci-1-1-0123abcd' };
    const found = differenceOf([runner(), first], [], NOW);

    expect(found).toEqual({ ...NOTHING, missing: ['runners/ci-1-1-0123abcd', KEY] });
    expect([...differingByGroup({ ...NOTHING, missing: [KEY, 'gone/by-now'] }, [runner()], [])]).toEqual([
      ['runners/ci', [KEY]],
    ]);
    expect([...differingByGroup({ ...NOTHING, missing: ['runners/ci-1-1-0123abcd'] }, [first], []).values()]).toEqual([
      ['runners/ci-1-1-0123abcd'],
    ]);
  });

  it('the difference between a plan and the cluster takes a Job of the same name in another namespace for another one', () => {
    const elsewhere = { ...live('running'), job: { ...live('running').job, namespace: 'other' } };

    expect(differenceOf([runner()], [elsewhere], NOW)).toEqual({
      ...NOTHING,
      missing: [KEY],
      surplus: [`other/${NAME}`],
    });
  });
});

it('patience is least for a waiting CI job, and none is needed without a difference', () => {
  const waits = [
    mayWaitMs({ ...NOTHING, missing: ['a'], untidy: ['b'] }),
    mayWaitMs({ ...NOTHING, surplus: ['a'] }),
    mayWaitMs({ ...NOTHING, unpinned: ['a'] }),
    mayWaitMs({ ...NOTHING, untidy: ['a'] }),
  ];

  expect(waits).toEqual([30, 2_000, 3_000, 10_000]);
  expect(mayWaitMs(NOTHING)).toBeUndefined();
});
