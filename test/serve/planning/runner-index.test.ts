/** What the index of Jobs hands on from the one before: who depends on a list need not look at it again. */
import { describe, expect, test } from 'vitest';
import type { LiveRunner } from '../../../src/serve/planning/live.ts';
import { RunnerIndex } from '../../../src/serve/planning/survey.ts';

function live(name: string, group: string, state: 'running' | 'complete' = 'running'): LiveRunner {
  return { job: { namespace: 'ci', name, state, createdAtMs: 0 }, annotations: {}, groupName: group };
}
const appOf = ({ groupName = '' }: LiveRunner) => `app-${groupName}`;

describe('a new index', () => {
  const [a1, a2, b1] = [live('a1', 'a'), live('a2', 'a'), live('b1', 'b')];
  const before = new RunnerIndex([a1, b1, a2], appOf);

  test('has the same lists for groups and Applications whose Jobs are the same', () => {
    const after = new RunnerIndex([a1, live('b1', 'b', 'complete'), a2], appOf, before);

    expect(after.ofGroup('ci/a')).toBe(before.ofGroup('ci/a'));
    expect(after.ofApp('app-a')).toBe(before.ofApp('app-a'));
  });

  test.each<[string, readonly LiveRunner[]]>([
    ['one has another state', [a1, live('a2', 'a', 'complete'), b1]],
    ['one is gone', [a1, b1]],
    ['one is new', [a1, a2, live('a3', 'a'), b1]],
  ])('has a new list when %s', (_what, all) => {
    const after = new RunnerIndex(all, appOf, before);

    expect(after.ofGroup('ci/a')).toEqual(all.filter(({ groupName }) => groupName === 'a'));
    expect(after.ofApp('app-a')).toEqual(all.filter(({ groupName }) => groupName === 'a'));
    expect(after.ofGroup('ci/b')).toBe(before.ofGroup('ci/b'));
  });

  test('has none for a group without Jobs', () => {
    const after = new RunnerIndex([b1], appOf, before);

    expect([after.ofGroup('ci/a'), after.ofApp('app-a')]).toEqual([[], []]);
  });
});
