/**
 * A real Gitea with a certificate of a private CA, which nobody reaches but squid, and squid wants a login.
 *
 *   generate, runner, curl, git ──► squid (login) ──► gitea.test (TLS) ──► Gitea
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { makeCertificates } from '../support/certificate.ts';
import type { Outcome } from '../support/run-cli.ts';
import { TlsFront } from '../support/tls-front.ts';
import { writeGroups } from './generate.ts';
import { readManifests } from './manifest.ts';
import { type Pod, startPod } from './pod.ts';
import { tail, waitUntil } from './process.ts';
import { useSite } from './site.ts';
import { GITEA_NAME, type Squid, startSquid } from './squid.ts';

const LOGIN = { username: 'runners', password: 'p@ss:w/rd' };
const ENCODED = encodeURIComponent(LOGIN.password);
const certificates = makeCertificates(GITEA_NAME);

let squid: Squid;
let front: TlsFront;
let url = '';
let caFile = '';
let folder = '';

const site = useSite('proxy', { version: '1.27.3' }, async ({ admin, gitea, playground }) => {
  squid = await startSquid(playground, LOGIN);
  front = await TlsFront.start(gitea.url, certificates);
  url = `https://${GITEA_NAME}:${front.port}`;
  caFile = join(playground.folder, 'ca.crt');
  writeFileSync(caFile, certificates.ca);
  const steps = [
    { run: `curl -fsS ${url}/api/v1/version` },
    { run: `git ls-remote ${url.replace('://', '://x:$' + '{{ github.token }}@')}/acme/web.git` },
    { run: `curl -fsS --noproxy '*' ${url} || echo "not without the proxy"` },
  ];
  const text = stringify({ on: 'workflow_dispatch', jobs: { one: { 'runs-on': 'any', steps } } });
  await site.addRepository('web', { 'one.yml': text });
  await admin.dispatch('acme/web', 'one.yml');
  folder = playground.makeFolder('behind-the-proxy');
  const proxy = `http://${squid.host}`;
  const more = {
    proxy: { http: proxy, https: proxy, secretRef: { name: 'proxy-login' } },
    caBundle: { configMapRef: { name: 'private-ca', key: 'root.pem' } },
  };
  writeGroups(folder, url, [{ name: 'ci', labels: ['any:host'], cap: 1, more }]);
});

afterAll(() => front?.close());

/** `gitea-runners` with the proxy and the CA of an installation. */
function ours(command: string, password: string): Promise<Outcome> {
  return site.ours([command, '--cluster', 'off', folder], {
    GITEA_URL: url,
    HTTPS_PROXY: `http://${LOGIN.username}:${password}@${squid.host}`,
    GITEA_RUNNERS_CA_FILE: caFile,
  });
}

/** The pod that `generate` prints, whose Secret has this password. */
async function startRunner(password: string): Promise<Pod & { readonly name: string }> {
  const { stdout } = await ours('generate', ENCODED);
  const [job] = readManifests(stdout);
  if (job === undefined) throw new Error(`no Job is printed:\n${stdout}`);
  const world = await site.world({ 'proxy-login/username': LOGIN.username, 'proxy-login/password': password });
  const configMaps = new Map([['private-ca/root.pem', certificates.ca]]);
  return { ...startPod(job, { ...world, configMaps }), name: job.metadata.name };
}

describe('through a proxy that wants a login, to a Gitea with a private CA', () => {
  it.each(['generate', 'explain'])('%s looks at Gitea', async (command) => {
    const { code, stdout, stderr } = await ours(command, ENCODED);

    expect(code, stderr).toBe(0);
    expect(stdout).toContain('ci-');
    expect(squid.log()).toContain(`CONNECT ${new URL(url).host} ${LOGIN.username} 200`);
  });

  it('says which proxy refuses the login, and never the login', async () => {
    const { code, stdout, stderr } = await ours('generate', 'wr0ng');

    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`GR-HTTP-08`);
    expect(stderr).toContain(`the proxy ${squid.host} wants a login, or another one (407)`);
    expect(stderr).not.toMatch(/wr0ng|runners:/);
  });

  it('a runner registers and runs a CI job, whose curl and git go the same way', async () => {
    const before = squid.log().length;

    const { name, running } = await startRunner(ENCODED);
    const done = await site.job('one', 'completed');

    const log = await site.admin.logOf(done);
    expect([done.conclusion, done.runner_name], log).toEqual(['success', name]);
    expect(log).toContain('refs/heads/');
    expect(log).toContain('not without the proxy');
    expect(squid.log().length - before).toBeGreaterThanOrEqual(4);
    expect(tail(running.logFile)).not.toContain(ENCODED);
  });

  it('a runner with a wrong login does not register, and its log does not show the login', async () => {
    await site.admin.dispatch('acme/web', 'one.yml');
    await site.job('one', 'queued');

    const { running } = await startRunner('wr0ng');
    const said = () => tail(running.logFile).includes('Proxy Authentication Required');
    await waitUntil('the runner says why', said, { running });
    site.playground.endSession(running);

    expect(tail(running.logFile)).not.toContain('wr0ng');
  });
});
