/**
 * Pods of runners on a real kubelet, with the real runner and a real Gitea, without Argo CD: what a CI job is given, and what becomes
 * of its pod.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import * as z from 'zod';
import { credentialsFile, registerRunner } from '../../src/clients/gitea/register.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import type { ContainerMode } from '../../src/config/runnergroup/runner-group.ts';
import { CREDENTIALS_KEY } from '../../src/shared/marks.ts';
import type { ApiJob } from '../servers/account.ts';
import { buildCompose } from '../servers/build.ts';
import { type Gitea, startGitea } from '../servers/gitea.ts';
import { type Playground, waitUntil } from '../servers/process.ts';
import { accessTo } from '../support/looking.ts';
import { runCli } from '../support/run-cli.ts';
import { type Cluster, startCluster } from './stack/cluster.ts';
import {
  ciImage,
  ROOTLESS_IMAGE,
  RUNNER_WITH_CLIENT_IMAGE,
  rootlessImage,
  runnerWithClientImage,
  sidecarImage,
} from './stack/docker-images.ts';
import { PAUSE_IMAGE, pauseImage, RUNNER_IMAGE, runnerImage } from './stack/images.ts';
import type { Kubernetes, KubernetesBuild } from './stack/kubernetes.ts';
import { collectLogs } from './stack/logs.ts';
import type { Machine } from './stack/machine.ts';
import { Registry } from './stack/registry.ts';

const ORG = 'acme';
export const REPOSITORY = `${ORG}/web`;
export const LEVEL = `/orgs/${ORG}` as const;
/** True if `docker compose` is to be built for the images with docker's client. */
export const HAS_COMPOSE = process.env['DOCKER_COMPOSE'] === 'build';
/** Modes with docker, and for each an image with its client. */
export const DOCKER_MODES = [
  { mode: 'dind', image: RUNNER_WITH_CLIENT_IMAGE },
  { mode: 'dind-rootless', image: ROOTLESS_IMAGE },
] as const;
/** Time limit of a step of a test. */
export const within = { timeoutMs: 240_000 };

/** Choices of a test for its RunnerGroup. */
export interface Wanted {
  readonly mode?: ContainerMode;
  readonly image?: string;
  readonly labels?: readonly string[];
  /** Name of the Secret. */
  readonly secret?: string;
  /** URL at which the runner reaches Gitea. */
  readonly url?: string;
  /** The generator sees the cluster's Jobs; default: Gitea alone. */
  readonly seesJobs?: boolean;
  /** Further fields of the spec. */
  readonly spec?: Readonly<Record<string, unknown>>;
  /** Further variables of the generator's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

const Annotations = z.record(z.string(), z.string()).default({});
export const Job = z.object({ metadata: z.object({ name: z.string(), annotations: Annotations }) });
const Jobs = z.object({ items: z.array(Job) });

/** A Job that `generate` printed. */
export interface PrintedJob {
  readonly name: string;
  readonly manifest: string;
  /** Argo CD leaves it as it is, and makes none. */
  readonly isSkipped?: boolean;
}

function printedJobs(text: string): readonly PrintedJob[] {
  return parseAllDocuments(text).flatMap((document) => {
    const { data } = Job.safeParse(document.toJS());
    if (!data) return [];
    const { name, annotations } = data.metadata;
    const isSkipped = annotations['argocd.argoproj.io/hook'] === 'Skip';
    return [{ name, manifest: document.toString({ lineWidth: 0 }), isSkipped }];
  });
}

/** A CI job that succeeded on the runner of this name, and what it said. */
export interface Ran {
  readonly name: string;
  readonly job: ApiJob;
  readonly log: string;
}

export class PodsRig {
  readonly playground: Playground;
  readonly machine: Machine;
  readonly kubernetes: Kubernetes;
  readonly images: string;
  readonly gitea: Gitea;
  readonly #close: Cluster['close'];
  #registry: Registry | undefined;

  private constructor(cluster: Cluster, gitea: Gitea) {
    this.playground = cluster.playground;
    this.machine = cluster.machine;
    this.kubernetes = cluster.kubernetes;
    this.images = cluster.images;
    this.#close = cluster.close;
    this.gitea = gitea;
  }

  /**
   * Starts everything in about half a minute. `name` names its folder. Ends all started parts if it fails.
   * @param more builds of this node
   */
  static async start(name: string, more: Partial<KubernetesBuild> = {}): Promise<PodsRig> {
    const builds = inject('clusterBuilds');
    const compose = HAS_COMPOSE ? buildCompose((line) => process.stdout.write(`servers: ${line}\n`)) : undefined;
    const cluster = await startCluster(name, { ...builds, ...more });
    try {
      const { images, kubernetes, machine, playground } = cluster;
      await kubernetes.startNode();
      const writers = {
        [PAUSE_IMAGE]: pauseImage,
        [RUNNER_IMAGE]: (out: string) => runnerImage(out, builds.runner),
        [RUNNER_WITH_CLIENT_IMAGE]: (out: string) => runnerWithClientImage(out, builds.runner, compose),
        [ROOTLESS_IMAGE]: (out: string) => rootlessImage(out, builds.runner, compose),
        sidecar: sidecarImage,
      };
      for (const [image, write] of Object.entries(writers)) {
        const tar = join(images, `${image.replaceAll(/\W/g, '-')}.tar`);
        await write(tar);
        await kubernetes.importImage(tar);
        rmSync(tar);
      }
      const gitea = await startGitea('1.27.3', builds.gitea, playground, { address: machine.outside });
      await gitea.admin.createOrg(ORG);
      await gitea.admin.createRepo('web', ORG);
      await kubernetes.kubectl(['create', 'namespace', 'runners']);
      await kubernetes.putSecret('runners', 'good', { token: await gitea.admin.registrationToken(LEVEL) });
      return new PodsRig(cluster, gitea);
    } catch (error) {
      await cluster.close(true);
      throw error;
    }
  }

