import { describe, expect, it } from 'vitest';
import { jobAnnotations, present } from '../../src/charts/labels.ts';
import type { LiveState } from '../../src/plan/evidence.ts';
import { differenceOf, type LiveRunner, patienceMs, printedKeys } from '../../src/serve/difference.ts';
import { runner } from '../charts/fixtures.ts';

const NAME = 'ci-4711-1-9c31e0aa';
const KEY = `runners/${NAME}`;
const NOTHING = { missing: [], unpinned: [], surplus: [], untidy: [] };

function live(state: LiveState, pinned = false, more: Readonly<Record<string, string>> = {}): LiveRunner {
  return {
    job: { namespace: 'runners', name: NAME, state, createdAtMs: 0, pinned },
    annotations: { ...present(jobAnnotations(pinned, runner().job)), 'argocd.argoproj.io/tracking-id': 'x', ...more },
  };
}

describe('the difference between a plan and the cluster', () => {
  it('is none when each wanted runner has its Job', () => {
    expect(differenceOf([runner()], [live('starting')])).toEqual(NOTHING);
    expect(differenceOf([runner({ pinned: true })], [live('running', true)])).toEqual(NOTHING);
  });

  it('names a runner without a Job', () => {
    expect(differenceOf([runner()], [])).toEqual({ ...NOTHING, missing: [KEY] });
  });

  it('takes a Job of the same name in another namespace for another one', () => {
    const elsewhere = { ...live('running'), job: { ...live('running').job, namespace: 'other' } };

    expect(differenceOf([runner()], [elsewhere])).toEqual({ ...NOTHING, missing: [KEY], surplus: [`other/${NAME}`] });
  });

  it('names a busy runner that is not pinned yet', () => {
    expect(differenceOf([runner({ pinned: true })], [live('running')])).toEqual({ ...NOTHING, unpinned: [KEY] });
  });

  it.each(['starting', 'running', 'unknown'] as const)('names a Job that is %s and wanted by nobody', (state) => {
    expect(differenceOf([], [live(state)])).toEqual({ ...NOTHING, surplus: [KEY] });
  });

  it.each(['complete', 'failed'] as const)('is in no hurry with a Job that is %s', (state) => {
    expect(differenceOf([], [live(state)])).toEqual({ ...NOTHING, untidy: [KEY] });
    expect(differenceOf([runner({ pinned: true })], [live(state)])).toEqual(NOTHING);
  });

  it('leaves alone what a prune would leave alone', () => {
    expect(differenceOf([], [live('running', true)])).toEqual(NOTHING);
    expect(differenceOf([], [live('complete', true)])).toEqual(NOTHING);
    expect(differenceOf([], [live('deleting')])).toEqual(NOTHING);
  });

  it('names a Job that is still pinned and shall not be', () => {
    expect(differenceOf([runner()], [live('running', true)])).toEqual({ ...NOTHING, untidy: [KEY] });
  });

  it('names a Job whose annotations tell of another CI job', () => {
    const other = live('starting', false, { 'gitea.bpg.pw/job-url': 'https://gitea.example.com/other' });

    expect(differenceOf([runner()], [other])).toEqual({ ...NOTHING, untidy: [KEY] });
  });

  it('names what Argo CD still has in its copy of the output although nobody wants it any more', () => {
    const printed = printedKeys([runner()]);

    expect([...printed]).toEqual([KEY]);
    expect(differenceOf([], [live('complete', true)], printed)).toEqual({ ...NOTHING, untidy: [KEY] });
    expect(differenceOf([], [], printed)).toEqual({ ...NOTHING, untidy: [KEY] });
    expect(differenceOf([], [live('running')], printed)).toEqual({ ...NOTHING, surplus: [KEY] });
    expect(differenceOf([runner()], [live('starting')], printed)).toEqual(NOTHING);
  });

  it('does not ask for a runner that the planner dropped', () => {
    const dropped = {
      emit: false,
      runner: NAME,
      group: { namespace: 'runners', name: 'ci' },
      because: 'surplus',
    } as const;

    expect(differenceOf([dropped], [])).toEqual(NOTHING);
  });
});

describe('patience', () => {
  it('is least for a waiting CI job, and none is needed without a difference', () => {
    const waits = [
      patienceMs({ ...NOTHING, missing: ['a'], untidy: ['b'] }),
      patienceMs({ ...NOTHING, surplus: ['a'] }),
      patienceMs({ ...NOTHING, unpinned: ['a'] }),
      patienceMs({ ...NOTHING, untidy: ['a'] }),
    ];

    expect(waits).toEqual([...waits].sort((a, b) => (a ?? 0) - (b ?? 0)));
    expect(new Set(waits).size).toBe(4);
    expect(patienceMs(NOTHING)).toBeUndefined();
  });
});
