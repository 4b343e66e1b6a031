/** A RunnerGroup that is suspended by an annotation in the cluster (ADR 68). Real program, real Gitea simulator, real API server stand-in. */
import { expect, it } from 'vitest';
import { kubeconfigFor, newRunnerIn, startCluster } from '../clients/kubernetes/through-cli.ts';
import type { Cluster } from '../support/api-server.ts';
import { answering } from '../support/kube-objects.ts';
import { runHere } from '../support/run-cli.ts';
import { startWithJob } from '../support/start-acme.ts';

/** A cluster in which `gitea.bpg.pw/suspended` of group `ci` has this text. Undefined: no annotation. */
function inCluster(text: string | undefined): Cluster {
  const annotations = text === undefined ? {} : { 'gitea.bpg.pw/suspended': text };
  return { groups: { runners: [{ metadata: { name: 'ci', namespace: 'runners', uid: 'u', annotations } }] } };
}

async function stage(cluster: Cluster) {
  const { env, folder } = await startWithJob();
  const kubeconfig = kubeconfigFor(await startCluster(cluster));
  return (command: 'generate' | 'explain', ...args: readonly string[]) =>
    runHere([command, '--kubeconfig', kubeconfig, folder, ...args], env);
}

it.each(['since noon', ''])('a group gets no new runner, suspended by "%s"', async (text) => {
  const { code, stdout, stderr } = await (await stage(inCluster(text)))('generate');

  const held = expect.stringContaining('1 held back by the suspension of runners/ci');
  expect({ code, stderr }).toEqual({ code: 0, stderr: held });
  expect(newRunnerIn(stdout)).toBe('');
});

it.each([
  ['the annotation is not there', inCluster(undefined)],
  ['the cluster does not know RunnerGroups', {}],
])('a group gets a runner when %s', async (_, cluster) => {
  const { code, stdout, stderr } = await (await stage(cluster))('generate');

  expect({ code, warned: stderr.includes('warning') }).toEqual({ code: 0, warned: false });
  expect(newRunnerIn(stdout)).toMatch(/^ci-/);
});

it('a group gets a runner, with a warning, where RunnerGroups may not be read', async () => {
  const { code, stdout, stderr } = await (await stage({ override: answering({ '/runnergroups': 403 }) }))('generate');

  expect(code).toBe(0);
  expect(newRunnerIn(stdout)).toMatch(/^ci-/);
  expect(stderr).toContain('warning: GR-CLUSTER-06 ');
  expect(stderr).toContain('Groups that are suspended in the cluster get runners.');
});

it('generate fails when nobody knows whether a group is suspended', async () => {
  const { code, stdout } = await (await stage({ override: answering({ '/runnergroups': 500 }) }))('generate');

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
});

it('explain says since when a group is suspended, and how to end it', async () => {
  const explain = await stage(inCluster('since noon, by Alice'));

  const { stdout: table } = await explain('explain');
  const { stdout: answer } = await explain('explain', 'runners/ci');
  const { stdout: json } = await explain('explain', '-o', 'json');

  expect(table).toContain('held back: group runners/ci is suspended');
  expect(answer.replaceAll(/\s+/g, ' ')).toContain(
    '(since noon, by Alice): the action resume in Argo CD, or kubectl -n runners annotate runnergroup ci gitea.bpg.pw/suspended-',
  );
  expect(JSON.parse(json).groups).toMatchObject([{ suspended: true, suspension: 'since noon, by Alice' }]);
});

it('explain prints a hostile text of a suspension as one short line', async () => {
  const explain = await stage(inCluster(`\u001b[2J\u202e\n${'x'.repeat(300_000)}`));

  const { stdout } = await explain('explain', 'runners/ci');

  expect(stdout).not.toContain('\u001b[2J');
  expect(stdout).not.toContain('\u202e');
  expect(stdout.length).toBeLessThan(3_000);
});