  async close(keep: boolean): Promise<void> {
    this.#registry?.close();
    await this.#close(keep);
  }

  /** Starts a registry that runners and their CI jobs reach. */
  async startRegistry(): Promise<Registry> {
    this.#registry = await Registry.start(this.machine.outside);
    return this.#registry;
  }

  /** Starts it with the image of CI jobs, and more programs in that. Answers the image's whole name. */
  async serveCiImage(...programs: readonly string[]): Promise<string> {
    const archive = join(this.images, 'ci.tar');
    await ciImage(archive, ...programs);
    return (await this.startRegistry()).add('ci:1', archive, join(this.images, 'ci'));
  }

  collectLogs(): Promise<string> {
    return collectLogs(this.machine, this.kubernetes);
  }

  /** A RunnerGroup. */
  group(wanted: Wanted, name = 'ci', namespace = 'runners'): object {
    const { mode = 'host', image = RUNNER_IMAGE, labels = ['linux:host'] } = wanted;
    const { secret = 'good', url = this.gitea.url } = wanted;
    return {
      apiVersion: 'gitea.bpg.pw/v1alpha1',
      kind: 'RunnerGroup',
      metadata: { name, namespace },
      spec: {
        scope: 'org',
        org: ORG,
        gitea: { url },
        labels,
        defaultLabels: false,
        containerMode: mode,
        image,
        maxActiveRunners: 1,
        registrationToken: { secretRef: { name: secret, key: 'token' } },
        authToken: { secretRef: { name: 'not-mounted', key: 'token' } },
        ...wanted.spec,
      },
    };
  }

  /** The folder with the one RunnerGroup. */
  groupFolder(wanted: Wanted): string {
    const folder = this.playground.makeFolder('groups');
    writeFileSync(join(folder, 'ci.yaml'), stringify(this.group(wanted)));
    return folder;
  }

  /** A workflow with one job of one step, in `file`; the job has the file's name. @param more of the job */
  async addWorkflow(file: string, script: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await this.gitea.admin.addWorkflow(REPOSITORY, file, workflowOf(file.replace('.yml', ''), script, more));
  }

  /** Flags with which our program sees the cluster. */
  get seen(): readonly string[] {
    return ['--kubeconfig', this.kubernetes.kubeconfig];
  }

