/**
 * Runners that `serve` registers (docs/registration.md), with everything real. `serve` has the rights of install/runner-credentials.yaml and no
 * others. It does not sweep. With CLUSTER_SCENARIOS=short, without the leaders that are killed and the rows that they leave.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { type ApiJob, type LevelPath, repositoryOf } from '../servers/account.ts';
import { sleep } from '../servers/process.ts';
import { workflow } from '../servers/workflows.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { HUNT, hunted } from './hunt.ts';
import { ORG } from './install.ts';
import { workflowOf } from './pods-rig.ts';
import { expectAllDone } from './scenarios-load.ts';
import { CAP, GROUP, groupSpec, groupYaml, REPOSITORY, Rig, say } from './scenarios-rig.ts';
import { followObjects } from './world-watch.ts';

const OTHER = `${ORG}/api`;
const LEVELS: readonly LevelPath[] = [`/orgs/${ORG}`, `/repos/${REPOSITORY}`, `/repos/${OTHER}`];
const SERVE = 'system:serviceaccount:argocd:gitea-runners';
const KILLS = 3;
const short = process.env['CLUSTER_SCENARIOS'] === 'short';

const Job = z.object({ metadata: z.object({ name: z.string(), annotations: z.record(z.string(), z.string()) }) });
const Secret = z.object({
  metadata: z.object({ name: z.string(), uid: z.string() }),
  type: z.string(),
  data: z.record(z.string(), z.string()).default({}),
});
type Secret = z.infer<typeof Secret>;

let rig: Rig;
/** Registration level of each runner by its Job's annotation. */
const registeredAt = new Map<string, string>();
const watching = new AbortController();
let watch: Promise<void> = Promise.resolve();

beforeAll(async () => {
  rig = await Rig.open(inject('clusterBuilds'), say, {}, ['write:organization', 'write:repository']);
  const { admin, stack } = rig;
  await admin.createRepo('api', ORG);
  const short = workflow({ short: { runsOn: 'linux', seconds: 3 } });
  for (const repository of [REPOSITORY, OTHER]) await admin.addWorkflow(repository, 'short.yml', short);
  await admin.addWorkflow(REPOSITORY, 'hunt.yml', workflowOf('hunt', HUNT));
  watch = followObjects(
    stack.kubernetes.kubeconfig,
    '/apis/batch/v1/namespaces/runners/jobs',
    watching.signal,
    ({ object }) => {
      const { name, annotations } = Job.parse(object).metadata;
      registeredAt.set(name, annotations['gitea.bpg.pw/registered-at'] ?? '');
    },
  );
});

closeAfterTests(() => rig);

afterAll(async () => {
  watching.abort();
  await watch;
});

beforeEach(({ task }) => {
  say(task.name);
  rig.begin();
});

afterEach(async ({ task }) => await rig.saveServeLogs(task.name));

/** Commits the group without a registration token, and waits until the cluster has it. */
async function commitByServe(spec: Readonly<Record<string, unknown>>): Promise<void> {
  const { registrationToken: _, ...rest } = groupSpec(rig.stack.gitea.url);
  const wanted = { ...rest, ...spec };
  await rig.commitFile(`${GROUP}.yaml`, groupYaml(GROUP, wanted));
  await rig.until('the cluster has the new RunnerGroup', () => {
    const live = rig.world.groups.get(GROUP)?.spec ?? {};
    return Object.keys(wanted).sort().join() === Object.keys(live).sort().join();
  });
}

/** The tokens for Gitea's API lie with serve and the sidecar: none of these is of the installation. */
async function secrets(): Promise<readonly Secret[]> {
  const text = await rig.kubectl('get', 'secrets', '-n', 'runners', '-o', 'json');
  return z.object({ items: z.array(Secret) }).parse(JSON.parse(text)).items;
}

async function dispatchBoth(times: number): Promise<void> {
  for (let run = 0; run < times; run += 1)
    for (const repository of [REPOSITORY, OTHER]) await rig.admin.dispatch(repository, 'short.yml');
}

/** Expects that each CI job ran on a runner that was registered at its repository. */
function expectOwnRunners(jobs: readonly ApiJob[]): void {
  const served = jobs.map(({ runner_name: runner = '' }) => registeredAt.get(runner));
  expect(served).toEqual(jobs.map((job) => `repo:${repositoryOf(job)}`));
}

