/**
 * Tests one folder that several Applications of a real ApplicationSet print (docs/scale.md, "Shards"). Their `generate`
 * gets the looks of `serve` (docs/adr/0111). Not in the short set.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, beforeEach, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { METRICS_PORT } from '../../src/shared/installed/installed-names.ts';
import { groupBy } from '../../src/shared/keys.ts';
import { sleep } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { GROUPS_REPOSITORY } from './install.ts';
import { apply } from './migrate-old.ts';
import { expectAllDone } from './scenarios-load.ts';
import { APPLICATION, GROUP, groupSpec, groupYaml, Rig, say } from './scenarios-rig.ts';
import { applyShardSet, askedByGenerate, LOOKS_SETTINGS } from './shard-set.ts';

const CAP = 8;

let rig: Rig;
/** Requests of `generate` to Gitea for a wave of CI jobs, while one Application prints all. */
let askedAlone = 0;

let changes = 0;

/** Applies the manual's example with so many shards, and waits until Argo CD has all of them. */
async function applyShards(shards: number): Promise<void> {
  changes += 1;
  await applyShardSet(rig.stack, shards, changes);
  const names = Array.from({ length: shards }, (_, shard) => shardName(shard));
  await rig.until('each shard has its Application, and is in sync', async () => {
    const told = await rig.kubectl('get', 'applications', '-n', 'argocd', '-o', `jsonpath=${SHARD_SETTINGS}`);
    return (
      [...rig.world.applications.keys()].sort().join() === names.join() &&
      told === names.map((_, shard) => `${shard}/${shards}\n`).join('') &&
      [...rig.world.applications.values()].every(({ status }) => status?.sync?.status === 'Synced')
    );
  });
}

const SHARD_SETTINGS = '{range .items[*]}{.spec.source.plugin.env[0].value}{"\\n"}{end}';

/** Lets the Application follow another branch, as a person would by hand. */
async function followRevision(targetRevision: string): Promise<void> {
  const change = JSON.stringify({ spec: { source: { targetRevision } } });
  await rig.kubectl('patch', 'application', APPLICATION, '-n', 'argocd', '--type=merge', '-p', change);
}

function cap(): unknown {
  return rig.world.groups.get(GROUP)?.spec?.['maxActiveRunners'];
}

function shardName(shard: number): string {
  return `${APPLICATION}-${shard}`;
}

/** Jobs that were made in this test, by the Application that has applied them last. */
function madeByApplication(): ReadonlyMap<string, readonly string[]> {
  const byApplication = groupBy(rig.world.madeJobs(), ({ application = '' }) => application);
  return new Map([...byApplication].map(([application, jobs]) => [application, jobs.map(({ name }) => name)]));
}

/** Waits until nothing is woken any more. */
async function quietWakes(): Promise<ReadonlyMap<string, number>> {
  let counts = await wakes();
  await rig.until('nothing is woken any more', async () => {
    const before = counts;
    await sleep(5_000);
    counts = await wakes();
    return isDeepStrictEqual(before, counts);
  });
  return counts;
}

/** Wakes of each Application, as the leading `serve` counts them. */
async function wakes(): Promise<ReadonlyMap<string, number>> {
  const pod = `/api/v1/namespaces/argocd/pods/${await rig.leadingPod()}:${METRICS_PORT}/proxy/metrics`;
  const found = (await rig.kubectl('get', '--raw', pod)).matchAll(WAKES);
  const counts = new Map<string, number>();
  for (const [, application = '', count] of found)
    counts.set(application, (counts.get(application) ?? 0) + Number(count));
  return counts;
}

const WAKES = /^gitea_runners_wakes_total\{application="argocd\/([^"]+)"[^}]*\} (\d+)$/gm;

/** Returns the number of requests of `generate` to Gitea while six CI jobs come and end. */
async function askedInWave(): Promise<number> {
  const before = await askedByGenerate(rig.stack);
  await rig.dispatch('busy.yml', 6);
  await expectAllDone(rig, 6);
  return (await askedByGenerate(rig.stack)) - before;
}

beforeAll(async () => {
  rig = await Rig.open(inject('clusterBuilds'), say, LOOKS_SETTINGS);
  await rig.kubectl('apply', '-f', resolve('install/looks.yaml'));
  await rig.commitGroup({ maxActiveRunners: CAP, spawnTimeoutSeconds: 60 });
  rig.begin();
  askedAlone = await askedInWave();
  say(`one Application: generate asked Gitea ${askedAlone} times`);
}, 1_800_000);

closeAfterTests(() => rig);

beforeEach(({ task }) => {
  say(task.name);
  rig.begin();
});

