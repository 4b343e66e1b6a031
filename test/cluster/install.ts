/** Installs the product into a stack with the commands of docs/install.md, as the reader runs them. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { docScript } from '../packaging/doc-blocks.ts';
import type { ClusterBuilds } from '../servers/build.ts';
import { sleep, waitUntil } from '../servers/process.ts';
import { RUNNER_IMAGE } from './stack/images.ts';
import type { Stack } from './stack/stack.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const REPOSITORY = 'registry.example.com/argocd-gitea-runners';
const TAG = 'test';
const IMAGE = `${REPOSITORY}:${TAG}`;
/** Organisation whose jobs get runners, and the repository with the RunnerGroups. */
export const ORG = 'acme';
export const GROUPS_REPOSITORY = 'ops/runners';

/** The example of the manual for this machine: an image that is here, no docker. */
export function exampleGroup({ gitea }: Stack): string {
  const group = parse(readFileSync(join(ROOT, 'install', 'examples', 'runnergroup.yaml'), 'utf8'));
  Object.assign(group.spec, { containerMode: 'host', labels: ['linux:host'], image: RUNNER_IMAGE });
  group.spec.gitea.url = gitea.url;
  group.spec.ttlSecondsAfterFinished = 5;
  return stringify(group);
}

/**
 * Lets Argo CD read the repository with the RunnerGroups until it has seen the newest commit. One request is not
 * enough: Argo CD drops a refresh during another one (its issue 28306), and would look again after three minutes.
 */
export async function refresh({ gitea, kubernetes }: Stack): Promise<void> {
  const branch = await gitea.admin.call('GET', `/repos/${GROUPS_REPOSITORY}/branches/main`);
  const { id } = (branch as { readonly commit: { readonly id: string } }).commit;
  const application = ['application', 'runners', '-n', 'argocd'];
  const seen = async (): Promise<boolean> => {
    await kubernetes.kubectl(['annotate', ...application, '--overwrite', 'argocd.argoproj.io/refresh=normal']);
    await sleep(1_000);
    return (await kubernetes.field('{.status.sync.revision}', ...application)) === id;
  };
  await waitUntil('Argo CD sees the newest commit', seen, { timeoutMs: 120_000 });
}

export interface InstallOptions {
  /** Environment of ConfigMap gitea-runners-settings; none: the ConfigMap does not exist. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Scopes of the API token. Default: what the manual asks for. */
  readonly tokenScopes?: readonly string[];
}

/** A shell as the reader has it: kubectl and argocd as administrators, the variables of the manual, in the repository's folder. */
export class Installation {
  readonly #stack: Stack;
  readonly #options: InstallOptions;
  readonly #variables = new Map<string, string>();
  /** Names of the blocks that were run, in order. */
  readonly done: string[] = [];
  readonly #tools: string;
  /** The reader's folder, with the repository and the files that the reader writes. */
  readonly folder: string;
  /** Image of the product, as the chart takes it. */
  readonly image = { repository: REPOSITORY, tag: TAG };

  private constructor(stack: Stack, options: InstallOptions) {
    this.#stack = stack;
    this.#options = options;
    this.#tools = join(stack.machine.folder, 'tools');
    this.folder = join(stack.machine.folder, 'reader');
  }