  /** Runs our program with a token for Gitea, and returns its output. @throws with its stderr */
  async ours(words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> {
    const env = { GITEA_URL: this.gitea.url, GITEA_TOKEN: this.gitea.admin.token, ...more };
    const { code, stdout, stderr } = await runCli(words, env, '.', 240_000);
    if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`);
    return stdout;
  }

  /** Queues a CI job of the workflow `file`. Answers the Job that `generate` prints for it. */
  async queue(file: string, wanted: Wanted): Promise<PrintedJob> {
    const { admin } = this.gitea;
    await admin.dispatch(REPOSITORY, file);
    await waitUntil('a job is queued', async () => (await admin.jobs(LEVEL, 'queued')).length === 1, within);
    return await this.generate(wanted);
  }

  /** The Job that `generate` prints for the only CI job that is queued. */
  async generate(wanted: Wanted): Promise<PrintedJob> {
    const sight = wanted.seesJobs ? this.seen : ['--cluster', 'off'];
    const env = { ...(wanted.url !== undefined && { GITEA_URL: wanted.url }), ...wanted.env };
    const printed = await this.ours(['generate', ...sight, this.groupFolder(wanted)], env);
    const there = wanted.seesJobs ? await this.kubernetes.kubectl(['get', 'jobs', '-n', 'runners', '-o', 'name']) : '';
    const made = printedJobs(printed).find(({ name }) => !there.includes(name));
    if (made) return made;
    throw new Error(`no new Job is printed:\n${printed}`);
  }

  /** The docker image is imported here, by its tag: it has no digest of a registry. */
  async apply(manifest: string): Promise<void> {
    const byTag = manifest.replaceAll(/@sha256:[0-9a-f]{64}/g, '');
    await this.kubernetes.kubectl(['apply', '--validate=strict', '-f', '-'], byTag);
  }

  /** Registers a runner and gives its Job the credentials, as `serve` does. @param label `name:schema` */
  async giveCredentials(name: string, label: string): Promise<void> {
    const { admin, url } = this.gitea;
    const access = accessTo(url, new Token(admin.token, url));
    const made = await registerRunner(access, await admin.registrationToken(LEVEL), {
      name,
      labels: [label.replace(/:.*/, '')],
    });
    const file = credentialsFile(made, { name, labels: [label], address: url });
    await this.kubernetes.putSecret('runners', name, { [CREDENTIALS_KEY]: file });
  }

  /** The only CI job that is not over. */
  async openJob(): Promise<ApiJob> {
    const [job] = await this.gitea.admin.jobs(LEVEL, 'queued', 'in_progress');
    if (!job) throw new Error('no job is queued');
    return job;
  }

  /** Waits for the end of a CI job. */
  async ended({ id }: ApiJob): Promise<ApiJob> {
    const find = async (): Promise<ApiJob | undefined> =>
      (await this.gitea.admin.jobs(LEVEL, 'completed')).find((job) => job.id === id);
    await waitUntil('the CI job ends', async () => (await find()) !== undefined, within);
    const job = await find();
    if (!job) throw new Error('the CI job is gone');
    return job;
  }

  /** Waits for the end of the only CI job that is not over, and for the end of its runner's Job. */
  async done(name: string): Promise<ApiJob> {
    const ended = await this.ended(await this.openJob());
    await waitUntil(`Job ${name} ends`, async () => (await this.conditions(name)).includes('Complete'), within);
    return ended;
  }

  /** Waits for the end of the only open CI job, and expects that it succeeded on this runner. */
  async succeeded(name: string): Promise<Ran> {
    const job = await this.done(name);
    const log = await this.logOfJob(job);
    expect([job.conclusion, job.runner_name], log).toEqual(['success', name]);
    return { name, job, log };
  }

  /** Starts the runner of the only CI job that is not over, and waits for their success. */
  async run({ name, manifest }: PrintedJob): Promise<Ran> {
    await this.apply(manifest);
    return await this.succeeded(name);
  }

  /** Returns the log of a CI job so far. */
  async logOfJob({ id }: ApiJob): Promise<string> {
    const { status, body } = await this.gitea.admin.ask('GET', `/repos/${REPOSITORY}/actions/jobs/${id}/logs`);
    return status === 200 ? String(body) : '';
  }

  async conditions(name: string): Promise<string> {
    const path = '{.status.conditions[?(@.status=="True")].type}';
    return await this.kubernetes.field(path, 'job', '-n', 'runners', name, '--ignore-not-found');
  }

  async logOf(name: string, container: string): Promise<string> {
    return await this.kubernetes.kubectl(['logs', '-n', 'runners', `job/${name}`, '-c', container]);
  }

  /** `pod/NAME` of the Job's pod; empty when there is none. */
  async podOf(name: string): Promise<string> {
    const words = ['get', 'pods', '-n', 'runners', '-l', `job-name=${name}`, '-o', 'name'];
    return (await this.kubernetes.kubectl(words)).trim();
  }

  /** A field of the Job's pod; empty when there is none. @param path below the pod, such as `.spec.nodeName` */
  async ofPod(name: string, path: string): Promise<string> {
    return await this.kubernetes.field(`{.items[*]${path}}`, 'pods', '-n', 'runners', '-l', `job-name=${name}`);
  }

  async podGoes(name: string, timeoutMs = within.timeoutMs): Promise<void> {
    await waitUntil('the pod is gone', async () => (await this.podOf(name)) === '', { timeoutMs });
  }

  /**
   * Makes a sync as Argo CD does: applies printed Jobs that are not skipped, prunes Jobs that are neither printed nor
   * pinned.
   */
  async sync(wanted: Wanted): Promise<readonly string[]> {
    const printed = await this.printed(this.groupFolder(wanted));
    const live = Jobs.parse(JSON.parse(await this.kubernetes.kubectl(['get', 'jobs', '-n', 'runners', '-o', 'json'])));
    for (const { metadata } of live.items) {
      const isPinned = metadata.annotations['argocd.argoproj.io/sync-options'] === 'Prune=false';
      if (!printed.some(({ name }) => name === metadata.name) && !isPinned) await this.remove(metadata.name);
    }
    for (const { isSkipped, manifest } of printed) if (!isSkipped) await this.apply(manifest);
    return printed.map(({ name }) => name);
  }

  /** The Jobs that `generate` prints for the groups of a folder and the cluster. */
  async printed(folder: string): Promise<readonly PrintedJob[]> {
    return printedJobs(await this.ours(['generate', ...this.seen, folder]));
  }

  /** As Argo CD's prune: the Job goes, and its pod is asked to end. */
  async remove(name: string): Promise<void> {
    await this.kubernetes.kubectl(['delete', 'job', '-n', 'runners', name, '--ignore-not-found', '--wait=false']);
  }
}

/** A workflow with one job of one step. */
export function workflowOf(name: string, script: string, more: Readonly<Record<string, unknown>> = {}): string {
  return stringify({
    on: 'workflow_dispatch',
    jobs: { [name]: { 'runs-on': 'linux', ...more, steps: [{ shell: 'sh', run: script }] } },
  });
}