// Argo CD keeps the manifests of a commit for a day, and those of the earlier commit know nothing of today's CI jobs.
it('an Application that is set back to an earlier commit stops runners at work, which end their CI jobs', async () => {
  await rig.commitGroup({ maxActiveRunners: CAP - 1, gracefulStopSeconds: 300 });
  await rig.admin.call('POST', `/repos/${GROUPS_REPOSITORY}/branches`, { new_branch_name: 'earlier' });
  await rig.commitGroup({ maxActiveRunners: CAP });
  await rig.dispatch('long.yml', 6);
  await rig.until('all are at work', () => rig.world.inState('in_progress').length === 6);

  await followRevision('earlier');
  await rig.until('the earlier commit is there', () => cap() === CAP - 1);
  say(`of ${rig.world.madeJobs().length} Jobs Argo CD has left ${rig.world.leftJobs().length}`);

  await expectAllDone(rig, 6);
  await followRevision('main');
  await rig.until('the newest commit is there', () => cap() === CAP);
  await rig.commitGroup({ gracefulStopSeconds: 30 });
});

it('an Application becomes a set of three while a CI job runs, and its runner ends it', async () => {
  await rig.dispatch('long.yml');
  const busy = await rig.busyRunner();

  await rig.stack.argocd.cli('app', 'delete', APPLICATION, '--cascade=false', '--yes');
  await rig.until('it is gone', () => !rig.world.applications.has(APPLICATION));
  await applyShards(3);

  expect(rig.world.inState('in_progress')).toMatchObject([{ runner_name: busy }]);
  await expectAllDone(rig, 1);
  expect(madeByApplication()).toEqual(new Map([[shardName(0), [busy]]]));
});

it('a CI job wakes the shard of its Job, and no other one', async () => {
  const before = await quietWakes();
  await rig.dispatch('single.yml');
  await expectAllDone(rig, 1);
  const after = await quietWakes();

  const woken = [...after].flatMap(([application, count]) =>
    count > (before.get(application) ?? 0) ? application : [],
  );
  expect(woken).toEqual([...madeByApplication().keys()]);
});

it.each([
  [3, 2],
  [2, 3],
])('no runner is lost and none is made twice when %i shards become %i while CI jobs run', async (_, shards) => {
  await rig.dispatch('long.yml', 6);
  await rig.until('all are at work', () => rig.world.inState('in_progress').length === 6);

  await applyShards(shards);
  expect(rig.world.inState('in_progress')).toHaveLength(6);
  await rig.dispatch('single.yml', 6);

  await expectAllDone(rig, 12);
  const made = rig.world.made();
  expect([...new Set(made)]).toEqual(made);
});

it('CI jobs of a shard that is broken are done by the others, and it goes on when it is well', async () => {
  changes += 1;
  await applyShardSet(rig.stack, 3, changes, '1');
  const isBroken = (): boolean =>
    rig.world.applications.get(shardName(1))?.status?.conditions?.some(({ type }) => type === 'ComparisonError') ===
    true;
  await rig.until('shard 1 is broken', isBroken);
  await rig.dispatch('single.yml', 12);
  // A job may fall to it again and again, for a spawn timeout each time.
  await rig.until('all CI jobs end', async () => (await rig.ended()).length === 12, 600_000);

  expect((await rig.ended()).filter(({ conclusion }) => conclusion !== 'success')).toEqual([]);
  expect([...madeByApplication().keys()]).not.toContain(shardName(1));
  await applyShards(3);
  await rig.dispatch('single.yml', 12);
  await expectAllDone(rig, 24);
  expect([...madeByApplication().keys()].sort()).toEqual([shardName(0), shardName(1), shardName(2)]);
});

it('one of two Applications with the same CI jobs makes a runner for each', async () => {
  const others = parse(readFileSync('install/examples/application.yaml', 'utf8'));
  others.metadata.name = 'others';
  others.spec.source.repoURL = `${rig.stack.gitea.url}/ops/others.git`;
  const allowed = [{ op: 'add', path: '/spec/sourceRepos/-', value: others.spec.source.repoURL }];
  await rig.kubectl('patch', 'appproject', 'runners', '-n', 'argocd', '--type=json', '-p', JSON.stringify(allowed));
  const repository = { name: 'others', auto_init: true, default_branch: 'main', private: false };
  await rig.admin.call('POST', '/orgs/ops/repos', repository);
  await rig.admin.putFile('ops/others', 'others.yaml', groupYaml('others', groupSpec(rig.stack.gitea.url)));
  await apply(rig.stack, others);
  await rig.isReady('others');

  for (let run = 0; run < 6; run += 1) {
    await rig.dispatch('single.yml');
    await sleep(4_000);
  }

  await expectAllDone(rig, 6);
  expect(rig.world.made()).toHaveLength(6);
  expect([...madeByApplication().keys()]).toEqual(['others']);
});

// On a busy machine, a generate may ask Gitea itself, because serve has 200 ms to answer.
it('looks of serve answer generate, so that a wave of six CI jobs costs fewer requests to Gitea than two looks', () => {
  expect(askedAlone).toBeLessThan(12);
});
