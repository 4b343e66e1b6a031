/** `--kubeconfig`: a hub Argo CD looks at the Jobs of the cluster where the runners run. Real program, real HTTPS server. */
import { describe, expect, it } from 'vitest';
import { kubeconfigFor, liveJob, newRunnerIn, startCluster } from '../clients/kubernetes/through-cli.ts';
import { type Cluster, TOKEN } from '../support/api-server.ts';
import { makeCertificates } from '../support/certificate.ts';
import { folderWith, runHere } from '../support/run-cli.ts';
import { startWithJob } from '../support/start-acme.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const OWN = makeCertificates();
const OWN_CERTIFICATE = { 'client-certificate-data': base64(OWN.cert), 'client-key-data': base64(OWN.key) };
const COMPLETE = { conditions: [{ type: 'Complete', status: 'True' }] };

/** A cluster in which the Job that would be printed has already come and gone: whoever sees that prints another name. */
async function usedUpName() {
  const { env, folder } = await startWithJob();
  const usedUp = newRunnerIn((await runHere(['generate', folder], env)).stdout);
  const server = await startCluster({ jobs: { runners: [liveJob(usedUp, Date.now(), COMPLETE)] } });
  return { env, folder, usedUp, server, kubeconfig: kubeconfigFor(server) };
}

it('--kubeconfig shows generate the live Jobs of that cluster, by flag and by environment', async () => {
  const { env, folder, usedUp, server, kubeconfig } = await usedUpName();

  const byFlag = await runHere(['generate', '--kubeconfig', kubeconfig, folder], env);
  const byEnvironment = await runHere(['generate', folder], { ...env, GITEA_RUNNERS_KUBECONFIG: kubeconfig });

  expect(byFlag).toMatchObject({ code: 0 });
  expect(newRunnerIn(byFlag.stdout)).toMatch(/^ci-/);
  expect(newRunnerIn(byFlag.stdout)).not.toBe(usedUp);
  expect(byEnvironment.stdout).toBe(byFlag.stdout);
  expect(new Set(server.seen.map(({ pathname }) => pathname))).toEqual(
    new Set([
      '/apis/batch/v1/namespaces/runners/jobs',
      '/api/v1/namespaces/runners/pods',
      '/apis/gitea.bpg.pw/v1alpha1/namespaces/runners/runnergroups',
    ]),
  );
});

it('--kubeconfig shows explain the same', async () => {
  const { env, folder, kubeconfig } = await usedUpName();

  const generated = await runHere(['generate', '--kubeconfig', kubeconfig, folder], env);
  const explained = await runHere(['explain', '--kubeconfig', kubeconfig, folder], env);

  expect(explained).toMatchObject({ code: 0 });
  expect(explained.stdout).toContain(newRunnerIn(generated.stdout));
});

it('--kubeconfig is not looked at with --cluster off', async () => {
  const { env, folder, usedUp, server, kubeconfig } = await usedUpName();

  const outcome = await runHere(['generate', '--kubeconfig', kubeconfig, '--cluster', 'off', folder], env);

  expect(newRunnerIn(outcome.stdout)).toBe(usedUp);
  expect(server.seen).toEqual([]);
});

it('--kubeconfig cannot be set by who writes the repository or the Application', async () => {
  const { env, folder, usedUp, server, kubeconfig } = await usedUpName();
  const hostile = {
    ARGOCD_ENV_GITEA_RUNNERS_KUBECONFIG: kubeconfig,
    ARGOCD_ENV_KUBECONFIG: kubeconfig,
    PARAM_KUBECONFIG: kubeconfig,
    PARAM_GITEA_RUNNERS_KUBECONFIG: kubeconfig,
    ARGOCD_APP_PARAMETERS: JSON.stringify([{ name: 'kubeconfig', string: kubeconfig }]),
    KUBECONFIG: kubeconfig,
  };

  const outcome = await runHere(['generate', folder], { ...env, ...hostile });

  expect(newRunnerIn(outcome.stdout)).toBe(usedUp);
  expect(server.seen).toEqual([]);
});

it('a kubeconfig of the environment must be an absolute path: the current folder is the repository', async () => {
  const { env, folder } = await startWithJob();

  const outcome = await runHere(['generate'], { ...env, GITEA_RUNNERS_KUBECONFIG: 'config' }, folder);

  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toContain('GR-FLAG-09');
});

describe('nothing is printed when the kubeconfig', () => {
  it('the kubeconfig cannot be read, with groups and without', async () => {
    const { env, folder } = await startWithJob();

    for (const command of ['generate', 'explain'] as const) {
      for (const groups of [folder, folderWith({})]) {
        const outcome = await runHere([command, '--kubeconfig', '/nowhere/config', groups], env);

        expect(outcome).toMatchObject({ code: 1, stdout: '' });
        expect(outcome.stderr).toContain('GR-CLUSTER-11');
      }
    }
  });

  it.each<readonly [string, object | undefined, Cluster, string]>([
    ['has no credentials', {}, {}, 'GR-CLUSTER-12'],
    ['names a cluster that shows another certificate', undefined, { tls: makeCertificates('elsewhere') }, 'GR-HTTP-05'],
    ['has a token that the cluster does not know', { token: `${TOKEN}-old` }, {}, 'GR-CLUSTER-05'],
    [
      'has a client certificate that the cluster does not know',
      OWN_CERTIFICATE,
      {},
      'does not know the client certificate, which is valid until ',
    ],
  ])('%s', async (_, user, cluster, errorCode) => {
    const { env, folder } = await startWithJob();
    const kubeconfig = kubeconfigFor(await startCluster(cluster), user);

    const { code, stdout, stderr } = await runHere(['generate', '-v', '--kubeconfig', kubeconfig, folder], env);

    expect([code, stdout]).toEqual([errorCode === 'GR-CLUSTER-12' ? 2 : 1, '']);
    expect(stderr).toContain(errorCode);
    expect(stderr).not.toContain(TOKEN);
    expect(stderr).not.toContain('--ca-file');
  });

  it('the kubeconfig names a cluster that does not answer', async () => {
    const { env, folder } = await startWithJob();
    const kubeconfig = kubeconfigFor({ config: { url: 'https://localhost:1', token: async () => '' } });

    const outcome = await runHere(['generate', '--kubeconfig', kubeconfig, folder], env);

    expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('GR-HTTP-01') });
  });
});
