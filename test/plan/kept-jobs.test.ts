/** The Jobs of a group whose spec cannot be used. */
import { expect, test } from 'vitest';
import { outputOf } from '../../src/plan/output-of-plan.ts';
import type { LiveJob } from '../../src/planner/evidence.ts';
import { runner } from '../manifests/fixtures.ts';

const KEPT = runner({ because: 'busy', pinned: true, skip: true });
const BROKEN = {
  namespace: 'runners',
  name: 'ci',
  place: { file: 'ci.yaml', line: 1, column: 1 },
  labels: undefined,
  annotations: undefined,
  problems: [],
};
const LIVE: LiveJob = { namespace: 'runners', name: KEPT.runner, state: 'running', createdAtMs: 0 };

function keptWith(jobs: readonly LiveJob[]) {
  const cluster = { is: 'seen', jobs, pods: new Map(), listedAtMs: 0 } as const;
  const evidence = { instance: '', looks: new Map(), cluster, nowMs: 0 };
  const plan = { groups: [], jobs: [], runners: [KEPT] };
  return outputOf(
    { plan, seen: { groups: [], evidence, suspended: new Map() }, broken: [BROKEN] },
    { others: [], env: {} },
  ).kept;
}

test('a Job that lives is printed with its own spec, which Kubernetes cannot refuse (law F65)', () => {
  const spec = { selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'x' } }, template: {} };

  const kept = keptWith([{ ...LIVE, spec }]);

  expect(kept).toMatchObject([{ kind: 'Job', metadata: { name: KEPT.runner, namespace: 'runners' } }]);
  expect(kept.map((object) => Object(object).spec)).toEqual([spec]);
});

test.each([
  ['was not seen', []],
  ['has the name of ours in another namespace', [{ ...LIVE, namespace: 'other', spec: { selector: {} } }]],
])('a Job that %s is printed suspended', (_what, live) => {
  const kept = keptWith(live);

  expect(kept).toMatchObject([{ spec: { suspend: true, template: { spec: { restartPolicy: 'Never' } } } }]);
});
