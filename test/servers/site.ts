/**
 * Common start of most tests here: a real Gitea with repositories and RunnerGroups, and the actions of people, runners
 * and Argo CD.
 */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import type { GiteaAccess } from '../../src/clients/gitea/api.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import { accessTo } from '../support/looking.ts';
import { type Outcome, runCli } from '../support/run-cli.ts';
import type { Account, ApiJob, LevelPath } from './account.ts';
import { IdleRunner } from './bare-runner.ts';
import type { GiteaVersion } from './build.ts';
import { Cluster, type ClusterOptions } from './cluster.ts';
import { generate, type TestGroup, writeGroups } from './generate.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { Loop } from './loop.ts';
import { type RunnerJob, readManifests } from './manifest.ts';
import type { PodWorld } from './pod.ts';
import { Playground, waitUntil } from './process.ts';

const ORG = '/orgs/acme';

export interface Plan {
  readonly version: GiteaVersion;
  /** Repositories of org acme: their workflows, by file. */
  readonly repositories?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly groups?: readonly TestGroup[];
  /** Further lines of app.ini. */
  readonly config?: string;
}

interface LoopOptions extends ClusterOptions {
  readonly secrets?: Readonly<Record<string, string>>;
  readonly token?: string;
}

/** A site. All its fields are set once `start` has ended. */
export class Site {
  playground!: Playground;
  gitea!: Gitea;
  /** Folder with the files of the RunnerGroups. */
  folder!: string;
  #groups: readonly TestGroup[] = [];

  get admin(): Account {
    return this.gitea.admin;
  }

  get url(): string {
    return this.gitea.url;
  }

  async start(name: string, { version, repositories = {}, groups = [], config = '' }: Plan): Promise<void> {
    this.playground = new Playground(`${name}-${version}`);
    this.gitea = await startGitea(version, inject('builds').gitea[version], this.playground, { config });
    this.writeGroups(groups);
    await this.admin.createOrg('acme');
    for (const [repository, files] of Object.entries(repositories)) await this.addRepository(repository, files);
  }

  /** Replaces the RunnerGroups. */
  writeGroups(groups: readonly TestGroup[]): void {
    this.#groups = groups;
    this.folder = mkdtempSync(join(this.playground.folder, 'groups-'));
    writeGroups(this.folder, this.url, groups);
  }

  /** A private repository of org acme, with these workflows. */
  async addRepository(name: string, workflows: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.admin.createRepo(name, 'acme');
    for (const [file, text] of Object.entries(workflows)) await this.admin.addWorkflow(`acme/${name}`, file, text);
  }

  /** Our program, with the administrator's token unless `env` has another. */
  ours(args: readonly string[], env: Readonly<Record<string, string>> = {}, timeoutMs = 60_000): Promise<Outcome> {
    return runCli(args, { GITEA_URL: this.url, GITEA_TOKEN: this.admin.token, ...env }, '.', timeoutMs);
  }

  /** The Jobs that `generate` prints. @throws when it fails */
  async manifests(): Promise<readonly RunnerJob[]> {
    const { code, stdout, stderr } = await generate(this.folder, this.url, this.admin.token);
    if (code !== 0) throw new Error(`generate ended with ${code}: ${stderr}`);
    return readManifests(stdout);
  }

  /** Returns the data that pods need. `secrets` besides the registration token of the org, in the Secret `runner`. */
  async world(secrets: Readonly<Record<string, string>> = {}): Promise<PodWorld> {
    const all = { 'runner/token': await this.admin.registrationToken(ORG), ...secrets };
    return { playground: this.playground, runner: inject('builds').runner, secrets: new Map(Object.entries(all)) };
  }

  /** Argo CD with this token, and a cluster for the RunnerGroups. */
  async startLoop({ secrets = {}, token = this.admin.token, ...options }: LoopOptions = {}): Promise<Loop> {
    const cluster = new Cluster(await this.world(secrets), options);
    return new Loop({ cluster, folder: this.folder, groups: this.#groups, url: this.url, token });
  }

  /** Does what Argo CD does until this many CI jobs have ended. */
  async runAll(level: LevelPath, count: number, timeoutMs = 300_000): Promise<readonly ApiJob[]> {
    const ended = () => this.admin.jobs(level, 'completed');
    const loop = await this.startLoop();
    await loop.until(`${count} CI jobs end`, async () => (await ended()).length === count, timeoutMs);
    return await ended();
  }

  /** CI jobs of the org with this name, oldest first. Without states: those that have not ended. */
  async jobsNamed(name: string, ...states: readonly string[]): Promise<readonly ApiJob[]> {
    const wanted = states.length > 0 ? states : ['queued', 'in_progress', 'waiting'];
    return (await this.admin.jobs(ORG, ...wanted)).filter((job) => job.name === name);
  }

  /** The newest CI job with this name, as soon as it is in one of the states. */
  async job(name: string, ...states: readonly string[]): Promise<ApiJob> {
    return await waitUntil(`${name} is ${states.join(' or ')}`, async () =>
      (await this.jobsNamed(name, ...states)).at(-1),
    );
  }

  /** A runner that does no work. Without a token it is one of the org. */
  async idleRunner(name: string, label: string, token?: string): Promise<IdleRunner> {
    const registrationToken = token ?? (await this.admin.registrationToken(ORG));
    return await IdleRunner.register(this.url, { name, registrationToken, labels: [label] });
  }

  /** Access with this token. Its connections are closed with the test. */
  access(apiToken: string): GiteaAccess {
    return accessTo(this.url, new Token(apiToken, this.url));
  }
}

/** Starts a site before the tests of this file or `describe`, and ends it after them. Its logs stay when one fails. */
export function useSite(name: string, plan: Plan, prepare: (site: Site) => unknown = () => undefined): Site {
  const site = new Site();
  let failed = true;
  beforeAll(async () => {
    await site.start(name, plan);
    await prepare(site);
    failed = false;
  });
  afterEach(({ task }) => {
    failed ||= task.result?.state === 'fail';
  });
  afterAll(async () => {
    await site.playground?.close(failed);
    if (failed) process.stdout.write(`logs: ${site.playground?.folder}\n`);
  });
  return site;
}
