import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import * as z from 'zod';
import { waitUntil } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { DOCKER_MODES, HAS_COMPOSE, LEVEL, PodsRig, type Wanted, within } from './pods-rig.ts';

const HELLO = 'hello from a service';

let rig: PodsRig;
let image: string;

beforeAll(async () => {
  rig = await PodsRig.start('docker-modes');
  image = await rig.serveCiImage();
  const compose = stringify({
    services: {
      web: { image },
      ask: { image, command: ['sh', '-c', 'until wget -q -O - http://web:8080/; do sleep 1; done'] },
    },
  });
  const up = `cat > compose.yaml <<'EOF'\n${compose}EOF\ndocker compose up --quiet-pull --exit-code-from ask\ndocker compose down`;
  await rig.addWorkflow('compose.yml', up);
  const inContainer = { 'runs-on': 'container', services: { web: { image } } };
  const ask = 'wget -q -O - http://web:8080/';
  const steps = `docker run --rm ${image} echo "from $((40 + 2)) containers"`;
  await rig.addWorkflow('docker.yml', steps);
  await rig.addWorkflow('service.yml', ask, inContainer);
  const long = `echo "the step has begun"; sleep 30; ${ask}`;
  await rig.addWorkflow('long.yml', long, inContainer);
});

closeAfterTests(() => rig);

function wanted(mode: (typeof DOCKER_MODES)[number]): Wanted {
  return { ...mode, labels: ['linux:host', `container:docker://${image}`], seesJobs: true };
}

const Ended = z.object({
  name: z.string(),
  state: z.object({ terminated: z.object({ exitCode: z.number(), finishedAt: z.coerce.date() }) }),
});
const Pod = z.object({
  metadata: z.object({ name: z.string() }),
  status: z.object({ initContainerStatuses: z.array(Ended), containerStatuses: z.array(Ended) }),
});

/** Keeps the Kubernetes object of a pod after its end, so that its state can be read. */
async function hold(pod: string): Promise<void> {
  const patch = [{ op: 'add', path: '/metadata/finalizers/-', value: 'test.example.com/hold' }];
  await rig.kubernetes.kubectl(['patch', '-n', 'runners', pod, '--type=json', '-p', JSON.stringify(patch)]);
}

/** Ends `hold`. */
async function release(pod: string): Promise<void> {
  const patch = ['--type=merge', '-p', '{"metadata":{"finalizers":null}}'];
  await rig.kubernetes.kubectl(['patch', '-n', 'runners', pod, ...patch]);
}

/** Returns when and how the containers of a pod ended. @throws if one has not ended */
async function endsOf(pod: string): Promise<ReadonlyMap<string, z.infer<typeof Ended>['state']['terminated']>> {
  const { status } = Pod.parse(JSON.parse(await rig.kubernetes.kubectl(['get', '-n', 'runners', pod, '-o', 'json'])));
  const all = [...status.initContainerStatuses, ...status.containerStatuses];
  return new Map(all.map(({ name, state }) => [name, state.terminated]));
}

describe.each(DOCKER_MODES)('containerMode $mode', (mode) => {
  it.each([
    ['containers of a step', 'docker.yml', 'from 42 containers'],
    ['a CI job in a container, beside its service', 'service.yml', HELLO],
    // Not `skipIf`: a skipped test fails .ci/run.
    ...(HAS_COMPOSE
      ? [['the containers of a compose file', 'compose.yml', new RegExp(`ask-1 +\\| ${HELLO}`)] as const]
      : []),
  ] as const)('runs %s', async (_, file, said) => {
    const { log } = await rig.run(await rig.queue(file, wanted(mode)));

    expect(log).toMatch(said);
  });

  it.each([
    ['pruned', (name: string) => rig.remove(name)],
    [
      'drained from its node',
      async (name: string) => rig.kubernetes.evict((await rig.podOf(name)).replace('pod/', '')),
    ],
  ] as const)('lets a CI job and its service end when the pod is %s', async (_, stop) => {
    const { name, manifest } = await rig.queue('long.yml', wanted(mode));
    await rig.apply(manifest);
    const job = await rig.openJob();
    await waitUntil('the step runs', async () => (await rig.logOfJob(job)).includes('the step has begun'), within);
    const pod = await rig.podOf(name);
    await hold(pod);

    await stop(name);
    const atStop = await rig.openJob();
    const { conclusion } = await rig.ended(job);
    await waitUntil(
      'the pod ends',
      async () => /Succeeded|Failed/.test(await rig.kubernetes.field('{.status.phase}', '-n', 'runners', pod)),
      within,
    );

    const ends = await endsOf(pod);
    await release(pod);
    await rig.remove(name);
    const log = await rig.logOfJob(job);
    expect(atStop.status).toBe('in_progress');
    expect(conclusion, log).toBe('success');
    expect(log).toContain(HELLO);
    expect(ends.get('runner')?.exitCode).toBe(0);
    if (mode.mode === 'dind') {
      // The sidecar outlives the runner.
      const [docker, runner] = [ends.get('docker'), ends.get('runner')].map((end) => end?.finishedAt.getTime() ?? 0);
      expect(docker).toBeGreaterThanOrEqual(runner ?? Number.POSITIVE_INFINITY);
    }
  });

  it('finds the credentials that serve has registered, in a file that it cannot write, and registers nothing', async () => {
    const [label = ''] = wanted(mode).labels ?? [];
    const spec = { registration: { by: 'serve' }, registrationToken: undefined };
    const { name, manifest } = await rig.queue('docker.yml', { ...wanted(mode), labels: [label], spec });
    await rig.giveCredentials(name, label);

    const { log } = await rig.run({ name, manifest });

    expect(log).toContain('from 42 containers');
    expect(manifest).not.toContain('registration-token');
    expect(await rig.logOf(name, 'runner')).not.toContain('Registering runner');
    expect(await rig.gitea.admin.runnerNames(LEVEL)).not.toContain(name);
  });

  it('ends an idle runner at once, whatever the grace period', async () => {
    const { name, manifest } = await rig.queue('docker.yml', wanted(mode));
    // The runner can take no job.
    await rig.apply(manifest.replaceAll('linux:host', 'other:host'));
    const online = async (): Promise<boolean> =>
      (await rig.logOf(name, 'runner').catch(() => '')).includes('declare successfully');
    await waitUntil('the runner waits for jobs', online, within);

    await rig.remove(name);
    await rig.podGoes(name, 60_000);

    expect(manifest).toContain('terminationGracePeriodSeconds: 10830');
    await rig.run(await rig.generate(wanted(mode)));
    expect(await rig.gitea.admin.jobs(LEVEL, 'queued')).toEqual([]);
  });

  it('ends a runner that is stopped while its container starts', async () => {
    const { name, manifest } = await rig.queue('docker.yml', wanted(mode));
    await rig.apply(manifest.replaceAll('linux:host', 'other:host'));
    const register = '.status.initContainerStatuses[?(@.name=="register")].state.terminated.reason';
    const isRegistered = async (): Promise<boolean> => (await rig.ofPod(name, register)) === 'Completed';
    await waitUntil('it is registered', isRegistered, within);

    await rig.remove(name);
    await rig.podGoes(name, 60_000);

    await rig.run(await rig.generate(wanted(mode)));
  });
});
