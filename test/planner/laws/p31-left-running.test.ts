/** Law P31 (docs/spec.md): a CI job that Gitea leaves in progress takes no slot longer than a runner lives. */
import { describe, expect, it } from 'vitest';
import type { Look } from '../../../src/planner/evidence.ts';
import { group, job, live, NOW, named, planScene, running, type Scene } from '../../support/scenario.ts';

const one = group({ maxActiveRunners: 1 });
const left = named(one, 1);
const HOURS = 3_600_000;
/** `activeDeadlineSeconds` of 6 h, 3 h of grace and a margin. */
const LIFE_MS = one.longestRunMs;

const scene = (ageMs: number, { look = {}, ...more }: Scene & { readonly look?: Partial<Look> } = {}) =>
  planScene({
    groups: [one],
    looks: { acme: { jobs: [running(1, left, { startedAtMs: NOW - ageMs }), job(2)], runners: [], ...look } },
    ...more,
  });

describe('P31 a CI job that Gitea leaves in progress', () => {
  it.each<readonly [string, Parameters<typeof scene>[1]]>([
    ['with Gitea alone, whose rows were not read', {}],
    ['with Gitea alone, whose rows were read', { look: { rowsWereRead: true } }],
    ['where Jobs are seen and rows are not', { liveJobs: [] }],
    ['whose Job is being deleted for ever', { liveJobs: [live(left, 'deleting')] }],
  ])('a CI job %s takes its slot for as long as a runner lives, and no longer', (_, more) => {
    expect(scene(LIFE_MS, more).verdicts[2]).toBe('cap');

    const late = scene(24 * HOURS, more);
    expect(late.verdicts).toMatchObject({ 1: 'running', 2: expect.stringContaining('-runner') });
    expect(late.groups).toMatchObject([{ busy: 0, waiting: 1, held: 0 }]);
    // Doubt prints it: a sync of this plan stops nobody.
    expect(late.runners.find(({ runner }) => runner === left)).toMatchObject({
      emit: true,
      because: 'lost',
      isOutlived: true,
      skip: true,
    });
    expect(scene(LIFE_MS + 1, more).verdicts[2]).not.toBe('cap');
  });

  it('a CI job without a begin that can be used takes its slot for a day longer, from its creation on', () => {
    const withoutBegin = (ageMs: number) => {
      const { startedAtMs: _, ...rest } = running(1, left, { createdAtMs: NOW - ageMs });
      return scene(0, { look: { jobs: [rest, job(2)] } }).verdicts[2];
    };

    expect(withoutBegin(24 * HOURS + LIFE_MS)).toBe('cap');
    expect(withoutBegin(24 * HOURS + LIFE_MS + 1)).not.toBe('cap');
  });

  it.each(['starting', 'running', 'unknown'] as const)(
    'a CI job that Gitea leaves in progress keeps its slot while its Job is %s',
    (state) => {
      const seen = scene(24 * HOURS, { liveJobs: [live(left, state, { pinned: true })] });

      expect(seen.verdicts[2]).toBe('cap');
      expect(seen.reasons[left]).toBe('busy');
    },
  );

  it('a CI job that Gitea leaves in progress is told as one that its runner has outlived, not as one of a stranger', () => {
    expect(scene(24 * HOURS, { liveJobs: [], look: { rowsWereRead: true } }).reasons[left]).toBe('lost');
  });

  it('a CI job that Gitea leaves in progress is told only of what has run too long', () => {
    const ended = scene(HOURS, { liveJobs: [live(left, 'failed', { finishedAtMs: NOW - 1_000 })] });

    expect(ended.runners.find(({ runner }) => runner === left)).not.toHaveProperty('isOutlived');
  });
});
