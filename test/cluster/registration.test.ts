/**
 * Tests registration on a real kubelet, with the real runner and a real Gitea, without Argo CD: what a CI job can find
 * of the registration token in each container mode, and what becomes of a registration if Gitea or the pod goes away
 * during it.
 */
import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import type { Gitea } from '../servers/gitea.ts';
import { waitUntil } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { HUNT, hunted } from './hunt.ts';
import { LossyProxy } from './lossy-proxy.ts';
import { DOCKER_MODES, LEVEL, PodsRig, within } from './pods-rig.ts';
import { RUNNER_IMAGE } from './stack/images.ts';

/** A label that looks like a registration token: the hunt must find it, else it would find no token either. */
const CANARY = 'c0ffeeC0FFEEc0ffeeC0FFEEc0ffeeC0FFEEc0ff';

let rig: PodsRig;
let gitea: Gitea;
let token: string;

beforeAll(async () => {
  rig = await PodsRig.start('registration');
  gitea = rig.gitea;
  await rig.addWorkflow('hunt.yml', HUNT);
  await rig.addWorkflow('short.yml', 'true');
  token = await gitea.admin.registrationToken(LEVEL);
  await rig.kubernetes.putSecret('runners', 'bad', { token: 'x'.repeat(40) });
});

closeAfterTests(() => rig);

/** State of the init container: `waiting`, `running` or `terminated`; empty before there is one. */
async function registering(name: string): Promise<string> {
  const state = await rig.ofPod(name, '.status.initContainerStatuses[?(@.name=="register")].state');
  return /^\{"(\w+)"/.exec(state)?.[1] ?? '';
}

/** True if Gitea registers a runner with this token. */
async function registers(candidate: string): Promise<boolean> {
  const response = await fetch(`${gitea.url}/api/actions/runner.v1.RunnerService/Register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'rogue', token: candidate, version: 'x', labels: ['linux'], ephemeral: true }),
  });
  return response.ok;
}

it('a CI job that searches environment, processes, files, mounts and docker would be believed: a token that it found could register a runner', async () => {
  expect(await registers(token)).toBe(true);

  const body = await gitea.admin.call('GET', `${LEVEL}/actions/runners?limit=50`);
  const { runners } = z.object({ runners: z.array(z.object({ id: z.number() })) }).parse(body);
  expect(runners).toHaveLength(1);
  for (const { id } of runners) await gitea.admin.call('DELETE', `${LEVEL}/actions/runners/${id}`);
});

it.each([{ mode: 'host', image: RUNNER_IMAGE }, ...DOCKER_MODES] as const)(
  'a CI job that searches environment, processes, files, mounts and docker finds no token that can register ($mode)',
  async ({ mode, image }) => {
    const printed = await rig.queue('hunt.yml', { mode, image, labels: ['linux:host', `${CANARY}:host`] });

    const { name, log } = await rig.run(printed);

    const { places, candidates, environmentsSeenByDocker } = hunted(log);
    // The hunt searches where the token was, and where the runner's own token is.
    expect(candidates).toContain(CANARY);
    expect(places).toEqual(expect.arrayContaining(['/proc/1/environ', '/data/.runner']));
    expect(environmentsSeenByDocker > 0, log).toBe(mode !== 'host');
    expect(log).not.toContain(token);
    expect(candidates).not.toContain(token);
    const able = await Promise.all(candidates.map(registers));
    expect(candidates.filter((_, index) => able[index])).toEqual([]);
    expect(await rig.logOf(name, 'register')).not.toContain(token);
    expect(await gitea.admin.runnerNames(LEVEL)).toEqual([]);
  },
);

it('a registration waits for a Gitea that is down for more than a minute, and is made once', async () => {
  const { name, manifest } = await rig.queue('short.yml', {});

  await gitea.stop();
  await rig.apply(manifest);
  const said = async (): Promise<string> =>
    (await registering(name)) === 'running' ? await rig.logOf(name, 'register') : '';
  await waitUntil('it tries again', async () => (await said()).includes('Try 1 of 10 to register failed.'), within);
  await gitea.restart();
  await rig.succeeded(name);

  expect(await gitea.admin.runnerNames(LEVEL)).toEqual([]);
  expect((await rig.logOf(name, 'register')).split('Runner registered successfully')).toHaveLength(2);
  expect(await rig.logOf(name, 'runner')).not.toContain('Registering runner');
});

it('a registration that Gitea refuses ends the Job after 10 tries, says so, and leaves no row', async () => {
  const { name, manifest } = await rig.queue('short.yml', { secret: 'bad' });

  await rig.apply(manifest);
  await waitUntil('the Job fails', async () => (await rig.conditions(name)).includes('Failed'), within);

  const log = await rig.logOf(name, 'register');
  expect(log).toContain('runner registration token not found');
  expect(log).toContain('Try 10 of 10 to register failed.');
  expect(log).toContain('Check that this pod reaches Gitea and that the registration token is valid.');
  expect(log).not.toContain('x'.repeat(40));
  expect(await gitea.admin.runnerNames(LEVEL)).toEqual([]);
  // The next runner serves the job.
  await rig.remove(name);
  await rig.run(await rig.generate({}));
});

it('a registration whose pod is deleted ends at once, whatever the grace period, and leaves no row', async () => {
  const { name, manifest } = await rig.queue('short.yml', {});
  await gitea.stop();
  await rig.apply(manifest);
  await waitUntil('the pod registers', async () => (await registering(name)) === 'running', within);

  await rig.remove(name);
  await rig.podGoes(name, 30_000);
  await gitea.restart();

  expect(manifest).toContain('terminationGracePeriodSeconds: 10830');
  expect(await gitea.admin.runnerNames(LEVEL)).toEqual([]);
  await rig.run({ name, manifest });
});

it('a registration whose answer is lost, or comes after its pod, leaves a row that the sweep removes', async () => {
  const proxy = await LossyProxy.start(rig.machine.outside, gitea.url);
  try {
    const { name, manifest } = await rig.queue('short.yml', { url: proxy.url });
    proxy.next = 'hold';
    await rig.apply(manifest);
    await waitUntil('Gitea has registered it', async () => proxy.held > 0, within);
    await rig.remove(name);
    await rig.podGoes(name, 30_000);
    proxy.next = 'lose';
    await rig.run({ name, manifest });

    expect(proxy.lost).toBe(1);
    expect(await gitea.admin.runnerNames(LEVEL)).toEqual([name, name]);
    await rig.ours(['sweep', ...rig.seen, rig.groupFolder({ url: proxy.url })], { GITEA_URL: proxy.url });
    expect(await gitea.admin.runnerNames(LEVEL)).toEqual([]);
  } finally {
    await proxy.close();
  }
});
