/** A group that is in trouble beside a good one. Real program, real Gitea simulator, real API server stand-in. */
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runnerName } from '../../src/planner/names.ts';
import { kubeconfigFor, liveJob, startCluster } from '../clients/kubernetes/through-cli.ts';
import type { Cluster } from '../support/api-server.ts';
import { folderWith, groupYaml, type runHere } from '../support/run-cli.ts';
import { startAcme, TOKEN } from '../support/start-acme.ts';

/** A server that nobody listens on any more. */
export const DEAD = 'http://127.0.0.1:1';
const NAMED = { namespace: 'runners', origin: DEAD, templateHash: 'of some day' };
/** Jobs of group `bad`: one waits for a CI job, one has begun its job. */
export const [WAITING, RUNNING] = [1, 2].map((id) =>
  runnerName('', { ...NAMED, name: 'bad' }, { id, attempt: 1 }, 0),
) as [string, string];
export const KNOWS_GROUPS = { KUBE_API_VERSIONS: 'v1,gitea.bpg.pw/v1alpha1/RunnerGroup' };

export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>>;
}

export function objects(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS());
}

/** A Secret per group, mounted as files: each with its own Gitea. */
export function secretsDir(
  secrets: Readonly<Record<string, { readonly token?: string; readonly url: string }>>,
): string {
  const files = Object.entries(secrets).flatMap(([name, { token = TOKEN, url }]) => [
    [`runners/${name}/token`, token],
    [`runners/${name}/url`, url],
  ]);
  return folderWith(Object.fromEntries(files));
}

export function yaml(name: string, url: string, spec = ''): string {
  return groupYaml(url, spec, name).replace('{name: gitea-api,', `{name: ${name}-api,`);
}

interface Stage {
  /** Returns the URL of Gitea for `bad`, from that for `good`. Absent: the same. */
  readonly badUrl?: (good: string) => string;
  /** Further lines of the spec of `bad`. */
  readonly badSpec?: string;
  readonly cluster?: Cluster;
}

/** A mistake: the key is `suspend`. */
export const MISSPELT = '  sucpend: true\n';

/** Starts group `good` with one queued job, beside group `bad`. */
export async function stage({ badUrl = (good) => good, badSpec = '', cluster = {} }: Stage = {}) {
  const { simulator } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
  const bad = badUrl(simulator.url);
  const now = Date.now();
  const jobs = { runners: [liveJob(WAITING, now), liveJob(RUNNING, now - 60_000)] };
  const server = await startCluster({ jobs, ...cluster });
  const files = { 'good.yaml': yaml('good', simulator.url), 'bad.yaml': yaml('bad', bad, badSpec) };
  const folder = folderWith(files);
  const secrets = secretsDir({ 'good-api': { url: simulator.url }, 'bad-api': { url: bad } });
  const env = { GITEA_RUNNERS_SECRETS_DIR: secrets, GITEA_RUNNERS_KUBECONFIG: kubeconfigFor(server) };
  return { env, folder, secrets, simulator };
}

/** The Jobs of `bad` are kept and not made, `good` gets its runner, and stderr says why. */
export function expectKept({ code, stdout, stderr }: Awaited<ReturnType<typeof runHere>>, why: RegExp): void {
  expect(stderr).toMatch(why);
  expect(stderr).toMatch(/warning: GR-\w+-\d+ RunnerGroup runners\/bad is left as it is: /);
  expect(code).toBe(0);
  const jobs = objects(stdout).filter(({ kind }) => kind === 'Job');
  const skipped = jobs.filter(({ metadata }) => metadata.annotations?.['argocd.argoproj.io/hook'] === 'Skip');
  expect(skipped.map(({ metadata }) => metadata.name).sort()).toEqual([WAITING, RUNNING].sort());
  const others = jobs.filter((job) => !skipped.includes(job)).map(({ metadata }) => metadata.name);
  expect(others).toEqual([expect.stringMatching(/^good-\d+-1-[0-9a-f]{8}$/)]);
}
