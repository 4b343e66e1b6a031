/**
 * Tests kubeconfigs whose login is a program, as those of EKS, GKE and AKS. Real small programs, the real program, a
 * real HTTPS server.
 */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { execLogin } from '../../src/clients/kubernetes/exec-login.ts';
import { readKubeconfig } from '../../src/clients/kubernetes/kubeconfig.ts';
import { readOneDocument } from '../../src/config/runnergroup/documents.ts';
import { CERTIFICATES, kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { TOKEN } from '../support/api-server.ts';
import { failureOf } from '../support/failure-of.ts';
import { answering } from '../support/kube-objects.ts';
import { folderWith, runCli, runHere } from '../support/run-cli.ts';
import { startWithJob } from '../support/start-acme.ts';

const V1 = 'client.authentication.k8s.io/v1';

/** Makes the output of a login program. */
function credential(status: object, apiVersion = V1): string {
  return JSON.stringify({ apiVersion, kind: 'ExecCredential', status });
}

/** A shell script that notes each start, and its environment; answers its path. */
function program(script: string): string {
  const file = join(folderWith({}), 'get-token');
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$*|$OWN|$KUBERNETES_EXEC_INFO" >> '${file}.starts'\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

const printing = (text: string): string => program(`cat <<'END'\n${text}\nEND`);

function startsOf(file: string): readonly string[] {
  return existsSync(`${file}.starts`) ? readFileSync(`${file}.starts`, 'utf8').trim().split('\n') : [];
}

/** Users of kubeconfigs as the clouds write them. */
const user = (command: string, more: object = {}): object => ({ exec: { apiVersion: V1, command, ...more } });

const commands = (folder: string): readonly (readonly string[])[] => [
  ['doctor', '-A'],
  ['explain', '-A'],
  ['explain', folder],
  ['explain', 'acme/web#1', folder],
  ['extend', 'ci-7-1-9c31e0aa'],
  ['sweep', '--dry-run', folder],
];

it('a program that gives a token logs in once in each command that people type', async () => {
  const { env, folder } = await startWithJob();
  for (const command of commands(folder)) {
    const server = await startCluster();
    const file = printing(credential({ token: TOKEN }));

    const { stdout, stderr } = await runHere([...command, '--kubeconfig', kubeconfigFor(server, user(file))], env);

    expect([command, startsOf(file).length]).toEqual([command, 1]);
    expect(server.seen.length, command.join(' ')).toBeGreaterThan(0);
    expect(stdout + stderr).not.toMatch(/GR-CLUSTER-(?:05|12|17)/);
    expect(stdout + stderr).not.toContain(TOKEN);
  }
}, 30_000);

it('a program that gives a token is started by nothing that runs by itself', async () => {
  const { env, folder } = await startWithJob();
  const server = await startCluster();
  const file = printing(credential({ token: TOKEN }));
  const kubeconfig = kubeconfigFor(server, user(file));

  for (const command of [
    ['generate', folder, '--kubeconfig', kubeconfig],
    ['generate', folder, '--secrets', 'api', '--kubeconfig', kubeconfig],
    ['serve', '--once', '--argocd-url', server.config.url, '--kubeconfig', kubeconfig],
  ]) {
    const outcome = await runCli(command, { ...env, ARGOCD_TOKEN: 'a-token' });

    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(outcome.stderr).toContain('GR-CLUSTER-12');
  }
  expect(startsOf(file)).toEqual([]);
});

describe('a login', () => {
  const read = (kubeconfig: string, timeoutMs = 5_000) =>
    readKubeconfig(kubeconfig, readOneDocument, execLogin({ env: { ...process.env, OWN: 'theirs' }, timeoutMs }));
  const config = { config: { url: 'https://api.example.com' } };

  it('a login may be a client certificate', async () => {
    const server = await startCluster({
      tls: { ...CERTIFICATES, requestCert: true },
      override: answering({ '': { kind: 'Status', gitVersion: 'v1.34.0' } }),
    });
    const { cert, key } = CERTIFICATES;
    const file = printing(credential({ clientCertificateData: cert, clientKeyData: key }));

    const { stdout, stderr } = await runHere(['doctor', '--kubeconfig', kubeconfigFor(server, user(file))]);

    expect(stderr).toBe('');
    expect(stdout).toContain('Kubernetes');
    expect(server.seen.length).toBeGreaterThan(1);
  });

  it('hands arguments, environment and what was asked for to the program', async () => {
    const file = printing(credential({ token: 't' }));
    const more = { args: ['get', '--cluster=c'], env: [{ name: 'OWN', value: 'ours' }], provideClusterInfo: true };

    await read(kubeconfigFor(config, user(file, more)));

    const [args, own, ...info] = startsOf(file)[0]?.split('|') ?? [];
    expect([args, own]).toEqual(['get --cluster=c', 'ours']);
    expect(JSON.parse(info.join('|'))).toEqual({
      apiVersion: V1,
      kind: 'ExecCredential',
      spec: {
        interactive: false,
        cluster: {
          server: 'https://api.example.com',
          'certificate-authority-data': Buffer.from(CERTIFICATES.ca).toString('base64'),
        },
      },
    });
  });

  it('a login is asked for again when it has expired, and by two at a time once', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const untilMs = Date.now() + 3_600_000;
    const file = printing(credential({ token: 't', expirationTimestamp: new Date(untilMs).toISOString() }));
    const kubeconfig = kubeconfigFor(config, user(file));

    const [first] = await Promise.all([read(kubeconfig), read(kubeconfig)]);
    await first.token?.();
    const before = startsOf(file).length;
    vi.setSystemTime(untilMs + 1);
    expect(await first.token?.()).toBe('t');

    expect([before, startsOf(file).length]).toEqual([1, 2]);
  });

  it('a login may be of the version that EKS and GKE write', async () => {
    const old = 'client.authentication.k8s.io/v1beta1';
    const file = printing(credential({ token: 't' }, old));

    const { token } = await read(
      kubeconfigFor(config, { exec: { apiVersion: old, command: file, args: null, env: null } }),
    );

    expect(await token?.()).toBe('t');
  });

  it('a login finds a program with a slash beside the kubeconfig', async () => {
    const file = printing(credential({ token: 't' }));
    const kubeconfig = kubeconfigFor(config, user('./get-token'));
    writeFileSync(join(dirname(kubeconfig), 'get-token'), readFileSync(file), { mode: 0o755 });

    expect(await (await read(kubeconfig)).token?.()).toBe('t');
  });

  it.each([
    [
      'is not there',
      { command: 'no-such-login', installHint: 'Install it with:\n\n  gcloud components install x\n' },
      'there. Install it with: gcloud components install x',
    ],
    [
      'is not there, without a hint',
      { command: 'no-such-login' },
      '"no-such-login" is not there. Install it, or add its folder to PATH.',
    ],
    ['may not be started', { command: '/etc/passwd' }, 'cannot be started: permission denied (EACCES)'],
    [
      'fails',
      { script: 'echo "first" >&2; echo "SSO session has expired" >&2; exit 255' },
      'ended with 255: first SSO session has expired. See whether kubectl can log in: kubectl --kubeconfig',
    ],
    ['dies', { script: 'kill -9 $$' }, 'ended with a signal. See'],
    [
      'hangs',
      { script: 'sleep 60 & sleep 60' },
      'has not ended within 0.3 s. If it waits for you, log in with kubectl first, or raise --timeout.',
    ],
    [
      'wants a person',
      { script: 'true', interactiveMode: 'Always' },
      'standard input is no terminal. Type the command in a terminal.',
    ],
    [
      'prints no JSON',
      { script: `echo ${TOKEN}` },
      'printed no ExecCredential of client.authentication.k8s.io/v1 (no JSON)',
    ],
    ['prints another version', { script: `echo '${credential({ token: TOKEN }, `${V1}beta1`)}'` }, '(apiVersion)'],
    [
      'prints a token of two lines',
      { script: `printf '%s' '${credential({ token: `${TOKEN}\n${TOKEN}` })}'` },
      '(status.token)',
    ],
    [
      'prints half a certificate',
      { script: `echo '${credential({ clientKeyData: TOKEN })}'` },
      'gave no token, and no client certificate with its key',
    ],
    ['prints nothing of use', { script: `echo '${credential({})}'` }, 'gave no token'],
    ['prints without an end', { script: 'yes' }, 'has not ended within 0.3 s'],
  ])(
    'a login says what is wrong with a program that %s',
    async (_, { script, command, ...more }: Readonly<Record<string, string>>, says) => {
      const kubeconfig = kubeconfigFor(config, user(command ?? program(script ?? ''), more));

      const timeoutMs = says.startsWith('has not ended') ? 300 : 20_000;

      const { code, exit, message } = await failureOf(read(kubeconfig, timeoutMs));

      expect([code, exit]).toEqual(['GR-CLUSTER-17', 1]);
      expect(message).toContain(says);
      expect(message).toContain(`log in with the program of kubeconfig ${kubeconfig}: "`);
      expect(message).not.toContain(TOKEN);
    },
  );

  it.each([
    [
      'of a version that kubectl has given up',
      { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' },
      'exec.apiVersion',
    ],
    ['without a program', { apiVersion: V1 }, 'exec.command'],
  ])('a login is refused %s', async (_, exec, says) => {
    const { code, message } = await failureOf(read(kubeconfigFor(config, { exec })));

    expect(code).toBe('GR-CLUSTER-12');
    expect(message).toContain(says);
  });

  it('a login does not hide what else cannot be done', async () => {
    const { code, message } = await failureOf(read(kubeconfigFor(config, { ...user('true'), as: 'root' })));

    expect([code, message]).toEqual(['GR-CLUSTER-12', expect.stringContaining('with as, which is not supported')]);
  });
});
