/**
 * Pods of runners on a real kubelet, with the real runner and a real Gitea, without Argo CD: what a CI job is given, and what becomes
 * of its pod.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import * as z from 'zod';
import type { ContainerMode } from '../../src/config/runnergroup/runner-group.ts';
import type { ApiJob } from '../servers/account.ts';
import { buildCompose } from '../servers/build.ts';
import { type Gitea, startGitea } from '../servers/gitea.ts';
import { Playground, waitUntil } from '../servers/process.ts';
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
export const REPOSITORY = `${ORG}/web`;
export const LEVEL = `/orgs/${ORG}` as const;
/** `docker compose` is in the images with docker's client. It is built for it. */
export const HAS_COMPOSE = process.env['DOCKER_COMPOSE'] === 'build';
/** How long a step of a test may take. */
export const within = { timeoutMs: 240_000 };

/** What a RunnerGroup of a test may choose. */
export interface Wanted {
  readonly mode?: ContainerMode;
  readonly image?: string;
  readonly labels?: readonly string[];
  /** Name of the Secret. */
  readonly secret?: string;
  /** As the runner reaches Gitea. */
  readonly url?: string;
  /** The generator sees the cluster's Jobs; default: Gitea alone. */
  readonly seesJobs?: boolean;
  /** More fields of the spec. */
  readonly spec?: Readonly<Record<string, unknown>>;
  /** More of the generator's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

const Annotations = z.record(z.string(), z.string()).default({});
const Job = z.object({ metadata: z.object({ name: z.string(), annotations: Annotations }) });
const Jobs = z.object({ items: z.array(Job) });

/** A Job that `generate` printed. */
export interface PrintedJob {
  readonly name: string;
  readonly manifest: string;
}

export class PodsRig {
  readonly playground: Playground;
  readonly machine: Machine;
  readonly kubernetes: Kubernetes;
  readonly gitea: Gitea;

  private constructor(playground: Playground, machine: Machine, kubernetes: Kubernetes, gitea: Gitea) {
    this.playground = playground;
    this.machine = machine;
    this.kubernetes = kubernetes;
    this.gitea = gitea;
  }

  /** Starts all of it, about half a minute. `name` names its folder. Ends what it has started when it fails. @param runtime of the node */
  static async start(name: string, runtime?: string): Promise<PodsRig> {
    needPackages();
    const builds = inject('clusterBuilds');
    const compose = HAS_COMPOSE ? buildCompose((line) => process.stdout.write(`servers: ${line}\n`)) : undefined;
    const playground = new Playground(name);
    let machine: Machine | undefined;
    try {
      const images = join(playground.folder, 'images');
      for (const large of [images, join(playground.folder, 'kubernetes')]) playground.removeAtEnd(large);
      mkdirSync(images);
      machine = await Machine.start(playground);
      const kubernetes = await startKubernetes(machine, builds.kubernetes, runtime);
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
      const rig = new PodsRig(playground, machine, kubernetes, gitea);
      await gitea.admin.createOrg(ORG);
      await gitea.admin.createRepo('web', ORG);
      await kubernetes.kubectl(['create', 'namespace', 'runners']);
      await rig.secret('good', await gitea.admin.registrationToken(LEVEL));
      return rig;
    } catch (error) {
      await machine?.close();
      await playground.close(true);
      throw error;
    }
  }

  /** Ends everything. Of the folder the logs stay when `keep`, and what they say is printed. */
  async close(keep: boolean): Promise<void> {
    if (keep)
      process.stdout.write(`${await collectLogs(this.machine, this.kubernetes)}\nlogs: ${this.playground.folder}\n`);
    await this.machine.close();
    await this.playground.close(keep);
  }