  /** The image, Gitea's side and the reader's shell; nothing is in the cluster yet. */
  static async prepare(stack: Stack, builds: ClusterBuilds, options: InstallOptions = {}): Promise<Installation> {
    const made = new Installation(stack, options);
    const { gitea, kubernetes, machine } = stack;
    mkdirSync(made.#tools);
    mkdirSync(made.folder);
    for (const name of ['install', 'scripts', 'lib']) symlinkSync(join(ROOT, name), join(made.folder, name));
    const cli = `${machine.folder}/argocd-cli`;
    made.program('kubectl', `exec ${builds.kubernetes}/kubectl --kubeconfig ${kubernetes.kubeconfig} "$@"`);
    const home = join(machine.folder, 'helm');
    const helmHome = ['CACHE', 'CONFIG', 'DATA'].map((name) => `HELM_${name}_HOME='${home}'`).join(' ');
    made.program('helm', `${helmHome} exec ${builds.helm}/helm --kubeconfig ${kubernetes.kubeconfig} "$@"`);
    made.program('argocd', `exec ${builds.argocd}/argocd "$@" --config ${cli}`);
    made.program('gitea-runners', `exec ${process.execPath} ${join(ROOT, 'lib', 'gitea-runners.cjs')} "$@"`);
    const tar = join(machine.folder, 'product.tar');
    execFileSync(process.execPath, ['scripts/image.mjs', '--out', tar, '--tag', IMAGE], { cwd: ROOT, stdio: 'pipe' });
    await kubernetes.importImage(tar);
    await gitea.admin.createOrg(ORG);
    await gitea.admin.createOrg('ops');
    const repository = { name: 'runners', auto_init: true, default_branch: 'main', private: false };
    await gitea.admin.call('POST', '/orgs/ops/repos', repository);
    made.set('IMAGE', IMAGE);
    made.set('GITEA_URL', gitea.url);
    made.set('GITEA_ORG', ORG);
    made.set('GITEA_API_TOKEN', await gitea.admin.createToken(options.tokenScopes ?? ['read:organization']));
    made.set('GITEA_OWNER_TOKEN', await gitea.admin.createToken(['write:organization']));
    made.set('REPO_URL', `${gitea.url}/${GROUPS_REPOSITORY}.git`);
    return made;
  }

  /** Sets a variable of the shell. */
  set(name: string, value: string): void {
    this.#variables.set(name, value);
  }

  /** Follows the whole manual for a new reader, including webhooks. */
  async install(): Promise<void> {
    await this.writeSettings();
    await this.block('install');
    await this.#stack.kubernetes.refreshDns();
    await this.block('secrets', 'application');
    await this.webhook();
  }

  /** Comes before the pods that read them. */
  async writeSettings(): Promise<void> {
    const settings = Object.entries(this.#options.settings ?? {});
    if (settings.length === 0) return;
    const literals = settings.map(([name, value]) => `--from-literal=${name}=${value}`);
    const create = ['create', 'configmap', 'gitea-runners-settings', '-n', 'argocd', ...literals];
    await this.#stack.kubernetes.kubectl(create);
  }

  /** The webhook, to the address under which Gitea, outside the cluster, reaches `serve`. */
  async webhook(): Promise<void> {
    const ip = await this.#stack.kubernetes.field('{.spec.clusterIP}', 'service', 'gitea-runners', '-n', 'argocd');
    this.set('WEBHOOK_URL', `http://${ip}/webhook`);
    await this.block('webhook');
  }

  /** Runs marked blocks of the manual and answers what the last one prints. Says how long each took. @throws with its stderr. */
  async block(...names: readonly string[]): Promise<string> {
    let printed = '';
    for (const name of names) {
      const started = Date.now();
      printed = await this.shell(name, docScript(readFileSync(join(ROOT, 'docs', 'install.md'), 'utf8'), name));
      process.stdout.write(`manual: ${name}: ${Math.round((Date.now() - started) / 1000)} s\n`);
      this.done.push(name);
    }
    return printed;
  }

  /** The values of the chart, and the variables of its blocks. */
  writeValues(more: Readonly<Record<string, unknown>>): void {
    writeFileSync(join(this.folder, 'values.yaml'), stringify({ image: this.image, ...more }));
    this.set('VALUES', 'values.yaml');
    this.set('CHART', 'install/chart');
  }

  /** Image of the sidecar in Argo CD's repo-server; empty without one. */
  async sidecarImage(): Promise<string> {
    const path = '{.spec.template.spec.containers[?(@.name=="gitea-runners")].image}';
    return await this.#stack.kubernetes.field(path, 'deployment', 'argocd-repo-server', '-n', 'argocd');
  }

  /** Runs a script in the reader's shell. @throws with its stderr. */
  async shell(name: string, script: string): Promise<string> {
    const { machine } = this.#stack;
    const variables = [...this.#variables].map(([variable, value]) => `export ${variable}='${value}'\n`);
    const text = `cd '${this.folder}'\nexport PATH='${this.#tools}':"$PATH"\n${variables.join('')}${script}`;
    return await machine.run('bash', ['-euo', 'pipefail', machine.write(`install-${name}.sh`, text)]);
  }

  /** A program of the reader's shell: a script in sh. */
  program(name: string, script: string): void {
    chmodSync(this.#stack.machine.write(`tools/${name}`, `#!/bin/sh\n${script}\n`), 0o755);
  }
}
