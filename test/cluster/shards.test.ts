/**
 * One folder printed by several Applications of a real ApplicationSet (docs/scale.md, "Shards"), whose `generate` is given the looks of `serve`
 * (docs/adr/0111). Not in the short set.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { METRICS_PORT } from '../../src/shared/installed/installed-names.ts';
import { groupBy } from '../../src/shared/keys.ts';
import { sleep } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { GROUPS_REPOSITORY } from './install.ts';
import { apply } from './migrate-old.ts';
import { expectAllDone } from './scenarios-load.ts';
import { APPLICATION, Rig, say } from './scenarios-rig.ts';

const LOOKS_PORT = 8083;
const CAP = 8;
const ACCESS_LOG = ['gitea', 'log', 'access.log'];

let rig: Rig;
/** Requests of `generate` to Gitea for a wave of CI jobs, while one Application prints all. */
let askedAlone = 0;

const repository = (): string => `${rig.stack.gitea.url}/${GROUPS_REPOSITORY}.git`;

let changes = 0;

/** The example of the manual with so many shards, of this test's repository. As the manual says, each change has a number of its own. */
async function applyShards(shards: number): Promise<void> {
  changes += 1;
  const text = readFileSync('install/examples/applicationset-shards.yaml', 'utf8');
  const set = parse(text.replace('"{{.shard}}/4"', `"{{.shard}}/${shards}"`));
  set.spec.generators[0].list.elements = Array.from({ length: shards }, (_, shard) => ({ shard: String(shard) }));
  const { source } = set.spec.template.spec;
  source.repoURL = repository();
  source.plugin.env.find(({ name }: { readonly name: string }) => name === 'SHARDS_CHANGED').value = String(changes);
  await apply(rig.stack, set);
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

/** To Gitea's API. */
const REQUESTS = /(\d+\.\d+\.\d+\.\d+) - .*"[A-Z]+ \/api\/v1\//g;

/** Requests to Gitea's API that came from Argo CD's repo-server, where `generate` runs. */
async function askedByGenerate(): Promise<number> {
  const selector = ['-n', 'argocd', '-l', 'app.kubernetes.io/name=argocd-repo-server'];
  const ips = new Set((await rig.field('{.items[*].status.podIP}', 'pods', ...selector)).split(' '));
  const lines = readFileSync(join(rig.stack.playground.folder, ...ACCESS_LOG), 'utf8').matchAll(REQUESTS);
  return [...lines].filter(([, ip = '']) => ips.has(ip)).length;
}

/** What `generate` asks Gitea for while six CI jobs come and end. */
async function askedInWave(): Promise<number> {
  const before = await askedByGenerate();
  await rig.dispatch('busy.yml', 6);
  await expectAllDone(rig, 6);
  return (await askedByGenerate()) - before;
}

beforeAll(async () => {
  rig = await Rig.open(inject('clusterBuilds'), say, {
    GITEA_RUNNERS_LOOKS_LISTEN: `:${LOOKS_PORT}`,
    GITEA_RUNNERS_LOOKS: `http://gitea-runners-looks.argocd.svc:${LOOKS_PORT}`,
  });
  await rig.kubectl('apply', '-f', resolve('install/looks.yaml'));
  await rig.commitGroup({ maxActiveRunners: CAP });
  rig.begin();
  askedAlone = await askedInWave();
  say(`one Application: generate asked Gitea ${askedAlone} times`);
}, 1_800_000);

closeAfterTests(() => rig);

beforeEach(({ task }) => {
  say(task.name);
  rig.begin();
});

describe('shards of one folder', () => {
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
});

it('looks of serve answer generate, so that a wave of six CI jobs costs fewer requests to Gitea than one look', () => {
  expect(askedAlone).toBeLessThan(6);
});
