/** Several Applications that print one folder (docs/adr/0109). Real program, real Gitea simulator, real API server stand-in. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { kubeconfigFor, liveJob, startCluster } from '../clients/kubernetes/through-cli.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';
import { KNOWS_GROUPS, objects, RUNNING, stage as trouble, WAITING } from './trouble-rig.ts';

const OTHER = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata: {a: b}\n';

async function stage() {
  const { env, simulator } = await startAcme();
  const jobs = Array.from({ length: 5 }, (_, nth) => ({ key: `job-${nth}`, runsOn: ['linux'] }));
  simulator.gitea.push('acme/web', { jobs });
  const broken = groupYaml(simulator.url, '', 'broken').replace('spec:', 'spec:\n  nonsense: 1');
  const files = { 'ci.yaml': groupYaml(simulator.url), 'broken.yaml': broken, 'other.yaml': OTHER };
  const folder = folderWith(files);
  const kubeconfig = kubeconfigFor(await startCluster());
  return (more: Readonly<Record<string, string>> = {}, ...args: readonly string[]) =>
    runHere(['generate', '--kubeconfig', kubeconfig, ...args, folder], { ...env, ...KNOWS_GROUPS, ...more });
}

const shardOf = (name: string) => ({ ARGOCD_ENV_GITEA_RUNNERS_SHARD: name });

it('generate of one shard prints its own Jobs, with their label, and the others print the rest', async () => {
  const generate = await stage();
  const [whole, ...parts] = await Promise.all([{}, ...['0/3', '1/3', '2/3'].map(shardOf)].map((env) => generate(env)));
  const jobsIn = ({ stdout = '' } = {}) => objects(stdout).filter(({ kind }) => kind === 'Job');
  const names = (of: ReturnType<typeof jobsIn>) => of.map(({ metadata }) => metadata.name).sort();

  expect(parts.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(names(parts.flatMap(jobsIn))).toEqual(names(jobsIn(whole)));
  expect(jobsIn(whole)).toHaveLength(5);
  for (const [shard, part] of parts.entries())
    for (const job of jobsIn(part))
      expect(job).toMatchObject({ metadata: { labels: { 'gitea.bpg.pw/shard': `${shard}` } } });
  expect(whole?.stdout).not.toContain('gitea.bpg.pw/shard');
});

it('only the first one prints RunnerGroups and other documents, and says how many there are', async () => {
  const generate = await stage();
  const [whole, first, second] = await Promise.all([{}, shardOf('0/2'), shardOf('1/2')].map((env) => generate(env)));
  const others = ({ stdout = '' } = {}) => objects(stdout).filter(({ kind }) => kind !== 'Job');

  expect(others(second)).toEqual([]);
  expect(
    others(first)
      .map(({ kind }) => kind)
      .sort(),
  ).toEqual(['ConfigMap', 'RunnerGroup', 'RunnerGroup']);
  for (const { kind, metadata } of others(first))
    expect(metadata.annotations?.['gitea.bpg.pw/shards']).toBe(kind === 'RunnerGroup' ? '2' : undefined);
  expect(whole?.stdout).not.toContain('gitea.bpg.pw/shards');
});

it('the shard of generate may be told by a flag, which counts first', async () => {
  const generate = await stage();

  expect((await generate(shardOf('1/2'), '--shard', '0/1')).stdout).toContain('kind: "RunnerGroup"');
  expect((await generate({ GITEA_RUNNERS_SHARD: '1/2' })).stdout).not.toContain('kind: "RunnerGroup"');
});

it.each(['1', '2/2', '-1/2', '0/0', '0/101', '01/2', '1/2/3', 'a/b', '1 /2'])(
  'generate of one shard refuses %s',
  async (shard) => {
    const { code, stdout, stderr } = await (await stage())(shardOf(shard));

    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/GR-FLAG-27 read ARGOCD_ENV_GITEA_RUNNERS_SHARD: it must be K\/N.*e\.g\. 2\/7/);
  },
);

it('generate of one shard refuses to be blind', async () => {
  const { code, stdout, stderr } = await (await stage())(shardOf('1/2'), '--cluster', 'off');

  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/GR-FLAG-28 print shard 1\/2: no cluster is looked at.*do not use --cluster off/);
});

it('generate of one shard refuses an Application whose name does not end with its number', async () => {
  const generate = await stage();

  const { code, stdout, stderr } = await generate({ ...shardOf('1/2'), ARGOCD_APP_NAME: 'runners-11' });
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/GR-FLAG-28 print shard 1\/2: the Application is called runners-11\. .* ends with -1/);
  expect(await generate({ ...shardOf('1/2'), ARGOCD_APP_NAME: 'argocd_runners-1' })).toMatchObject({ code: 0 });
});

it('a shard keeps the Jobs of a group that a broken file hides: its object belongs to shard 0', async () => {
  const tracked = { 'argocd.argoproj.io/tracking-id': 'runners-0:gitea.bpg.pw/RunnerGroup:runners/bad' };
  const object = { metadata: { name: 'bad', namespace: 'runners', uid: 'u', annotations: tracked }, spec: {} };
  const [waiting, running] = [WAITING, RUNNING].map((name, shard) => {
    const job = liveJob(name, Date.now()) as { readonly metadata: object };
    return { ...job, metadata: { ...job.metadata, labels: { 'gitea.bpg.pw/shard': String(shard) } } };
  });
  const cluster = { groups: { runners: [object] }, jobs: { runners: [waiting as object, running as object] } };
  const { env, folder } = await trouble({ cluster });
  writeFileSync(join(folder, 'bad.yaml'), '- bad\n');
  const keptBy = async (shard: number) => {
    const told = {
      ...KNOWS_GROUPS,
      ...shardOf(`${shard}/2`),
      ARGOCD_APP_NAME: `runners-${shard}`,
      ARGOCD_APP_NAMESPACE: 'runners',
    };
    const { stdout, stderr } = await runHere(['generate', folder], { ...env, ...told });
    expect(stderr).toContain('left out, and what may be theirs is kept');
    return objects(stdout).flatMap(({ kind, metadata: { name } }) =>
      kind === 'Job' && name.startsWith('bad-') ? name : [],
    );
  };

  expect(await keptBy(0)).toEqual([WAITING]);
  expect(await keptBy(1)).toEqual([RUNNING]);
});
