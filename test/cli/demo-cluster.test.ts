import { expect, it } from 'vitest';
import { Cluster, type ClusterEvent } from '../../demo/cluster.ts';
import { type WantedJob, wantedJobs } from '../../demo/manifests.ts';
import { Gitea } from '../../simulator/gitea/gitea.ts';

/** A cluster whose only Job has registered and taken the only CI job. */
function busyCluster(): { cluster: Cluster; wanted: WantedJob; events: ClusterEvent['what'][] } {
  const gitea = new Gitea('1.27.3', () => 0);
  gitea.addOrg('acme');
  gitea.addRepo('acme/web');
  gitea.push('acme/web', { jobs: [{ key: 'build' }] });
  const events: ClusterEvent['what'][] = [];
  const cluster = new Cluster(gitea, 'acme', (event) => events.push(event.what));
  const wanted = { name: 'ci-1', group: 'ci', madeFor: 1, labels: ['ubuntu-latest'], pinned: false, skip: false };
  cluster.sync([wanted], 0);
  cluster.step(1000);
  return { cluster, wanted, events };
}

it("the demo's cluster keeps a Job that was pinned by an earlier sync, and lets it end", () => {
  const { cluster, wanted, events } = busyCluster();
  cluster.sync([{ ...wanted, pinned: true }], 1000);

  cluster.sync([], 1000);
  cluster.step(5000);
  cluster.step(9000);

  expect([events, cluster.jobs()]).toEqual([['created', 'took', 'ended', 'expired'], []]);
});

it("the demo's cluster keeps a Job with hook Skip, and creates none", () => {
  const { cluster, wanted, events } = busyCluster();
  const skipped = { ...wanted, skip: true };

  cluster.sync([skipped, { ...skipped, name: 'ci-2' }], 1000);
  cluster.step(5000);
  cluster.step(9000);
  cluster.sync([skipped], 9000);

  expect([events, cluster.created()]).toEqual([['created', 'took', 'ended', 'expired'], 1]);
});

it("the demo's cluster does not run a Job twice while it exists under its name", () => {
  const { cluster, wanted, events } = busyCluster();
  cluster.step(5000);

  cluster.sync([wanted], 5000);

  expect([events, cluster.created()]).toEqual([['created', 'took', 'ended'], 1]);
});

it("the demo's cluster reads Jobs only, removes known schemas from labels and needs no job id", () => {
  const jobs = wantedJobs(`kind: RunnerGroup
---
kind: Job
metadata: {name: ci-0-1, labels: {gitea.bpg.pw/runnergroup-name: ci}}
spec: {template: {spec: {containers: [{name: runner, env: [{name: GITEA_RUNNER_LABELS, value: "a:docker://x:1,b:host,c:odd"}]}]}}}
---
`);

  expect(jobs).toEqual([{ name: 'ci-0-1', group: 'ci', labels: ['a', 'b', 'c:odd'], pinned: false, skip: false }]);
});

it("the demo's cluster refuses a Job without runner labels", () => {
  expect(() => wantedJobs('kind: Job\nmetadata: {name: "x\\e[2J"}')).toThrow('x\\u{1b}[2J');
});
