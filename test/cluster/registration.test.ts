/**
 * Registration on a real kubelet, with the real runner and a real Gitea, without Argo CD: what a CI job can find of the registration
 * token in each container mode, and what becomes of a registration when Gitea or the pod goes away in the middle of it.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import * as z from 'zod';
import type { ContainerMode } from '../../src/runnergroup/runner-group.ts';
import type { ApiJob } from '../servers/account.ts';
import { type Gitea, startGitea } from '../servers/gitea.ts';
import { Playground, waitUntil } from '../servers/process.ts';
import { HUNT, hunted } from './hunt.ts';
import { LossyProxy } from './lossy-proxy.ts';
import {
  ROOTLESS_IMAGE,
  RUNNER_WITH_CLIENT_IMAGE,
  rootlessImage,
  runnerWithClientImage,
  sidecarImage,
} from './stack/docker-images.ts';
import { PAUSE_IMAGE, pauseImage, RUNNER_IMAGE, runnerImage } from './stack/images.ts';
import { type Kubernetes, startKubernetes } from './stack/kubernetes.ts';
import { collectLogs } from './stack/logs.ts';
import { Machine, needPackages } from './stack/machine.ts';

const ORG = 'acme';
const REPOSITORY = `${ORG}/web`;
const LEVEL = `/orgs/${ORG}` as const;
/** A label that looks like a registration token: the hunt must find it, else it would find no token either. */
const CANARY = 'c0ffeeC0FFEEc0ffeeC0FFEEc0ffeeC0FFEEc0ff';
const within = { timeoutMs: 240_000 };

let playground: Playground;
let machine: Machine;
let kubernetes: Kubernetes;
let gitea: Gitea;
let token: string;
let passed = true;

beforeAll(async () => {
  needPackages();
  const builds = inject('clusterBuilds');
  playground = new Playground('registration');
  const images = join(playground.folder, 'images');
  for (const large of [images, join(playground.folder, 'kubernetes')]) playground.removeAtEnd(large);
  mkdirSync(images);
  machine = await Machine.start(playground);
  kubernetes = await startKubernetes(machine, builds.kubernetes);
  await kubernetes.startNode();
  const writers = {
    [PAUSE_IMAGE]: pauseImage,
    [RUNNER_IMAGE]: (out: string) => runnerImage(out, builds.runner),
    [RUNNER_WITH_CLIENT_IMAGE]: (out: string) => runnerWithClientImage(out, builds.runner),
    [ROOTLESS_IMAGE]: (out: string) => rootlessImage(out, builds.runner),
    sidecar: sidecarImage,
  };
  for (const [name, write] of Object.entries(writers)) {
    const tar = join(images, `${name.replaceAll(/\W/g, '-')}.tar`);
    await write(tar);
    await kubernetes.importImage(tar);
    rmSync(tar);
  }
  gitea = await startGitea('1.27.3', builds.gitea, playground, { address: machine.outside });
  const { admin } = gitea;
  await admin.createOrg(ORG);
  await admin.createRepo('web', ORG);
  await admin.addWorkflow(REPOSITORY, 'hunt.yml', workflowOf('hunt', HUNT));
  await admin.addWorkflow(REPOSITORY, 'short.yml', workflowOf('short', 'true'));
  token = await admin.registrationToken(LEVEL);
  await kubernetes.kubectl(['create', 'namespace', 'runners']);
  await secret('good', token);
  await secret('bad', 'x'.repeat(40));
});

afterEach(({ task }) => {
  passed &&= task.result?.state !== 'fail';
});

afterAll(async () => {
  if (!passed) process.stdout.write(`${await collectLogs(machine, kubernetes)}\nlogs: ${playground.folder}\n`);
  await machine?.close();
  await playground?.close(!passed);
});

function workflowOf(name: string, script: string): string {
  return stringify({
    on: 'workflow_dispatch',
    jobs: { [name]: { 'runs-on': 'linux', steps: [{ shell: 'sh', run: script }] } },
  });
}

async function secret(name: string, value: string): Promise<void> {
  const text = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'runners' },
    stringData: { token: value },
  };
  await kubernetes.kubectl(['apply', '-f', '-'], JSON.stringify(text));
}

interface Wanted {
  readonly mode?: ContainerMode;
  readonly image?: string;
  /** Name of the Secret. */
  readonly secret?: string;
  /** As the runner reaches Gitea. */
  readonly url?: string;
}

/** The folder with the one RunnerGroup. */
function groupFolder({ mode = 'host', image = RUNNER_IMAGE, secret: name = 'good', url = gitea.url }: Wanted): string {
  const folder = playground.makeFolder('groups');
  const group = {
    apiVersion: 'gitea.bpg.pw/v1alpha1',
    kind: 'RunnerGroup',
    metadata: { name: 'ci', namespace: 'runners' },
    spec: {
      scope: 'org',
      org: ORG,
      gitea: { url },
      labels: ['linux:host', `${CANARY}:host`],
      defaultLabels: false,
      containerMode: mode,
      image,
      maxActiveRunners: 1,
      registrationToken: { secretRef: { name, key: 'token' } },
      authToken: { secretRef: { name: 'not-mounted', key: 'token' } },
    },
  };
  writeFileSync(join(folder, 'ci.yaml'), stringify(group));
  return folder;
}