async function noRowIsLeft(): Promise<void> {
  const rows = () => rig.admin.runnerNames('/admin');
  await rig.until('no row is left', async () => (await rows()).length === 0, 300_000);
}

/** Creates a Secret with the rights of serve's own account. @throws with the answer of the API server */
async function createAsServe(secret: object): Promise<string> {
  const base = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'mine', namespace: 'runners' } };
  const text = JSON.stringify({ ...base, ...secret });
  const words = ['create', '--dry-run=server', `--as=${SERVE}`, '-f', '-'];
  return await rig.stack.kubernetes.kubectl(words, text).catch(String);
}

describe('a group whose runners serve registers', () => {
  it('a group whose runners serve registers is what a group becomes while a runner is busy, which finishes', async () => {
    await rig.dispatch('busy.yml');
    const busy = await rig.busyRunner();
    await rig.installation.shell('credentials', 'kubectl apply -f install/runner-credentials.yaml');
    await commitByServe({ registration: { by: 'serve', for: 'repository' } });
    await rig.kubectl('delete', 'secret', '-n', 'runners', 'gitea-runner');
    await rig.admin.dispatch(OTHER, 'short.yml');

    const jobs = await expectAllDone(rig, 2);

    expect(jobs.map(({ runner_name: runner = '' }) => [runner === busy, registeredAt.get(runner)])).toEqual(
      expect.arrayContaining([
        [true, ''],
        [false, `repo:${OTHER}`],
      ]),
    );
  });

  it('a group whose runners serve registers has runners that run jobs of their own repository only, and the Secrets go with them', async () => {
    await dispatchBoth(5);

    const jobs = await expectAllDone(rig, 10);

    expectOwnRunners(jobs);
    expect(rig.world.made()).toHaveLength(10);
    expect(rig.world.mostRunners).toBeLessThanOrEqual(CAP);
    await rig.until('no credentials are left', async () => (await secrets()).length === 0);
    // A runner that was registered ahead, and whose CI job another runner took, is swept.
    await noRowIsLeft();
  });

  it('a group whose runners serve registers has no registration token anywhere in the namespace, nor on the node', async () => {
    const { admin, stack } = rig;
    const tokens = await Promise.all(LEVELS.map((level) => admin.registrationToken(level)));
    await rig.dispatch('hunt.yml');
    const runner = await rig.busyRunner();

    const held = await secrets();
    const values = held.flatMap(({ data }) =>
      Object.values(data).map((value) => Buffer.from(value, 'base64').toString()),
    );
    const kinds = 'secrets,configmaps,jobs,pods,events,runnergroups';
    const objects = await rig.kubectl('get', kinds, '-n', 'runners', '-o', 'json');
    const patterns = stack.machine.write('tokens.txt', `${tokens.join('\n')}\n`);
    const folder = `${stack.machine.folder}/kubernetes`;
    const script = `grep -rlsFf ${patterns} ${folder}/kubelet ${folder}/containerd/state /proc/[0-9]*/environ /proc/[0-9]*/cmdline || true`;
    const found = await stack.machine.run('sh', ['-c', script]);
    const [job] = await expectAllDone(rig, 1);
    const { candidates, places } = hunted(await admin.logOf(job as ApiJob));
    const serve = await stack.podLogs('argocd', 'app.kubernetes.io/name=gitea-runners');

    // The hunt looks where the credentials are.
    expect(held.map(({ type }) => type)).toContain('gitea.bpg.pw/runner');
    expect(places).toContain('/data/.runner');
    expect(found).toBe('');
    for (const token of tokens) {
      expect(values.join('\n')).not.toContain(token);
      expect(objects).not.toContain(token);
      expect(serve).not.toContain(token);
      expect(candidates).not.toContain(token);
    }
    const own = held.find(({ metadata }) => metadata.name === runner)?.data['.runner'] ?? '';
    const { token, uuid } = JSON.parse(Buffer.from(own, 'base64').toString());
    for (const secret of [token, uuid]) {
      expect(serve).not.toContain(secret);
      expect(objects.replaceAll(own, '')).not.toContain(secret);
    }
  });

  it('a group whose runners serve registers gives a Job its credentials again when somebody deletes them before the container starts', async () => {
    const ofJob = async (): Promise<Secret | undefined> => (await secrets()).find(({ data }) => '.runner' in data);
    await rig.whilePodsWait(async () => {
      await rig.dispatch('single.yml');
      await rig.until('the Job has credentials', async () => (await ofJob()) !== undefined);
      const before = await ofJob();

      await rig.kubectl('delete', 'secret', '-n', 'runners', before?.metadata.name ?? '');

      await rig.until(
        'it has others',
        async () => !['', before?.metadata.uid].includes((await ofJob())?.metadata.uid ?? ''),
      );
    });

    expectOwnRunners(await expectAllDone(rig, 1));
  });

  it('lets serve create credentials of a Job, and nothing else', async () => {
    const { kubernetes } = rig.stack;
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'mine', uid: 'x' };
    const metadata = { name: 'mine', namespace: 'runners', ownerReferences: [owner] };
    const good = { metadata, type: 'gitea.bpg.pw/runner', immutable: true, data: { '.runner': 'e30=' } };
    const rights = await Promise.all(
      ['get', 'list', 'watch', 'update', 'patch', 'delete', 'create'].map(async (verb) => {
        const may = await kubernetes.may('gitea-runners', { verb, resource: 'secrets', namespace: 'runners' });
        return may ? [verb] : [];
      }),
    );
    const elsewhere = { verb: 'create', resource: 'secrets', namespace: 'argocd' };

    expect(rights.flat()).toEqual(['create']);
    expect(await kubernetes.may('gitea-runners', elsewhere)).toBe(false);
    expect(await createAsServe(good)).toContain('created');
    expect(await createAsServe({ ...good, type: 'Opaque' })).toContain('of its own type only');
    expect(await createAsServe({ ...good, metadata: { ...metadata, ownerReferences: [] } })).toContain('must own it');
    expect(
      await createAsServe({ ...good, metadata: { ...metadata, ownerReferences: [{ ...owner, name: 'other' }] } }),
    ).toContain('must own it');
    expect(await createAsServe({ ...good, immutable: false })).toContain('must be immutable');
    expect(await createAsServe({ ...good, data: { token: 'e30=' } })).toContain('must be immutable');
    // The controller would fill it with a token of that account.
    const annotations = { 'kubernetes.io/service-account.name': 'default' };
    const token = { type: 'kubernetes.io/service-account-token', immutable: true };
    expect(await createAsServe({ ...token, metadata: { ...metadata, annotations } })).toContain('of its own type only');
  });

  if (short) return;

  it('loses nothing when leaders are killed at any moment while jobs are queued', async () => {
    let killed = '';
    for (let kill = 0; kill < KILLS; kill += 1) {
      // The Lease names a dead leader until it runs out.
      await rig.until('another one leads', async () => !['', killed].includes(await rig.leader()));
      killed = await rig.leader();
      await dispatchBoth(3);
      const afterMs = Math.round(Math.random() * 4_000);
      say(`the leader dies after ${afterMs} ms`);
      await sleep(afterMs);
      await rig.killLeader(`kill ${kill}`);
    }

    expectOwnRunners(await expectAllDone(rig, KILLS * 6));
    expect(rig.world.made()).toHaveLength(KILLS * 6);
  });

  it('a group whose runners serve registers has idle runners when it is for the scope, and they serve any repository', async () => {
    await commitByServe({ registration: { by: 'serve', for: 'scope' }, minIdleRunners: 1 });
    await rig.until('one is idle', async () =>
      (await rig.admin.runners(`/orgs/${ORG}`)).some(({ status }) => status === 'online'),
    );
    await dispatchBoth(2);
    await rig.until('all jobs end', async () => (await rig.ended()).length === 4);
    await commitByServe({ registration: { by: 'serve', for: 'scope' } });

    const jobs = await expectAllDone(rig, 4);

    expect(jobs.map(({ runner_name: runner = '' }) => registeredAt.get(runner))).toEqual(Array(4).fill(`org:${ORG}`));
  });

  it('a group whose runners serve registers leaves no row in Gitea, though serve does not sweep', async () => {
    await noRowIsLeft();
    expect(await secrets()).toEqual([]);
  });
});
