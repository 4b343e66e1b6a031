/**
 * A real Gitea with a certificate of a private CA, which nobody reaches but squid, and squid wants a login.
 *
 *   generate, runner, curl, git ──► squid (login) ──► gitea.test (TLS) ──► Gitea
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { makeCertificates } from '../support/certificate.ts';
import { TlsFront } from '../support/tls-front.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { readManifests } from './manifest.ts';
import { startPod } from './pod.ts';
import { Playground, tail, waitUntil } from './process.ts';
import { type Ran, runProgram } from './program.ts';
import { GITEA_NAME, type Squid, startSquid } from './squid.ts';

const LOGIN = { username: 'runners', password: 'p@ss:w/rd' };
const ENCODED = encodeURIComponent(LOGIN.password);
const LEVEL = '/orgs/acme';
const certificates = makeCertificates(GITEA_NAME);

let playground: Playground;
let gitea: Gitea;
let squid: Squid;
let front: TlsFront;
let url = '';
let caFile = '';

beforeAll(async () => {
  playground = new Playground('proxy');
  gitea = await startGitea('1.27.3', inject('builds').gitea['1.27.3'], playground);
  squid = await startSquid(playground, LOGIN);
  front = await TlsFront.start(gitea.url, certificates);
  url = `https://${GITEA_NAME}:${front.port}`;
  caFile = join(playground.folder, 'ca.crt');
  writeFileSync(caFile, certificates.ca);
  const { admin } = gitea;
  await admin.createOrg('acme');
  await admin.createRepo('web', 'acme');
  const steps = [
    { run: `curl -fsS ${url}/api/v1/version` },
    { run: `git ls-remote ${url.replace('://', '://x:$' + '{{ github.token }}@')}/acme/web.git` },
    { run: `curl -fsS --noproxy '*' ${url} || echo "not without the proxy"` },
  ];
  const text = stringify({ on: 'workflow_dispatch', jobs: { one: { 'runs-on': 'any', steps } } });
  await admin.addWorkflow('acme/web', 'one.yml', text);
  await admin.dispatch('acme/web', 'one.yml');
});

afterAll(async () => {
  front?.close();
  await playground?.close();
});

/** `gitea-runners` with the proxy and the CA of an installation. */
function ours(words: readonly string[], password: string): Promise<Ran> {
  const folder = playground.makeFolder('groups');
  const proxy = `http://${squid.host}`;
  const spec = {
    scope: 'org',
    org: 'acme',
    gitea: { url },
    labels: ['any:host'],
    containerMode: 'host',
    maxActiveRunners: 1,
    registrationToken: { secretRef: { name: 'registration', key: 'token' } },
    authToken: { secretRef: { name: 'not-mounted', key: 'token' } },
    proxy: { http: proxy, https: proxy, secretRef: { name: 'proxy-login' } },
    caBundle: { configMapRef: { name: 'private-ca', key: 'root.pem' } },
  };
  const group = { apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerGroup', metadata: { name: 'ci' }, spec };
  writeFileSync(join(folder, 'ci.yaml'), stringify(group));
  const env = {
    GITEA_URL: url,
    GITEA_TOKEN: gitea.admin.token,
    HTTPS_PROXY: `http://${LOGIN.username}:${password}@${squid.host}`,
    GITEA_RUNNERS_CA_FILE: caFile,
    GITEA_RUNNERS_CLUSTER: 'off',
  };
  return runProgram([...words, folder], env);
}

describe('through a proxy that wants a login, to a Gitea with a private CA', () => {
  it.each(['generate', 'explain'])('%s looks at Gitea', async (command) => {
    const { exit, stdout, stderr } = await ours([command], ENCODED);

    expect(exit, stderr).toBe(0);
    expect(stdout).toContain('ci-');
    expect(squid.log()).toContain(`CONNECT ${new URL(url).host} ${LOGIN.username} 200`);
  });

  it('says which proxy refuses the login, and never the login', async () => {
    const { exit, stdout, stderr } = await ours(['generate'], 'wr0ng');

    expect([exit, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`GR-HTTP-08`);
    expect(stderr).toContain(`the proxy ${squid.host} wants a login, or another one (407)`);
    expect(stderr).not.toMatch(/wr0ng|runners:/);
  });

  it('a runner registers and runs a CI job, whose curl and git go the same way', async () => {
    const { stdout } = await ours(['generate'], ENCODED);
    const [job] = readManifests(stdout);
    if (job === undefined) throw new Error(`no Job is printed:\n${stdout}`);
    const { admin } = gitea;
    const before = squid.log().length;

    const pod = startPod(job, {
      playground,
      runner: inject('builds').runner,
      secrets: new Map([
        ['registration/token', await admin.registrationToken(LEVEL)],
        ['proxy-login/username', LOGIN.username],
        ['proxy-login/password', ENCODED],
      ]),
      configMaps: new Map([['private-ca/root.pem', certificates.ca]]),
    });
    const ended = async (): Promise<boolean> => (await admin.jobs(LEVEL, 'completed')).length === 1;
    await waitUntil('the CI job ends', ended, { timeoutMs: 120_000 });

    const [done] = await admin.jobs(LEVEL, 'completed');
    const { body: log } = await admin.ask('GET', `/repos/acme/web/actions/jobs/${done?.id}/logs`);
    expect([done?.conclusion, done?.runner_name], String(log)).toEqual(['success', job.metadata.name]);
    expect(log).toContain('refs/heads/');
    expect(log).toContain('not without the proxy');
    expect(squid.log().length - before).toBeGreaterThanOrEqual(4);
    expect(tail(pod.running.logFile)).not.toContain(ENCODED);
  });

  it('a runner with a wrong login does not register, and its log does not show the login', async () => {
    await gitea.admin.dispatch('acme/web', 'one.yml');
    const queued = async (): Promise<boolean> => (await gitea.admin.jobs(LEVEL, 'queued')).length === 1;
    await waitUntil('a job is queued', queued, { timeoutMs: 30_000 });
    const { stdout } = await ours(['generate'], ENCODED);
    const [job] = readManifests(stdout);
    if (job === undefined) throw new Error(`no Job is printed:\n${stdout}`);

    const { running } = startPod(job, {
      playground,
      runner: inject('builds').runner,
      secrets: new Map([
        ['registration/token', await gitea.admin.registrationToken(LEVEL)],
        ['proxy-login/username', LOGIN.username],
        ['proxy-login/password', 'wr0ng'],
      ]),
      configMaps: new Map([['private-ca/root.pem', certificates.ca]]),
    });
    const said = async (): Promise<boolean> => tail(running.logFile).includes('Proxy Authentication Required');
    await waitUntil('the runner says why', said, { timeoutMs: 60_000, running });
    playground.endSession(running);

    expect(tail(running.logFile)).not.toContain('wr0ng');
  });
});
