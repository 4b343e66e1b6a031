/** What a snapshot hands on from the one before: who depends on a list need not look at it again. */
import { describe, expect, test } from 'vitest';
import { type ClusterSnapshot, type LiveRunner, snapshot } from '../../../src/serve/planning/live.ts';
import { TRACKING_ID } from '../../../src/shared/marks.ts';

function live(name: string, group: string, state: 'running' | 'complete' = 'running'): LiveRunner {
  const job = { namespace: 'ci', name, state, createdAtMs: 0 };
  return { job, annotations: { [TRACKING_ID]: `app-${group}:batch/Job:ci/${name}` }, groupName: group };
}

const of = (runners: readonly LiveRunner[], before?: ClusterSnapshot): ClusterSnapshot =>
  snapshot({ groups: [], runners, controlPlaneNamespace: 'argocd', nowMs: 0 }, before);

describe('a new snapshot', () => {
  const [a1, a2, b1] = [live('a1', 'a'), live('a2', 'a'), live('b1', 'b')];
  const before = of([a1, b1, a2]);

  test('has the same lists for groups and Applications whose Jobs are the same', () => {
    const after = of([a1, live('b1', 'b', 'complete'), a2], before);

    expect(before.runnersOfApp.get('argocd/app-a')).toEqual([a1, a2]);
    expect(after.runnersOfGroup.get('ci/a')).toBe(before.runnersOfGroup.get('ci/a'));
    expect(after.runnersOfApp.get('argocd/app-a')).toBe(before.runnersOfApp.get('argocd/app-a'));
  });

  test.each<[string, readonly LiveRunner[]]>([
    ['one has another state', [a1, live('a2', 'a', 'complete'), b1]],
    ['one is gone', [a1, b1]],
    ['one is new', [a1, a2, live('a3', 'a'), b1]],
  ])('has a new list when %s', (_what, all) => {
    const after = of(all, before);

    expect(after.runnersOfGroup.get('ci/a')).toEqual(all.filter(({ groupName }) => groupName === 'a'));
    expect(after.runnersOfApp.get('argocd/app-a')).toEqual(all.filter(({ groupName }) => groupName === 'a'));
    expect(after.runnersOfGroup.get('ci/b')).toBe(before.runnersOfGroup.get('ci/b'));
  });
});
