/** Tests what a snapshot keeps of the last one: readers of an unchanged list need not read it again. */
import { describe, expect, test } from 'vitest';
import { type ClusterSnapshot, type LiveGroup, type LiveRunner, snapshot } from '../../../src/serve/seen/live.ts';
import { INSTALLATION_ID, TRACKING_ID } from '../../../src/shared/marks.ts';

function live(name: string, group: string, state: 'running' | 'complete' = 'running'): LiveRunner {
  const job = { namespace: 'ci', name, state, createdAtMs: 0 };
  return { job, annotations: { [TRACKING_ID]: `app-${group}:batch/Job:ci/${name}` }, groupName: group };
}

const A: LiveGroup = { key: 'ci/a', object: { metadata: { namespace: 'ci', name: 'a', uid: 'a' } } };
const of = (runners: readonly LiveRunner[], before?: ClusterSnapshot, nowMs = 0, groups = [A]): ClusterSnapshot =>
  snapshot({ groups, runners, controlPlaneNamespace: 'argocd', steadyMs: nowMs }, before);

describe('a new snapshot', () => {
  const [a1, a2, b1] = [live('a1', 'a'), live('a2', 'a'), live('b1', 'b')];
  const before = of([a1, b1, a2]);

  test('a new snapshot has the same lists for groups and Applications whose Jobs are the same', () => {
    const after = of([a1, live('b1', 'b', 'complete'), a2], before);

    expect(before.runnersOfApp.get('argocd/app-a')).toEqual([a1, a2]);
    expect(after.runnersOfGroup.get('ci/a')).toBe(before.runnersOfGroup.get('ci/a'));
    expect(after.runnersOfApp.get('argocd/app-a')).toBe(before.runnersOfApp.get('argocd/app-a'));
  });

  test.each<[string, readonly LiveRunner[]]>([
    ['one has another state', [a1, live('a2', 'a', 'complete'), b1]],
    ['one is gone', [a1, b1]],
    ['one is new', [a1, a2, live('a3', 'a'), b1]],
  ])('a new snapshot has a new list when %s', (_what, all) => {
    const after = of(all, before);

    expect(after.runnersOfGroup.get('ci/a')).toEqual(all.filter(({ groupName }) => groupName === 'a'));
    expect(after.runnersOfApp.get('argocd/app-a')).toEqual(all.filter(({ groupName }) => groupName === 'a'));
    expect(after.runnersOfGroup.get('ci/b')).toBe(before.runnersOfGroup.get('ci/b'));
  });

  test('a new snapshot tells of each end once', () => {
    const [old, fresh] = [live('old', 'a', 'complete'), live('fresh', 'a', 'complete')];
    const one = of([old, live('fresh', 'a')], undefined, 1);
    const two = of([old, fresh], one, 2);
    const three = of([fresh, old], two, 3);

    expect([one.ended, two.ended, three.ended]).toEqual([[old], [fresh], []]);
    expect(three.lastEndMs).toEqual(new Map([['ci/a', 2]]));
    // It forgets the ends of deleted groups.
    expect(of([], three, 4, []).lastEndMs.size).toBe(0);
  });
});

test('Applications of one name of two Argo CDs are two, where these have ids', () => {
  const marks = (kind: string, name: string, id?: string) => ({
    [TRACKING_ID]: `runners:${kind}:ci/${name}`,
    ...(id !== undefined && { [INSTALLATION_ID]: id }),
  });
  const group = (name: string, id?: string): LiveGroup => {
    const metadata = { namespace: 'ci', name, uid: name, annotations: marks('gitea.bpg.pw/RunnerGroup', name, id) };
    return { key: `ci/${name}`, object: { metadata } };
  };
  const runner = (name: string, id?: string) => ({ ...live(name, 'a'), annotations: marks('batch/Job', name, id) });
  const groups = [group('a', 'one'), group('b', 'two'), group('c'), group('d', `\u202e${'x'.repeat(200)}`)];
  const seen = of([runner('a1', 'one'), runner('b1', 'two'), runner('c1')], undefined, 0, groups);
  const names = (found: ReadonlyMap<string, readonly { readonly key?: string; readonly job?: { name: string } }[]>) =>
    [...found].map(([key, each]) => [key, each.map(({ key: own, job }) => own ?? job?.name)]);

  expect(names(seen.byApp)).toEqual([
    ['argocd/runners@one', ['ci/a']],
    ['argocd/runners@two', ['ci/b']],
    ['argocd/runners', ['ci/c']],
    [`argocd/runners@\\u{202e}${'x'.repeat(99)}`, ['ci/d']],
  ]);
  expect(names(seen.runnersOfApp)).toEqual([
    ['argocd/runners@one', ['a1']],
    ['argocd/runners@two', ['b1']],
    ['argocd/runners', ['c1']],
  ]);
});