/** Our program, with a token for the Gitea at `url`. */
function ours(url: string, ...words: readonly string[]): Promise<string> {
  const program = join(import.meta.dirname, '..', '..', 'lib', 'gitea-runners.cjs');
  const env = { PATH: process.env['PATH'] ?? '', GITEA_URL: url, GITEA_TOKEN: gitea.admin.token };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [program, ...words], { env, timeout: 240_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${words.join(' ')}: ${stderr}`));
      else resolve(stdout);
    });
  });
}

/** Queues a CI job; the Job that `generate` prints for it. */
async function queue(file: string, wanted: Wanted): Promise<{ readonly name: string; readonly manifest: string }> {
  const folder = groupFolder(wanted);
  await gitea.admin.dispatch(REPOSITORY, file);
  await waitUntil('a job is queued', async () => (await gitea.admin.jobs(LEVEL, 'queued')).length === 1, within);
  const manifest = await ours(wanted.url ?? gitea.url, 'generate', '--cluster', 'off', folder);
  const [document] = parseAllDocuments(manifest);
  const { metadata } = z.object({ metadata: z.object({ name: z.string() }) }).parse(document?.toJS());
  return { name: metadata.name, manifest };
}

/** The docker image is imported here, by its tag: it has no digest of a registry. */
async function apply(manifest: string): Promise<void> {
  const byTag = manifest.replaceAll(/@sha256:[0-9a-f]{64}/g, '');
  await kubernetes.kubectl(['apply', '--validate=strict', '-f', '-'], byTag);
}

/** Waits for the end of the only CI job that is not over, and for the end of its runner's Job. */
async function done(name: string): Promise<ApiJob> {
  const [job] = await gitea.admin.jobs(LEVEL, 'queued', 'in_progress');
  if (!job) throw new Error('no job is queued');
  const find = async (): Promise<ApiJob | undefined> =>
    (await gitea.admin.jobs(LEVEL, 'completed')).find(({ id }) => id === job.id);
  await waitUntil('the CI job ends', async () => (await find()) !== undefined, within);
  await waitUntil(`Job ${name} ends`, async () => (await conditions(name)).includes('Complete'), within);
  const ended = await find();
  if (!ended) throw new Error('the CI job is gone');
  return ended;
}

async function conditions(name: string): Promise<string> {
  const path = 'jsonpath={.status.conditions[?(@.status=="True")].type}';
  return await kubernetes.kubectl(['get', 'job', '-n', 'runners', name, '--ignore-not-found', '-o', path]);
}

/** State of the init container: `waiting`, `running` or `terminated`; empty before there is one. */
async function registering(name: string): Promise<string> {
  const path = 'jsonpath={range .items[*].status.initContainerStatuses[?(@.name=="register")]}{.state}{end}';
  const state = await kubernetes.kubectl(['get', 'pods', '-n', 'runners', '-l', `job-name=${name}`, '-o', path]);
  return /^\{"(\w+)"/.exec(state)?.[1] ?? '';
}

async function logOf(name: string, container: string): Promise<string> {
  return await kubernetes.kubectl(['logs', '-n', 'runners', `job/${name}`, '-c', container]);
}

async function podsOf(name: string): Promise<string> {
  return await kubernetes.kubectl(['get', 'pods', '-n', 'runners', '-l', `job-name=${name}`, '-o', 'name']);
}

async function cancelAndForget(name: string): Promise<void> {
  await kubernetes.kubectl(['delete', 'job', '-n', 'runners', name, '--ignore-not-found', '--wait=false']);
}

/** Whether Gitea registers a runner with this token. */
async function registers(candidate: string): Promise<boolean> {
  const response = await fetch(`${gitea.url}/api/actions/runner.v1.RunnerService/Register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'rogue', token: candidate, version: 'x', labels: ['linux'], ephemeral: true }),
  });
  return response.ok;
}