  async secret(name: string, value: string): Promise<void> {
    const text = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: 'runners' },
      stringData: { token: value },
    };
    await this.kubernetes.kubectl(['apply', '-f', '-'], JSON.stringify(text));
  }

  /** The folder with the one RunnerGroup. */
  groupFolder(wanted: Wanted): string {
    const {
      mode = 'host',
      image = RUNNER_IMAGE,
      labels = ['linux:host'],
      secret = 'good',
      url = this.gitea.url,
    } = wanted;
    const folder = this.playground.makeFolder('groups');
    const group = {
      apiVersion: 'gitea.bpg.pw/v1alpha1',
      kind: 'RunnerGroup',
      metadata: { name: 'ci', namespace: 'runners' },
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
    writeFileSync(join(folder, 'ci.yaml'), stringify(group));
    return folder;
  }

  /** Our program, with a token for the Gitea at `url`. */
  ours(url: string, ...words: readonly string[]): Promise<string> {
    return this.#ours({ GITEA_URL: url }, words);
  }

  #ours(more: Readonly<Record<string, string>>, words: readonly string[]): Promise<string> {
    const program = join(import.meta.dirname, '..', '..', 'lib', 'gitea-runners.cjs');
    const env = { PATH: process.env['PATH'] ?? '', GITEA_TOKEN: this.gitea.admin.token, ...more };
    return new Promise((resolve, reject) => {
      execFile(process.execPath, [program, ...words], { env, timeout: 240_000 }, (error, stdout, stderr) => {
        if (error) reject(new Error(`${words.join(' ')}: ${stderr}`));
        else resolve(stdout);
      });
    });
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
    const url = wanted.url ?? this.gitea.url;
    const sight = wanted.seesJobs ? ['--kubeconfig', this.kubernetes.kubeconfig] : ['--cluster', 'off'];
    const words = ['generate', ...sight, this.groupFolder(wanted)];
    const printed = await this.#ours({ GITEA_URL: url, ...wanted.env }, words);
    const there = wanted.seesJobs ? await this.kubernetes.kubectl(['get', 'jobs', '-n', 'runners', '-o', 'name']) : '';
    for (const document of parseAllDocuments(printed)) {
      const { metadata } = z.object({ metadata: z.object({ name: z.string() }) }).parse(document.toJS());
      if (!there.includes(metadata.name)) return { name: metadata.name, manifest: document.toString({ lineWidth: 0 }) };
    }
    throw new Error(`no new Job is printed:\n${printed}`);
  }

  /** The docker image is imported here, by its tag: it has no digest of a registry. */
  async apply(manifest: string): Promise<void> {
    const byTag = manifest.replaceAll(/@sha256:[0-9a-f]{64}/g, '');
    await this.kubernetes.kubectl(['apply', '--validate=strict', '-f', '-'], byTag);
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

  /** What a CI job has said so far. */
  async logOfJob({ id }: ApiJob): Promise<string> {
    const { status, body } = await this.gitea.admin.ask('GET', `/repos/${REPOSITORY}/actions/jobs/${id}/logs`);
    return status === 200 ? String(body) : '';
  }

  async conditions(name: string): Promise<string> {
    const path = 'jsonpath={.status.conditions[?(@.status=="True")].type}';
    return await this.kubernetes.kubectl(['get', 'job', '-n', 'runners', name, '--ignore-not-found', '-o', path]);
  }

  async logOf(name: string, container: string): Promise<string> {
    return await this.kubernetes.kubectl(['logs', '-n', 'runners', `job/${name}`, '-c', container]);
  }

  /** `pod/NAME` of the Job's pod; empty when there is none. */
  async podOf(name: string): Promise<string> {
    const words = ['get', 'pods', '-n', 'runners', '-l', `job-name=${name}`, '-o', 'name'];
    return (await this.kubernetes.kubectl(words)).trim();
  }

  /** A sync as Argo CD does it: what is printed and not skipped is applied, what is not printed and not pinned is pruned. */
  async sync(wanted: Wanted): Promise<readonly string[]> {
    const folder = this.groupFolder(wanted);
    const text = await this.ours(this.gitea.url, 'generate', '--kubeconfig', this.kubernetes.kubeconfig, folder);
    const printed = new Map<string, { readonly skip: boolean; readonly text: string }>();
    for (const document of parseAllDocuments(text)) {
      const parsed = Job.safeParse(document.toJS());
      if (!parsed.success) continue;
      const { name, annotations } = parsed.data.metadata;
      const skip = annotations['argocd.argoproj.io/hook'] === 'Skip';
      printed.set(name, { skip, text: document.toString({ lineWidth: 0 }) });
    }
    const live = Jobs.parse(JSON.parse(await this.kubernetes.kubectl(['get', 'jobs', '-n', 'runners', '-o', 'json'])));
    for (const { metadata } of live.items) {
      const isPinned = metadata.annotations['argocd.argoproj.io/sync-options'] === 'Prune=false';
      if (!printed.has(metadata.name) && !isPinned) await this.remove(metadata.name);
    }
    for (const { skip, text: manifest } of printed.values()) if (!skip) await this.apply(manifest);
    return [...printed.keys()];
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
