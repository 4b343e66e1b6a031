/** docs/page.md, walked on a real cluster: the page comes with the chart, behind an Ingress with TLS, and a person signs in with Gitea. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SERVE_SELECTOR } from '../../src/shared/installed/installed-names.ts';
import { docScript } from '../packaging/doc-blocks.ts';
import { addPerson, registerPage, signIn, startChromium } from '../servers/page-rig.ts';
import { makeCertificates } from '../support/certificate.ts';
import { TlsFront } from '../support/tls-front.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { type Installation, ORG } from './install.ts';
import { addGroup, type Begun, begin } from './one-job.ts';
import { succeeds } from './stack/kubernetes.ts';
import type { Stack } from './stack/stack.ts';

const HOST = 'runners.example.com';

let stack: Stack;
let installation: Installation;
let kubectl: Begun['kubectl'];
let ingress: TlsFront;
let browser: Browser;
let page: Page;
let url: string;

/** True if a replica answers behind the Service. */
function answers(): Promise<boolean> {
  return succeeds(stack.machine.run('curl', ['--silent', '--max-time', '1', ingress.target]));
}

beforeAll(async () => {
  ({ stack, installation, kubectl } = await begin('page', 600));
  const { gitea, machine } = stack;
  ingress = await TlsFront.start('', makeCertificates(HOST), machine.outside);
  url = `https://${HOST}:${ingress.port}`;
  browser = await startChromium(`MAP ${HOST} ${machine.outside}`);
  await addPerson(gitea, 'olga');
  const [team] = (await gitea.admin.call('GET', `/orgs/${ORG}/teams`)) as readonly { readonly id: number }[];
  await gitea.admin.call('PUT', `/teams/${team?.id}/members/olga`);
});

closeAfterTests(() => stack);

afterAll(async () => {
  await browser?.close();
  ingress?.close();
});

it('comes with the chart of an installation that had none', async () => {
  const { client_id: clientId, client_secret: secret } = await registerPage(stack.gitea, url);
  installation.set('PAGE_CLIENT_SECRET', secret);
  installation.writeValues({});
  await installation.block('helm', 'helm-sidecar');
  await stack.kubernetes.refreshDns();
  await installation.block('secrets', 'application');
  await addGroup(stack);

  await installation.shell('page-secret', docScript(readFileSync('docs/page.md', 'utf8'), 'page-secret'));
  installation.writeValues({ page: { enabled: true, url, gitea: stack.gitea.url, clientId } });
  // Until the old pods are gone, the Service also leads to them: it has the port as a number, and only the new pods
  // answer there.
  await stack.replacePods('argocd', 'gitea-runners', () => installation.block('helm'));

  const { field } = stack.kubernetes;
  ingress.target = `http://${await field('{.spec.clusterIP}', 'service', 'gitea-runners-page', '-n', 'argocd')}`;
  // The pod is ready a moment before kube-proxy leads its Service there. A connection of that moment is lost for two
  // minutes.
  await stack.machine.until('the page', answers);
  page = await signIn(browser, url, 'olga', { ignoreHTTPSErrors: true });
});

it('the page shows a person his job with its runner, and an owner of the group also pod and node', async () => {
  await stack.gitea.admin.dispatch(`${ORG}/web`, 'build.yml');
  const row = page.locator('li', { has: page.locator('.running') });
  await row.getByRole('link', { name: 'build', exact: true }).waitFor({ timeout: 120_000 });
  const pod = await stack.kubernetes.field('{.items[0].metadata.name}', 'pods', '-n', 'runners');

  await page.getByRole('link', { name: 'build', exact: true }).click();
  await page.getByRole('heading', { name: 'Why' }).waitFor();
  expect(await page.innerText('main')).toContain(pod.replace(/-\w+$/, ''));
  await page.goto(`${url}/groups/runners/ci`);
  expect(await page.innerText('section[aria-labelledby=runners]')).toMatch(new RegExp(`\\b${pod}\\s+node1\\b`));
});

it('loses no request while its replicas are replaced', async () => {
  const answered: boolean[] = [];
  let isOver = false;
  const ask = async (): Promise<void> => {
    while (!isOver) answered.push(await answers());
  };
  const asking = [ask(), ask()];
  await stack.replacePods('argocd', 'gitea-runners', () =>
    kubectl('rollout', 'restart', '-n', 'argocd', 'deployment/gitea-runners'),
  );
  isOver = true;
  await Promise.all(asking);

  expect(answered.length).toBeGreaterThan(50);
  expect(answered.filter((each) => !each)).toEqual([]);
});

it('the page is the same on each replica of serve, for a person who signed in at another one', async () => {
  const addresses = await stack.kubernetes.field(
    '{.items[*].status.podIP}',
    'pods',
    '-n',
    'argocd',
    '-l',
    SERVE_SELECTOR,
  );

  expect(addresses.split(' ')).toHaveLength(2);
  for (const address of addresses.split(' ')) {
    ingress.target = `http://${address}:8082`;
    await page.goto(url);
    await page.getByRole('link', { name: 'build', exact: true }).waitFor({ timeout: 30_000 });
  }
});
