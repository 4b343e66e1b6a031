/** Law V21 (docs/spec.md): what `serve` tells of pods that cannot start. */

import { expect, it } from 'vitest';
import { type Rig, startRig, until } from './rig.ts';

const linux = { jobs: [{ key: 'build', runsOn: ['linux'] }] };

/** The pod of the one Job has failed to register. Answers the name of the Job. */
function failRegistration({ cluster }: Rig): string {
  const [job] = cluster.all('jobs');
  if (!job) throw new Error('no Job');
  const { name, uid } = job.metadata as { readonly name: string; readonly uid?: unknown };
  cluster.put('pods', {
    metadata: { name: `${name}-x`, namespace: 'runners', ownerReferences: [{ kind: 'Job', name, uid }] },
    status: { phase: 'Failed', initContainerStatuses: [{ name: 'register', state: { terminated: { exitCode: 1 } } }] },
  });
  return name;
}

it('serve tells of a pod that could not register its runner: by the status, one Event and a metric', async () => {
  const rig = await startRig();
  rig.simulator.gitea.push('acme/web', linux);
  const replica = await rig.start({ pollMs: 20 });
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  const name = failRegistration(rig);
  await until('an Event', () => rig.cluster.all('events').length > 0);
  await until('a status', () => rig.conditions()['PodsStuck'] === 'True RegistrationFailed');

  expect(await replica.metric('gitea_runners_stuck_pods')).toBe(1);
  expect(rig.cluster.all('events')).toEqual([
    expect.objectContaining({
      type: 'Warning',
      reason: 'WorkerPodStartFailed',
      message: `${name}: RegistrationFailed: container register ended with exit code 1`,
      involvedObject: expect.objectContaining({ kind: 'RunnerGroup', namespace: 'runners', name: 'ci' }),
    }),
  ]);
  await replica.end();
  await rig.start();
  const posts = () => rig.cluster.writes.filter((line) => line.endsWith('/events')).length;
  await until('the next leader has told it, too', () => posts() === 2);
  expect(rig.cluster.all('events')).toHaveLength(1);
});

it('serve goes on when it may not write Events, and says what is missing', async () => {
  const rig = await startRig();
  rig.simulator.gitea.push('acme/web', linux);
  rig.cluster.refuse('events');
  const replica = await rig.start({ pollMs: 20 });
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  failRegistration(rig);
  await until('a warning', () => replica.log.some(({ code }) => code === 'GR-CLUSTER-15'));

  await until('a status', () => rig.conditions()['PodsStuck'] === 'True RegistrationFailed');
});
