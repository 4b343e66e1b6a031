/**
 * `serve --namespaces`: a namespace that refuses, such as a deleted one with all its rights, is left out. The others
 * are served.
 */
import { expect, it } from 'vitest';
import { managedGroup } from './managed-group.ts';
import { startRig, until } from './rig.ts';

const linux = { jobs: [{ key: 'build', runsOn: ['linux'] }] };
const BOTH = { namespaces: ['runners', 'team-b'] };

/** A group of team-b, which is served under its own labels. */
function groupOfTeamB(url: string) {
  const group = managedGroup(url, { labels: ['other:host'] });
  const tracked = { 'argocd.argoproj.io/tracking-id': 'team-b:gitea.bpg.pw/RunnerGroup:team-b/ci' };
  return { ...group, metadata: { ...group.metadata, namespace: 'team-b', annotations: tracked } };
}

it('serve serves the other namespaces while one refuses, and that one again when it does not', async () => {
  const rig = await startRig();
  rig.cluster.put('runnergroups', groupOfTeamB(rig.simulator.url));
  const statusOfTeamB = () =>
    rig.cluster.all('runnergroups').find(({ metadata }) => metadata.namespace === 'team-b')?.['status'];
  const allow = rig.cluster.forbid('team-b');
  const replica = await rig.start(BOTH);
  const isReady = async () => (await fetch(`http://127.0.0.1:${replica.probes}/readyz`)).ok;
  rig.simulator.gitea.push('acme/web', linux);
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  await until('it is ready', isReady);
  expect(statusOfTeamB()).toBeUndefined();
  expect(await replica.metric('gitea_runners_cluster_errors_total')).toBeGreaterThan(0);

  allow();
  await until('a status in team-b', () => statusOfTeamB() !== undefined);

  const groups = () => replica.metric('gitea_runners_runners');
  const all = await groups();
  rig.cluster.forbid('team-b');
  rig.simulator.gitea.push('acme/web', linux);
  await until('another Job', () => rig.cluster.all('jobs').length === 2);
  // Not while it finds out that the namespace refuses.
  await until('it is ready again', isReady);
  expect(all).toBe(1);
});

it('serve is not ready while all namespaces refuse: they may all be full', async () => {
  const rig = await startRig();
  const allow = BOTH.namespaces.map(rig.cluster.forbid);
  const replica = await rig.start(BOTH);
  rig.simulator.gitea.push('acme/web', linux);
  await until('refused', async () => (await replica.metric('gitea_runners_cluster_errors_total')) >= 12);
  expect((await fetch(`http://127.0.0.1:${replica.probes}/readyz`)).status).toBe(503);
  expect(rig.simulator.requests).toEqual([]);

  for (const again of allow) again();
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
});

it('--once does the others and says which one refused', async () => {
  const rig = await startRig();
  rig.cluster.forbid('team-b');
  rig.simulator.gitea.push('acme/web', linux);

  expect(await rig.once(BOTH)).toEqual([
    expect.stringMatching(/^GR-CLUSTER-06 list .* of namespace team-b.*refused \(403\)/),
  ]);
  expect(rig.cluster.all('jobs')).toHaveLength(1);
});
