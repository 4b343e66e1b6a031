/** `explain` from a machine outside of the cluster: what it cannot reach, and what it does not have. Real program, real HTTPS server. */
import { afterEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CERTIFICATES, kubeconfigFor } from '../clients/kubernetes/through-cli.ts';
import { type ApiServer, type Override, send, startApiServer, status } from '../support/api-server.ts';
import { folderWith, groupYaml, type Outcome, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

const servers: ApiServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** `explain -A` with kubectl's own cluster, which answers like this. */
async function explain(override: Override, env: Readonly<Record<string, string>>): Promise<Outcome> {
  const server = await startApiServer({ tls: CERTIFICATES, override });
  servers.push(server);
  return runHere(['explain', '-A'], { ...env, KUBECONFIG: kubeconfigFor(server) }, folderWith({}));
}

/** One group that has this Gitea, and the settings of the installation. */
function installation(url: string, data?: Readonly<Record<string, string>>): Override {
  const group = { ...parse(groupYaml(url)), status: {} };
  group.metadata.uid = 'uid-ci';
  return ({ pathname }, response) => {
    if (pathname.endsWith('/runnergroups'))
      send(response, 200, { kind: 'RunnerGroupList', metadata: {}, items: [group] });
    else if (pathname.endsWith('/argocd/configmaps/gitea-runners-settings') && data) send(response, 200, { data });
    else if (/\/(?:leases|applications|configmaps)\//.test(pathname)) status(response, 403, 'Forbidden');
    else return false;
    return true;
  };
}

const nameIn = ({ stdout, stderr }: Outcome): string => /ci-\d+-1-[0-9a-f]{8}/.exec(stdout)?.[0] ?? stderr;

it('has the names of runners that the settings of the installation give, unless it is told others', async () => {
  const { simulator, env } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
  const data = {
    GITEA_RUNNERS_INSTANCE: 'production',
    GITEA_RUNNERS_RUNNER_IMAGE: 'registry.example.com/runner:1',
    GITEA_RUNNERS_TIMEOUT: 'not ours to read',
  };
  const { GITEA_RUNNERS_TIMEOUT: _, ...settings } = data;
  const files = folderWith({ 'ci.yaml': groupYaml(simulator.url) });
  const runnerOf = async (own: Readonly<Record<string, string>>): Promise<string> =>
    nameIn(await runHere(['explain', files], { ...env, ...own }));

  const installed = nameIn(await explain(installation(simulator.url, data), env));
  const told = nameIn(await explain(installation(simulator.url, data), { ...env, GITEA_RUNNERS_INSTANCE: 'other' }));
  const unread = nameIn(await explain(installation(simulator.url), env));

  expect(installed).toBe(await runnerOf(settings));
  expect(told).toBe(await runnerOf({ ...settings, GITEA_RUNNERS_INSTANCE: 'other' }));
  expect(unread).toBe(await runnerOf({}));
  expect(new Set([installed, told, unread]).size).toBe(3);
});

/** A Secret as the API server has it. */
const secret = (keys: Readonly<Record<string, string>>) => ({
  kind: 'Secret',
  data: Object.fromEntries(Object.entries(keys).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
});

it.each([
  ['argocd', {}],
  ['runners', { GITEA_RUNNERS_SECRETS: 'api' }],
])('finds the API token where the installation has it: namespace %s', async (namespace, settings) => {
  const { simulator, env } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
  const asked: string[] = [];
  const mount = {
    spec: {
      template: {
        spec: {
          containers: [
            {
              name: 'gitea-runners',
              volumeMounts: [{ name: 'api', mountPath: '/var/run/secrets/gitea-runners/gitea-api' }],
            },
          ],
          volumes: [{ name: 'api', secret: { secretName: 'gitea-api' } }],
        },
      },
    },
  };
  const others = installation(simulator.url, settings);
  const outcome = await explain((request, response, message) => {
    const { pathname } = request;
    if (pathname.includes('/secrets/')) asked.push(pathname);
    if (pathname.endsWith('/deployments/argocd-repo-server')) send(response, 200, mount);
    else if (pathname === `/api/v1/namespaces/${namespace}/secrets/gitea-api`)
      send(response, 200, secret({ token: env['GITEA_TOKEN'] ?? '', url: simulator.url }));
    else if (pathname.includes('/secrets/')) status(response, 404, 'NotFound');
    else return others(request, response, message);
    return true;
  }, {});

  expect(outcome.stderr).not.toContain('GR-TOKEN');
  expect(nameIn(outcome)).toMatch(/^ci-/);
  expect(asked).toContain(`/api/v1/namespaces/${namespace}/secrets/gitea-api`);
});

it('never advises to put the API token beside the pods of CI jobs', async () => {
  const { simulator } = await startAcme();
  const others = installation(simulator.url, {});
  const { code, stderr } = await explain((request, response, message) => {
    if (!request.pathname.includes('/secrets/')) return others(request, response, message);
    status(response, 404, 'NotFound');
    return true;
  }, {});

  expect(code).toBe(1);
  expect(stderr).toMatch(/GR-(TOKEN-10|DOCTOR-02) .*/);
  expect(stderr).not.toMatch(/(-n|--namespace)[ =]runners/);
});

it('says how to ask from inside when only the cluster reaches Gitea', async () => {
  const url = 'http://127.0.0.1:1';

  const { code, stdout, stderr } = await explain(installation(url), { GITEA_URL: url, GITEA_TOKEN: 'any-token' });

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^From inside the cluster: kubectl -n argocd exec deploy\/gitea-runners -- gitea-runners explain\n\nerror: GR-HTTP-01 /m,
  );
});

it('says to a member, who is no owner, how to ask with the token of the installation', async () => {
  const { simulator } = await startAcme();
  simulator.gitea.addUser('bob');
  simulator.gitea.addToken('bob', ['read:organization'], 'token-of-bob-0123456789');
  const files = folderWith({ 'ci.yaml': groupYaml(simulator.url) });

  const { code, stderr } = await runHere(['explain', files], {
    GITEA_URL: simulator.url,
    GITEA_TOKEN: 'token-of-bob-0123456789',
  });

  expect(code).toBe(1);
  expect(stderr).toMatch(/error: GR-GITEA-02 /);
  expect(stderr).toContain(
    'Gitea tells owners only. Who is none asks with the token of the installation. From inside the cluster: kubectl -n argocd exec deploy/gitea-runners -- gitea-runners explain\n',
  );
});

it.each([
  [
    404,
    /GR-CLUSTER-16 .* does not know RunnerGroups \(404\)\. Look at the cluster of the installation \(--kubeconfig\), or /,
  ],
  [403, /GR-CLUSTER-06 .* in the whole cluster, or choose another namespace\.\n$/],
])('says what may be wrong when the cluster answers %d for RunnerGroups', async (code, says) => {
  const outcome = await explain((_, response) => {
    status(response, code, 'No');
    return true;
  }, {});

  expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(says) });
});
