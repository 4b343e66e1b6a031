import { describe, expect, it } from 'vitest';
import { jobAnnotations } from '../../../src/observe/output-of-plan.ts';
import type { LiveState } from '../../../src/planner/evidence.ts';
import { differenceOf, differingByGroup, mayWaitMs } from '../../../src/serve/planning/difference.ts';
import type { LiveRunner } from '../../../src/serve/planning/live.ts';
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

describe('the difference between a plan and the cluster', () => {
  it('is none when each wanted runner has its Job', () => {
    expect(differenceOf([runner()], [live('starting')], NOW)).toEqual(NOTHING);
    expect(differenceOf([runner({ pinned: true })], [live('running', true)], NOW)).toEqual(NOTHING);
  });

  it('names a runner without a Job', () => {
    expect(differenceOf([runner()], [], NOW)).toEqual({ ...NOTHING, missing: [KEY] });
  });

  it('names what it finds in order, and by group', () => {
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

  it('takes a Job of the same name in another namespace for another one', () => {
    const elsewhere = { ...live('running'), job: { ...live('running').job, namespace: 'other' } };

    expect(differenceOf([runner()], [elsewhere], NOW)).toEqual({
      ...NOTHING,
      missing: [KEY],
      surplus: [`other/${NAME}`],
    });
  });

  it('names a busy runner that is not pinned yet, in the first seconds of its job', () => {
    const begun = (agoMs: number) => runner({ pinned: true, job: job({ startedAtMs: NOW - agoMs }) });

    expect(differenceOf([begun(19_999)], [live('running')], NOW)).toEqual({ ...NOTHING, unpinned: [KEY] });
    expect(differenceOf([begun(20_000)], [live('running')], NOW)).toEqual(NOTHING);
  });

  it('names the Job of a runner that stays for a look until it is pinned and says since when', () => {
    const keep = { endedAtMs: NOW - 60_000, untilMs: NOW + 60_000 };
    const stays = runner({ because: 'debugging', pinned: true, keep, job: job({ startedAtMs: 0 }) });
    const told = (over: object, untilMs = keep.untilMs): LiveRunner => ({
      job: { ...live('running', true).job, ...over },
      annotations: present(jobAnnotations({ ...stays, keep: { ...keep, untilMs } })),
    });

    expect(differenceOf([stays], [live('running')], NOW)).toEqual({ ...NOTHING, unpinned: [KEY] });
    expect(differenceOf([stays], [live('running', true)], NOW)).toEqual({ ...NOTHING, unpinned: [KEY] });
    expect(differenceOf([stays], [told({ endedAtMs: keep.endedAtMs })], NOW)).toEqual(NOTHING);
    expect(differenceOf([stays], [told({ endedAtMs: keep.endedAtMs }, 1)], NOW)).toEqual({ ...NOTHING, untidy: [KEY] });
  });

  it('does not miss the Job of a busy runner that Argo CD is to skip', () => {
    const skipped = runner({ pinned: true, skip: true });

    expect(differenceOf([skipped], [], NOW)).toEqual(NOTHING);
    expect(differenceOf([skipped], [live('deleting')], NOW)).toEqual(NOTHING);
  });

  it.each(['starting', 'running', 'unknown'] as const)('names a Job that is %s and wanted by nobody', (state) => {
    expect(differenceOf([], [live(state)], NOW)).toEqual({ ...NOTHING, surplus: [KEY] });
  });

  it.each(['complete', 'failed'] as const)('is in no hurry with a Job that is %s', (state) => {
    expect(differenceOf([], [live(state)], NOW)).toEqual({ ...NOTHING, untidy: [KEY] });
    expect(differenceOf([runner({ pinned: true, job: job({ startedAtMs: NOW }) })], [live(state)], NOW)).toEqual(
      NOTHING,
    );
  });

  it('leaves alone what a prune would leave alone', () => {
    expect(differenceOf([], [live('running', true)], NOW)).toEqual(NOTHING);
    expect(differenceOf([], [live('complete', true)], NOW)).toEqual(NOTHING);
    expect(differenceOf([], [live('deleting')], NOW)).toEqual(NOTHING);
  });

  it('names a Job that is still pinned and shall not be', () => {
    expect(differenceOf([runner()], [live('running', true)], NOW)).toEqual({ ...NOTHING, untidy: [KEY] });
  });

  it('names a Job whose annotations tell of another CI job', () => {
    const other = live('starting', false, { 'gitea.bpg.pw/job-url': 'https://gitea.example.com/other' });

    expect(differenceOf([runner()], [other], NOW)).toEqual({ ...NOTHING, untidy: [KEY] });
  });

  it('does not care that a Job of an older version has no link for Argo CD', () => {
    const linked = runner({ job: job({ url: 'https://gitea.example.com/a' }) });
    const old = live('starting', false, { 'gitea.bpg.pw/job-url': 'https://gitea.example.com/a' });

    expect(differenceOf([linked], [old], NOW)).toEqual(NOTHING);
  });

  it('names what Argo CD still has in its copy of the output although nobody wants it any more', () => {
    const printed = new Set([KEY]);

    expect(differenceOf([], [live('complete', true)], NOW, printed)).toEqual({ ...NOTHING, untidy: [KEY] });
    expect(differenceOf([], [], NOW, printed)).toEqual({ ...NOTHING, untidy: [KEY] });
    expect(differenceOf([], [live('running')], NOW, printed)).toEqual({ ...NOTHING, surplus: [KEY] });
    expect(differenceOf([runner()], [live('starting')], NOW, printed)).toEqual(NOTHING);
  });

  it('does not ask for a runner that the planner dropped', () => {
    const dropped = {
      emit: false,
      runner: NAME,
      group: { namespace: 'runners', name: 'ci' },
      because: 'surplus',
    } as const;

    expect(differenceOf([dropped], [], NOW)).toEqual(NOTHING);
  });
});

describe('patience', () => {
  it('is least for a waiting CI job, and none is needed without a difference', () => {
    const waits = [
      mayWaitMs({ ...NOTHING, missing: ['a'], untidy: ['b'] }),
      mayWaitMs({ ...NOTHING, surplus: ['a'] }),
      mayWaitMs({ ...NOTHING, unpinned: ['a'] }),
      mayWaitMs({ ...NOTHING, untidy: ['a'] }),
    ];

    expect(waits).toEqual([30, 2_000, 3_000, 10_000]);
    expect(mayWaitMs(NOTHING)).toBeUndefined();
  });
});