describe('a CI job that searches environment, processes, files, mounts and docker', () => {
  it('would be believed: a token that it found could register a runner', async () => {
    expect(await registers(token)).toBe(true);

    const body = await gitea.admin.call('GET', `${LEVEL}/actions/runners?limit=50`);
    const { runners } = z.object({ runners: z.array(z.object({ id: z.number() })) }).parse(body);
    expect(runners).toHaveLength(1);
    for (const { id } of runners) await gitea.admin.call('DELETE', `${LEVEL}/actions/runners/${id}`);
  });

  it.each([
    ['host', RUNNER_IMAGE, false],
    ['dind', RUNNER_WITH_CLIENT_IMAGE, true],
    ['dind-rootless', ROOTLESS_IMAGE, true],
  ] as const)('finds no token that can register (%s)', async (mode, image, hasDocker) => {
    const { name, manifest } = await queue('hunt.yml', { mode, image });

    await apply(manifest);
    const job = await done(name);

    const log = await gitea.admin.call('GET', `/repos/${REPOSITORY}/actions/jobs/${job.id}/logs`);
    const { places, candidates, environmentsSeenByDocker } = hunted(String(log));
    expect(job.conclusion, String(log)).toBe('success');
    expect(job.runner_name).toBe(name);
    // It searches where the token was, and where the runner's own one is.
    expect(candidates).toContain(CANARY);
    expect(places).toEqual(expect.arrayContaining(['/proc/1/environ', '/data/.runner']));
    expect(environmentsSeenByDocker > 0, String(log)).toBe(hasDocker);
    expect(String(log)).not.toContain(token);
    expect(candidates).not.toContain(token);
    const able = await Promise.all(candidates.map(registers));
    expect(candidates.filter((_, index) => able[index])).toEqual([]);
    expect(await logOf(name, 'register')).not.toContain(token);
    expect(await gitea.admin.runnerNames(LEVEL)).toEqual([]);
  });
});

describe('a registration', () => {
  it('waits for a Gitea that is down for more than a minute, and is made once', async () => {
    const { name, manifest } = await queue('short.yml', {});

    await gitea.stop();
    await apply(manifest);
    const said = async (): Promise<string> =>
      (await registering(name)) === 'running' ? await logOf(name, 'register') : '';
    await waitUntil('it tries again', async () => (await said()).includes('Try 1 of 10 to register failed.'), within);
    await gitea.restart();
    const job = await done(name);

    expect([job.conclusion, job.runner_name]).toEqual(['success', name]);
    expect(await gitea.admin.runnerNames(LEVEL)).toEqual([]);
    expect((await logOf(name, 'register')).split('Runner registered successfully')).toHaveLength(2);
    expect(await logOf(name, 'runner')).not.toContain('Registering runner');
  });

  it('that Gitea refuses ends the Job after 10 tries, says so, and leaves no row', async () => {
    const { name, manifest } = await queue('short.yml', { secret: 'bad' });

    await apply(manifest);
    await waitUntil('the Job fails', async () => (await conditions(name)).includes('Failed'), within);

    const log = await logOf(name, 'register');
    expect(log).toContain('runner registration token not found');
    expect(log).toContain('Try 10 of 10 to register failed.');
    expect(log).toContain('Check that this pod reaches Gitea and that the registration token is valid.');
    expect(log).not.toContain('x'.repeat(40));
    expect(await gitea.admin.runnerNames(LEVEL)).toEqual([]);
    // The next runner serves the job.
    await cancelAndForget(name);
    const next = await ours(gitea.url, 'generate', '--cluster', 'off', groupFolder({}));
    await apply(next);
    const [document] = parseAllDocuments(next);
    const { metadata } = z.object({ metadata: z.object({ name: z.string() }) }).parse(document?.toJS());
    expect((await done(metadata.name)).conclusion).toBe('success');
  });

  it('whose pod is deleted ends at once, whatever the grace period, and leaves no row', async () => {
    const { name, manifest } = await queue('short.yml', {});
    await gitea.stop();
    await apply(manifest);
    await waitUntil('the pod registers', async () => (await registering(name)) === 'running', within);

    await cancelAndForget(name);
    await waitUntil('the pod is gone', async () => (await podsOf(name)) === '', { timeoutMs: 30_000 });
    await gitea.restart();

    expect(manifest).toContain('terminationGracePeriodSeconds: 10830');
    expect(await gitea.admin.runnerNames(LEVEL)).toEqual([]);
    await apply(manifest);
    expect((await done(name)).conclusion).toBe('success');
  });

  it('whose answer is lost, or whose pod is deleted before it comes, leaves a row that the sweep removes', async () => {
    const proxy = await LossyProxy.start(machine.outside, gitea.url);
    try {
      const { name, manifest } = await queue('short.yml', { url: proxy.url });
      proxy.next = 'hold';
      await apply(manifest);
      await waitUntil('Gitea has registered it', async () => proxy.held > 0, within);
      await cancelAndForget(name);
      await waitUntil('the pod is gone', async () => (await podsOf(name)) === '', { timeoutMs: 30_000 });
      proxy.next = 'lose';
      await apply(manifest);
      const job = await done(name);

      expect([job.conclusion, job.runner_name]).toEqual(['success', name]);
      expect(proxy.lost).toBe(1);
      expect(await gitea.admin.runnerNames(LEVEL)).toEqual([name, name]);
      await ours(proxy.url, 'sweep', '--kubeconfig', kubernetes.kubeconfig, groupFolder({ url: proxy.url }));
      expect(await gitea.admin.runnerNames(LEVEL)).toEqual([]);
    } finally {
      await proxy.close();
    }
  });
});
