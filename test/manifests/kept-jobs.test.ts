/** The Jobs of a group whose spec cannot be used. */
import { expect, test } from 'vitest';
import { keptJob, outputOf } from '../../src/manifests/output.ts';
import type { LiveJob } from '../../src/planner/evidence.ts';
import { runner } from './fixtures.ts';

const KEPT = runner({ because: 'busy', pinned: true, skip: true });
const STAND_IN = { namespace: 'runners', name: 'ci', object: keptJob(KEPT) };
const PLAN = { groups: [], jobs: [], runners: [KEPT] };
const LIVE: LiveJob = { namespace: 'runners', name: KEPT.runner, state: 'running', createdAtMs: 0 };

test('a Job that lives is printed with its own spec, which Kubernetes cannot refuse (law F65)', async () => {
  const spec = { selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'x' } }, template: {} };

  const { kept } = await outputOf(PLAN, [{ ...LIVE, spec }], [], {}, [STAND_IN]);

  expect(kept).toMatchObject([{ kind: 'Job', metadata: { name: KEPT.runner, namespace: 'runners' } }]);
  expect(kept.map((object) => Object(object).spec)).toEqual([spec]);
});

test.each([
  ['was not seen', []],
  ['has the name of ours in another namespace', [{ ...LIVE, namespace: 'other', spec: { selector: {} } }]],
])('a Job that %s is printed suspended', async (_what, live) => {
  const { kept } = await outputOf(PLAN, live, [], {}, [STAND_IN]);

  expect(kept).toMatchObject([{ spec: { suspend: true, template: { spec: { restartPolicy: 'Never' } } } }]);
});
