/** `explain` from a machine outside of the cluster: what it cannot reach, and what it does not have. Real program, real HTTPS server. */
import { expect, it } from 'vitest';
import { kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { answering, groupList, groupObject, secretObject } from '../support/kube-objects.ts';
import { folderWith, groupYaml, type Outcome, runHere } from '../support/run-cli.ts';
import { startAcme, startWithJob, TOKEN } from '../support/start-acme.ts';

type Answers = Parameters<typeof answering>[0];

/** `explain -A` with kubectl's own cluster, which answers like this. */
async function explain(answers: Answers, env: Readonly<Record<string, string>>): Promise<Outcome> {
  const server = await startCluster({ override: answering(answers) });
  return runHere(['explain', '-A'], { ...env, KUBECONFIG: kubeconfigFor(server) }, folderWith({}));
}

/** Makes an installation with one group of this Gitea, and its settings. */
function installation(url: string, data?: Readonly<Record<string, string>>): Answers {
  return {
    '/runnergroups': groupList([groupObject(groupYaml(url), {})]),
    '/argocd/configmaps/gitea-runners-settings': data ? { data } : 403,
    '/leases/gitea-runners-serve': 403,
    '/applications/runners': 403,
  };
}

const nameIn = ({ stdout, stderr }: Outcome): string => /ci-\d+-1-[0-9a-f]{8}/.exec(stdout)?.[0] ?? stderr;

it('explain uses the names of runners from the settings of the installation, unless flags give others', async () => {
  const { simulator, env, folder: files } = await startWithJob();
  const data = {
    GITEA_RUNNERS_INSTANCE: 'production',
    GITEA_RUNNERS_RUNNER_IMAGE: 'registry.example.com/runner:1',
    GITEA_RUNNERS_TIMEOUT: 'not ours to read',
  };
  const { GITEA_RUNNERS_TIMEOUT: _, ...settings } = data;
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

it.each([
  ['argocd', {}],
  ['runners', { GITEA_RUNNERS_SECRETS: 'api' }],
])('explain finds the API token where the installation has it: namespace %s', async (namespace, settings) => {
  const { simulator, env } = await startWithJob();
  const volumeMounts = [{ name: 'api', mountPath: '/var/run/secrets/gitea-runners/gitea-api' }];
  const spec = {
    containers: [{ name: 'gitea-runners', volumeMounts }],
    volumes: [{ name: 'api', secret: { secretName: 'gitea-api' } }],
  };
  const token = secretObject({ token: env['GITEA_TOKEN'] ?? '', url: simulator.url });

  const outcome = await explain(
    {
      ...installation(simulator.url, settings),
      '/deployments/argocd-repo-server': { spec: { template: { spec } } },
      [`/api/v1/namespaces/${namespace}/secrets/gitea-api`]: token,
    },
    {},
  );

  expect(outcome.stderr).not.toContain('GR-TOKEN');
  expect(nameIn(outcome)).toMatch(/^ci-/);
});

it('explain never advises to put the API token beside the pods of CI jobs', async () => {
  const { simulator } = await startAcme();

  const { code, stderr } = await explain(installation(simulator.url, {}), {});

  expect(code).toBe(1);
  expect(stderr).toMatch(/GR-(TOKEN-10|DOCTOR-02) .*/);
  expect(stderr).not.toMatch(/(-n|--namespace)[ =]runners/);
});

it('explain says how to ask from inside when only the cluster reaches Gitea', async () => {
  const url = 'http://127.0.0.1:1';

  const { code, stdout, stderr } = await explain(installation(url), { GITEA_URL: url, GITEA_TOKEN: 'any-token' });

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^From inside the cluster: kubectl -n argocd exec deploy\/gitea-runners -- gitea-runners explain\n\nerror: GR-HTTP-01 /m,
  );
});

it('explain does not advise to ask from inside when Gitea asks to wait', async () => {
  const { simulator } = await startAcme();
  simulator.intercept((_, response) => {
    response.writeHead(429, { 'retry-after': '600' }).end();
    return true;
  });

  const { code, stderr } = await explain(installation(simulator.url), { GITEA_URL: simulator.url, GITEA_TOKEN: TOKEN });

  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('error: GR-HTTP-10 ') });
  expect(stderr).not.toContain('From inside');
});

it('explain tells a member who is not an owner how to ask with the token of the installation', async () => {
  const { simulator, folder: files } = await startAcme();
  simulator.gitea.addUser('bob');
  simulator.gitea.addToken('bob', ['read:organization'], 'token-of-bob-0123456789');

  const { code, stderr } = await runHere(['explain', files], {
    GITEA_URL: simulator.url,
    GITEA_TOKEN: 'token-of-bob-0123456789',
  });

  expect(code).toBe(1);
  expect(stderr).toMatch(/error: GR-GITEA-02 /);
  expect(stderr).toContain(
    '\nIf you are no owner, ask with the token of the installation. From inside the cluster: kubectl -n argocd exec deploy/gitea-runners -- gitea-runners explain\n',
  );
});

it.each([
  [
    404,
    /GR-CLUSTER-16 .* does not know RunnerGroups \(404\)\. Look at the cluster of the installation \(--kubeconfig\), or /,
  ],
  [403, /GR-CLUSTER-06 .* in the whole cluster, or choose another namespace\.\n$/],
])('explain says what may be wrong when the cluster answers %d for RunnerGroups', async (code, says) => {
  const outcome = await explain({ '/runnergroups': code }, {});

  expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(says) });
});
