/** `proxy` and `caBundle` of a RunnerGroup change nothing about where the generator sends the API token (docs/adr/0032). */
import { expect, test } from 'vitest';
import { makeCertificates } from '../../support/certificate.ts';
import { fakeGitea, jobRow } from '../../support/gitea-stand-in.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { folderWith, groupYaml, runHere } from '../../support/run-cli.ts';
import { serveTls } from '../../support/server.ts';

const SECRET = 'gitea-token-0123456789abcdef';

function spec(proxy: string): string {
  return `  proxy: {http: "${proxy}", https: "${proxy}"}
  caBundle: {configMapRef: {name: private-ca, key: ca.crt}}
`;
}

type Texts = Readonly<Record<string, string>>;

/** Runs `generate` in a folder with a group of this Gitea. @param files further files of the folder */
async function generate(gitea: string, spec: string, env: Texts = {}, files: Texts = {}) {
  const folder = folderWith({ 'ci.yaml': groupYaml(gitea, spec), ...files });
  return await runHere(['generate', '--cluster', 'off'], { GITEA_URL: gitea, GITEA_TOKEN: SECRET, ...env }, folder);
}

test('the generator, with a group that names a proxy asks Gitea itself: the proxy of the group sees nothing', async () => {
  const gitea = await fakeGitea({ jobs: [jobRow(7, 'queued', { labels: ['linux'] })] });
  const proxy = await proxyServer();

  const outcome = await generate(gitea.origin, spec(proxy.origin));

  expect(outcome).toMatchObject({ code: 0, stderr: expect.stringContaining('1 runner') });
  expect(outcome.stdout).toContain(`"http_proxy"\n              value: "${proxy.origin}"`);
  expect(proxy.lines).toEqual([]);
});

test('the generator, with a group that names a proxy goes through the proxy of its environment and through no other one', async () => {
  const gitea = await fakeGitea({ jobs: [] });
  const [own, ofGroup] = [await proxyServer(), await proxyServer()];
  const env = { HTTP_PROXY: own.origin };

  expect(await generate(gitea.origin, spec(ofGroup.origin), env)).toMatchObject({ code: 0 });

  expect(own.lines.length).toBeGreaterThan(0);
  expect(ofGroup.lines).toEqual([]);
});

test('the generator, with a group that names a proxy takes no proxy from what Argo CD hands on from an Application', async () => {
  const gitea = await fakeGitea({ jobs: [] });
  const proxy = await proxyServer();
  const ofTenant = Object.fromEntries(
    ['HTTP_PROXY', 'http_proxy'].flatMap((name) => [
      [`ARGOCD_ENV_${name}`, proxy.origin],
      [`PARAM_${name}`, proxy.origin],
    ]),
  );

  expect(await generate(gitea.origin, '', ofTenant)).toMatchObject({ code: 0 });

  expect(proxy.lines).toEqual([]);
});

test('the generator, with a group that names a proxy trusts no CA that lies in the folder of the groups, nor one that the group names', async () => {
  const certificates = makeCertificates();
  const asked: (string | undefined)[] = [];
  const gitea = await serveTls(certificates, (incoming, response) => {
    asked.push(incoming.headers.authorization);
    response.end();
  });
  const files = { 'ca.crt': certificates.ca, 'private-ca/ca.crt': certificates.ca };

  const outcome = await generate(gitea.origin, spec('http://127.0.0.1:1'), {}, files);

  expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('GR-HTTP-05') });
  expect(asked).toEqual([]);
});
