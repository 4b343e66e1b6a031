/** Laws V173, V174 and V212 (docs/spec.md): shards are woken one by one, and no stranger is. In virtual time. */
import { expect, it } from 'vitest';
import { type AppState, readApplication } from '../../src/clients/argocd/app-state.ts';
import type { ApplicationRef } from '../../src/clients/argocd/application.ts';
import { NO_DIFFERENCE } from '../../src/serve/seen/difference.ts';
import { SHARDS } from '../../src/shared/marks.ts';
import { keyOf, managedBy, openApplications, PLANNED } from '../support/applications.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const GROUP = { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci' };

/** As Argo CD shows it. @param manages its RunnerGroup */
function shown(name: string, shard: string | undefined, manages: boolean): AppState {
  const plugin = {
    name: 'gitea-runners',
    ...(shard !== undefined && { env: [{ name: 'GITEA_RUNNERS_SHARD', value: shard }] }),
  };
  return readApplication({
    metadata: { name, namespace: 'argocd' },
    spec: { source: { repoURL: 'https://git', plugin } },
    status: { sync: { status: 'OutOfSync' }, resources: manages ? [GROUP] : [] },
  });
}

/** Makes shards 0 to 2. @param over states that differ from good ones */
async function scene(over: Readonly<Record<string, AppState>> = {}) {
  const clock = new VirtualClock();
  const states: Readonly<Record<string, AppState>> = {
    'runners-0': shown('runners-0', '0/3', true),
    'runners-1': shown('runners-1', '1/3', false),
    'runners-2': shown('runners-2', '2/3', false),
    ...over,
  };
  const asked: string[] = [];
  const answer = (step: string) => async (app: ApplicationRef) => {
    if (step !== 'read') asked.push(`${step} ${app.name}`);
    return states[app.name] as AppState;
  };
  const sync = async ({ name }: ApplicationRef) => {
    asked.push(`sync ${name}`);
    return 'started' as const;
  };
  const argocd = { clock, read: answer('read'), refresh: answer('refresh'), sync };
  const { apps } = openApplications(argocd, clock, { names: [] });
  const of = managedBy('runners-0');
  const { metadata } = of.object;
  const object = { metadata: { ...metadata, annotations: { ...metadata.annotations, [SHARDS]: '3' } } };
  const keep = (shards = '3') => {
    const annotations = { ...object.metadata.annotations, [SHARDS]: shards };
    apps.keep(new Map([[keyOf('runners-0'), [{ ...of, object: { metadata: { ...metadata, annotations } } }]]]));
  };
  const forge = () => {
    const forged = managedBy('runners-0', 'team-b', 'evil');
    const annotations = { ...forged.object.metadata.annotations, [SHARDS]: '9' };
    const evil = { ...forged, object: { metadata: { ...forged.object.metadata, annotations } } };
    apps.keep(new Map([[keyOf('runners-0'), [{ ...of, object }, evil]]]));
  };
  const want = async (name: string) => {
    const difference = { ...NO_DIFFERENCE, missing: ['runners/ci-8-1-0123abcd'] };
    apps.follow(keyOf(name), { planning: PLANNED, difference, settled: true });
    await clock.pass(100);
  };
  keep();
  await clock.pass(0);
  return { apps, asked, forge, keep, want };
}

it('no shard is woken but the one whose part differs', async () => {
  const { apps, asked, want } = await scene();
  await want('runners-2');

  expect(asked).toEqual(['refresh runners-2', 'sync runners-2']);
  expect([...apps.wakes.keys()]).toEqual(['runners-0', 'runners-1', 'runners-2'].map(keyOf));
});

it.each([
  ['is not told that it is a shard', shown('runners-2', undefined, false)],
  ['is told that it is another one', shown('runners-2', '2/4', false)],
])('an Application of such a name that %s is left alone', async (_, other) => {
  const { apps, asked, want } = await scene({ 'runners-2': other });
  await want('runners-2');

  expect(asked).toEqual([]);
  expect(apps.wakes.get(keyOf('runners-2'))?.state.last).toEqual({ is: 'foreign' });
});

it('no shard is woken for a RunnerGroup that shard 0 does not manage', async () => {
  const { apps, asked, want } = await scene({ 'runners-0': shown('runners-0', '0/3', false) });
  await want('runners-2');

  expect(asked).toEqual([]);
  expect(apps.wakes.get(keyOf('runners-2'))?.state.last).toEqual({ is: 'foreign' });
});

it('no shard exists because of a group that shard 0 does not print (law V212)', async () => {
  const { apps, forge } = await scene();
  forge();

  expect([...apps.wakes.keys()]).toEqual(['runners-0', 'runners-1', 'runners-2'].map(keyOf));
});

it('a shard that is no more is forgotten', async () => {
  const { apps, asked, keep, want } = await scene();
  keep('2');
  await want('runners-2');

  expect([...apps.wakes.keys()]).toEqual(['runners-0', 'runners-1'].map(keyOf));
  expect(asked).toEqual([]);
});
