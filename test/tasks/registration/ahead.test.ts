/** Laws V117, V119 and V122 (docs/spec.md): for how long credentials may wait, where a leader before may have left rows, and whose name is free. */
import { expect, it } from 'vitest';
import type { RunnerDecision } from '../../../src/planner/decisions.ts';
import type { LiveCluster } from '../../../src/serve/cluster/live-cluster.ts';
import type { AppVerdict } from '../../../src/serve/reconcile.ts';
import { registerRunners } from '../../../src/tasks/registration/registering.ts';
import { runner } from '../../manifests/fixtures.ts';
import { until } from '../../serve/rig.ts';
import { fakeGitea, json } from '../../support/gitea-stand-in.ts';
import { targetOf } from '../../support/looking.ts';
import { quietGiteas } from '../../support/quiet-giteas.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { taskContext } from '../../support/task-context.ts';

const NAME = 'ci-4711-1-9c31e0aa';
const AT = 'repo:acme/web';
const BOUND = runnerGroup({ registration: { by: 'serve', for: 'repository' } });
const OBJECT = { metadata: { namespace: 'runners', name: 'ci', uid: 'uid-of-the-group' } };
const REGISTER = '/api/actions/runner.v1.RunnerService/Register';
const MADE = { id: '7', uuid: '2cd3fa0d-0f0c-4a27-9c3c-5b2f6a8f3c55', token: 'x'.repeat(40), ephemeral: true };

/** A leader whose plan wants a runner of `acme/web`. @param answerAfterMs how long Gitea takes to register it */
async function begin(answerAfterMs = 0, cluster: Partial<LiveCluster> = {}) {
  const clock = new SkippingClock();
  const gitea = await fakeGitea({
    intercept: ({ path }, response) => {
      if (path.endsWith('/registration-token')) return json(response, { token: 'a-registration-token' });
      if (path !== REGISTER) return undefined;
      clock.leaveOut(answerAfterMs);
      return json(response, { runner: MADE });
    },
  });
  const { context, told } = taskContext({
    clock,
    cluster,
    giteas: quietGiteas(10_000),
    targetOf: () => new Map([[BOUND, targetOf(gitea.url)]]),
  });
  const hear = registerRunners(10_000)(context);
  const decision = { ...runner(), runner: NAME, registeredAt: AT } as RunnerDecision;
  const planning = { is: 'planned', atMs: 0, plan: { groups: [], jobs: [], runners: [decision] } };
  const groups = [{ live: { key: 'runners/ci', object: OBJECT, group: BOUND }, runners: [], facts: {} }];
  const verdict = { planning, groups, difference: { missing: [`runners/${NAME}`] } } as unknown as AppVerdict;
  const reconcile = (): void => hear({ is: 'reconciled', verdicts: [verdict], skews: new Map() });
  const left = (): readonly string[] => told.flatMap((event) => (event.is === 'row-left' ? event.at : []));
  const registered = () =>
    until('a registration', () =>
      told.some((event) => event.is === 'runner-registration' && event.result === 'registered'),
    );
  const asked = (): number => context.queue.rows().filter(({ of }) => of === 'register').length;
  return { asked, clock, left, reconcile, registered };
}

it('a new leader says for a minute where the one before may have left rows', async () => {
  const { clock, left, reconcile } = await begin();

  reconcile();
  expect(left()).toEqual([AT]);
  clock.leaveOut(59_000);
  reconcile();
  const before = left().length;
  clock.leaveOut(2_000);
  reconcile();

  expect([before, left().length]).toEqual([2, 2]);
});

it.each([
  [40_000, 1],
  [10_000, 0],
])('credentials whose row is %i ms older than the answer are kept for less time', async (answerAfterMs, forgotten) => {
  const { clock, left, reconcile, registered } = await begin(answerAfterMs);
  clock.leaveOut(61_000);
  reconcile();
  await registered();

  clock.leaveOut(30_000);
  reconcile();

  expect(left()).toHaveLength(forgotten);
});

it('no runner is registered while the pod of an earlier Job of its name lives', async () => {
  let lives = true;
  const { asked, reconcile, registered } = await begin(0, { hasOtherPod: () => lives });
  reconcile();
  expect(asked()).toBe(0);

  lives = false;
  reconcile();

  expect(asked()).toBe(1);
  await registered();
});
