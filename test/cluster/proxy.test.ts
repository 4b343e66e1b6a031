/**
 * Runner pods on a real kubelet behind squid, which wants a login, with a Gitea whose certificate is of a private CA. No pod can resolve
 * Gitea's name: only squid knows it.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GITEA_NAME, type Squid, startSquid } from '../servers/squid.ts';
import { makeCertificates } from '../support/certificate.ts';
import { TlsFront } from '../support/tls-front.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { DOCKER_MODES, PodsRig, type Wanted } from './pods-rig.ts';

const USERNAME = 'runners';
const PASSWORD = 'p@ss:w/rd';

let rig: PodsRig;
let squid: Squid;
let front: TlsFront;
let image: string;
let url: string;
let caFile: string;

beforeAll(async () => {
  rig = await PodsRig.start('proxy');
  const { machine, playground, gitea, kubernetes } = rig;
  const certificates = makeCertificates(GITEA_NAME);
  caFile = join(playground.folder, 'ca.crt');
  writeFileSync(caFile, certificates.ca);
  front = await TlsFront.start(gitea.url, certificates, machine.outside);
  url = `https://${GITEA_NAME}:${front.port}`;
  squid = await startSquid(playground, { username: USERNAME, password: PASSWORD, address: machine.outside });
  image = await rig.serveCiImage('/usr/bin/curl');
  const login = [`--from-literal=username=${USERNAME}`, `--from-literal=password=${encodeURIComponent(PASSWORD)}`];
  const secret = ['create', 'secret', 'generic', 'proxy-login', '-n', 'runners', '--type=kubernetes.io/basic-auth'];
  await kubernetes.kubectl([...secret, ...login]);
  const ca = ['create', 'configmap', 'private-ca', '-n', 'runners', `--from-file=ca.crt=${caFile}`];
  await kubernetes.kubectl(ca);
  const ask = `curl -fsS ${url}/api/v1/version; grep -c BEGIN /usr/local/share/ca-certificates/gitea-runner/ca.crt`;
  await rig.addWorkflow('ask.yml', ask, { 'runs-on': 'container' });
});

closeAfterTests(() => rig);

afterAll(() => front?.close());

function wanted(mode: (typeof DOCKER_MODES)[number]): Wanted {
  const proxy = `http://${squid.host}`;
  return {
    ...mode,
    labels: [`container:docker://${image}`],
    url,
    seesJobs: true,
    spec: {
      proxy: { http: proxy, https: proxy, secretRef: { name: 'proxy-login' } },
      caBundle: { configMapRef: { name: 'private-ca', key: 'ca.crt' } },
    },
    env: {
      HTTPS_PROXY: `http://${USERNAME}:${encodeURIComponent(PASSWORD)}@${squid.host}`,
      GITEA_RUNNERS_CA_FILE: caFile,
    },
  };
}

describe.each(DOCKER_MODES)('containerMode $mode', (mode) => {
  it('registers, pulls an image and runs a CI job in a container, all of it through the proxy', async () => {
    const before = squid.log().length;
    const printed = await rig.queue('ask.yml', wanted(mode));

    const { name, log } = await rig.run(printed);

    const asked = squid
      .log()
      .slice(before)
      .filter((line) => line.includes(` ${USERNAME} 200`));
    expect(log).toContain('"version":"1.27.3"');
    // dockerd, for the image.
    expect(asked.join('\n')).toContain(`GET http://${image.split('/', 1)}/v2/ci/blobs/`);
    expect(asked.join('\n')).toContain(`CONNECT ${new URL(url).host} `);
    expect(await rig.logOf(name, 'register')).not.toContain(encodeURIComponent(PASSWORD));
  });
});
