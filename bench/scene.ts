/** The measured programs: ours, the straightforward cdk8s program and helm, each over the same jobs. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GENERATE_FLAGS } from '../packaging/names.ts';
import { type Case, once } from './measure.ts';
import { type StandIn, standIn } from './stand-in.ts';

const PROGRAM = 'lib/gitea-runners.cjs';

/** A folder and servers; `close` ends both. */
export class Scene {
  readonly #folder = mkdtempSync(join(tmpdir(), 'bench-'));
  readonly #servers: StandIn[] = [];

  close(): void {
    for (const server of this.#servers) server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A Gitea with so many queued jobs. */
  async gitea(count: number, delayMs = 0): Promise<StandIn> {
    const server = await standIn(count, delayMs);
    this.#servers.push(server);
    return server;
  }

  /** `generate` as Argo CD starts it. `more`: lines of the spec. */
  generate(name: string, { url }: StandIn, more = ''): Case {
    const file = this.#write(`${name}.yaml`, runnerGroup(url, 'ci', 'acme') + more);
    const env = { ARGOCD_APP_NAME: 'bench', ...access(url) };
    return { name, program: process.execPath, args: [...GENERATE_FLAGS, PROGRAM, 'generate', file], env };
  }

  /** Measures the program with the example of a platform's app, as its package.json builds it. */
  withApp(name: string, gitea: StandIn): Case {
    const app = join(this.#folder, 'platform.cjs');
    const flags = ['--bundle', '--platform=node', '--external:cdk8s', '--external:constructs', `--outfile=${app}`];
    execFileSync('node_modules/.bin/esbuild', ['examples/platform/main.ts', ...flags], { stdio: 'pipe' });
    const { env, ...plain } = this.generate(name, gitea);
    return { ...plain, env: { ...env, GITEA_RUNNERS_APP: app } };
  }

  /** 100 groups of five organisations. */
  generateMany(name: string, { url }: StandIn): Case {
    const folder = this.#folderOfGroups(name, url, 5);
    const env = { ARGOCD_APP_NAME: 'bench', ...access(url) };
    return { name, program: process.execPath, args: [...GENERATE_FLAGS, PROGRAM, 'generate', folder], env };
  }

  /** `validate` over 100 files. Groups of one organisation would be warned of, which takes a second reading. */
  validate(name: string): Case {
    const folder = this.#folderOfGroups(name, 'https://gitea.example.com', 100);
    return { name, program: process.execPath, args: [PROGRAM, 'validate', folder], env: {} };
  }

  /** The straightforward cdk8s program. */
  plain(name: string, { url }: StandIn, rounds?: number): Case {
    const file = this.#write(`${name}.yaml`, runnerGroup(url, 'ci', 'acme'));
    const args = ['bench/plain-cdk8s.mjs', file];
    return { name, program: process.execPath, args, env: access(url), ...(rounds !== undefined && { rounds }) };
  }

  /**
   * Measures `helm template` on the output of `generate` for this Gitea. It sends no requests. Undefined: there is no
   * helm.
   */
  async helm(name: string, count: number, gitea: StandIn, rounds?: number): Promise<Case | undefined> {
    const program = process.env['HELM'] ?? 'helm';
    if (spawnSync(program, ['version', '--short']).status !== 0) return undefined;
    const { stdout } = await once(this.generate(`${name} source`, gitea), true);
    const chart = join(this.#folder, name);
    mkdirSync(join(chart, 'templates'), { recursive: true });
    writeFileSync(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: runners\nversion: 0.1.0\n');
    const jobs = [...stdout.matchAll(/^ {2}name: "([^"]+)"$/gm)].map(([, job]) => `  - "${job}"`);
    if (jobs.length !== count) throw new Error(`helm: ${jobs.length} Jobs instead of ${count}`);
    writeFileSync(join(chart, 'values.yaml'), `runners:\n${jobs.join('\n')}\n`);
    writeFileSync(join(chart, 'templates', 'jobs.yaml'), chartOf(stdout));
    const env = { HOME: this.#folder };
    return { name, program, args: ['template', 'runners', chart], env, ...(rounds !== undefined && { rounds }) };
  }

  #write(name: string, text: string): string {
    const file = join(this.#folder, name.replaceAll(/[^\w.-]/g, '-'));
    writeFileSync(file, text);
    return file;
  }

  #folderOfGroups(name: string, url: string, orgs: number): string {
    const folder = join(this.#folder, name.replaceAll(/[^\w.-]/g, '-'));
    mkdirSync(folder, { recursive: true });
    for (let group = 0; group < 100; group += 1) {
      writeFileSync(join(folder, `${group}.yaml`), runnerGroup(url, `group-${group}`, `org-${group % orgs}`));
    }
    return folder;
  }
}

/** The first Job of an output as a template over all names: what differs within a group follows from the name. */
function chartOf(output: string): string {
  const [, first = ''] = output.split(/^---\n/m);
  const name = /^ {2}name: "([^"]+)"$/m.exec(first)?.[1] ?? '';
  const id = /job-id: "(\d+)"/.exec(first)?.[1] ?? '';
  const body = first
    .replaceAll('{{', '{{ "{{" }}')
    .replaceAll(`"${name}"`, '{{ . | quote }}')
    .replaceAll(`job-id: "${id}"`, 'job-id: {{ index (splitList "-" .) 1 | quote }}');
  return `{{- range .Values.runners }}\n---\n${body}{{- end }}\n`;
}

function access(url: string): Readonly<Record<string, string>> {
  return { GITEA_URL: url, GITEA_TOKEN: 'bench' };
}

function runnerGroup(url: string, name: string, org: string): string {
  return `apiVersion: gitea.bpg.pw/v1alpha1
kind: RunnerGroup
metadata:
  name: ${name}
  namespace: runners
spec:
  scope: org
  org: ${org}
  gitea:
    url: ${url}
  maxActiveRunners: 10000
  registrationToken: {secretRef: {name: gitea-runner, key: token}}
  authToken: {secretRef: {name: gitea-api, key: token}}
`;
}
