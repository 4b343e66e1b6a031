/** The manual's commands when something is wrong: nothing is applied, least of all a Secret without a value. And when all is well, twice. */
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type BlockRun, Reader, VARIABLES } from './run-block.ts';

const SHELLS = ['sh', 'bash', 'dash', 'zsh', 'busybox'].filter(
  (shell) => spawnSync(shell, shell === 'busybox' ? ['sh', '-c', 'true'] : ['-c', 'true']).status === 0,
);

/** The variables that each block needs. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  image: ['IMAGE'],
  install: ['IMAGE', 'GITEA_URL', 'GITEA_API_TOKEN'],
  secrets: ['GITEA_URL', 'GITEA_ORG', 'GITEA_OWNER_TOKEN'],
  application: ['REPO_URL'],
  webhook: ['GITEA_URL', 'GITEA_ORG', 'GITEA_OWNER_TOKEN', 'WEBHOOK_URL'],
  helm: ['GITEA_URL', 'GITEA_API_TOKEN', 'CHART', 'VALUES'],
  'helm-sidecar': ['IMAGE'],
  'helm-argocd': ['IMAGE'],
  kustomize: ['GITEA_URL', 'GITEA_API_TOKEN', 'KUSTOMIZATION'],
};

/** Runs a block on a cluster that has the Secret of the webhooks. */
function runOnce(run: BlockRun) {
  const reader = new Reader();
  const before = run.name === 'webhook' ? reader.run({ name: 'secrets' }) : { applied: '', hooks: '' };
  const after = reader.run(run);
  return {
    code: after.code,
    stderr: after.stderr,
    applied: after.applied.slice(before.applied.length),
    hooks: after.hooks.slice(before.hooks.length),
  };
}

describe.each(Object.entries(NEEDS))('the block "%s"', (name, needed) => {
  it.each(needed.flatMap((variable) => [[variable, undefined] as const, [variable, ''] as const]))(
    'changes nothing when %s is %j',
    (variable, value) => {
      const result = runOnce({ name, variables: { [variable]: value } });

      expect(result).toMatchObject({ applied: '', hooks: '' });
      expect(result.code).not.toBe('0');
      expect(result.stderr).toContain(variable);
    },
  );

  it.each(SHELLS.filter((shell) => shell !== 'busybox'))(
    'a block ends well in %s with these variables alone',
    (shell) => {
      const others = Object.keys(VARIABLES).filter((variable) => !needed.includes(variable));
      const variables = Object.fromEntries(others.map((variable) => [variable, undefined]));

      const result = runOnce({ name, shell, variables });

      expect(result).toMatchObject({ code: '0', stderr: '' });
      expect(result.applied + result.hooks).not.toBe('');
    },
  );
});

it.each([
  ['curl cannot reach Gitea', { curl: 'echo "curl: (6) Could not resolve host" >&2; exit 6' }],
  ['Gitea forbids it', { curl: 'echo "curl: (22) The requested URL returned error: 403" >&2; exit 22' }],
  ['curl ends in the middle of the answer', { curl: `printf '{"tok'; exit 18` }],
  ['the answer is empty', { curl: 'true' }],
  ['a login page answers', { curl: 'echo "<html><title>Sign in</title></html>"' }],
  ['the token is empty', { curl: `echo '{"token": ""}'` }],
  ['there is no curl', { curl: 'exit 127' }],
  ['Argo CD is not logged in', { argocd: 'echo "rpc error: Unauthenticated" >&2; exit 20' }],
  ['Argo CD prints nothing', { argocd: 'true' }],
  ['openssl fails', { openssl: 'exit 1' }],
  ['the cluster cannot be reached', { kubectl: 'echo "connection refused" >&2; exit 1' }],
])('no token is applied when %s', (_, tools) => {
  for (const shell of ['sh', 'bash']) {
    const result = runOnce({ name: 'secrets', shell, tools });

    expect(result.applied).toBe('');
    expect(result.code).not.toBe('0');
  }
});

it.each([
  ['without its secret', { kubectl: 'true' }],
  ['when the Secret is not there', { kubectl: 'echo "Error: NotFound" >&2; exit 1' }],
  ['when Gitea’s webhooks cannot be listed', { curl: 'exit 22' }],
])('no webhook is made %s', (_, tools) => {
  const result = runOnce({ name: 'webhook', tools });

  expect(result.hooks).toBe('');
  expect(result.code).not.toBe('0');
});

it('a Secret that cannot be applied ends step 1 before anything else is', () => {
  const kubectl =
    'case " $* " in *" create "*) echo "kind: Secret" ;; *" --force-conflicts "*) exit 1 ;; *) echo "$*" >> "$CLUSTER/applied" ;; esac';

  const result = runOnce({ name: 'install', tools: { kubectl } });

  expect(result.applied).toBe('');
  expect(result.code).not.toBe('0');
});

describe('run twice', () => {
  it.each([
    'install',
    'application',
    'kustomize',
    'settings',
    'uninstall',
    'second-gitea',
    'helm',
    'helm-sidecar',
    'helm-uninstall',
  ])('"%s" ends well', (name) => {
    const reader = new Reader();

    expect([reader.run({ name }).code, reader.run({ name }).code]).toEqual(['0', '0']);
  });

  it('"secrets" keeps the secret of the webhooks, which Gitea has', () => {
    const reader = new Reader();
    reader.run({ name: 'secrets' });

    const again = reader.run({ name: 'secrets', tools: { openssl: 'echo another' } });

    const [first, second] = [...again.applied.matchAll(/webhook-secret: (\S+)/g)].map(([, secret]) => secret ?? '');
    expect(again.code).toBe('0');
    expect(second).toBe(first);
    expect(Buffer.from(first ?? '', 'base64').toString()).toMatch(/^[0-9a-f]{64}$/);
  });

  it('"webhook" makes one webhook', () => {
    const reader = new Reader();
    reader.run({ name: 'secrets' });

    const codes = [1, 2].map(() => reader.run({ name: 'webhook' }).code);

    expect(codes).toEqual(['0', '0']);
    expect(reader.run({ name: 'look' }).hooks.match(/workflow_job/g)).toHaveLength(1);
  });
});

it('step 2 applies the tokens as they came, each in its key, and binds the registration token to its Gitea', () => {
  const { applied } = runOnce({ name: 'secrets' });

  expect(applied).toContain("  registration-token: 'registration-of-gitea'\n  url=https://gitea.example.com\n");
  expect(applied).toContain(`  argocd-token: ${Buffer.from('token-of-argocd').toString('base64')}\n`);
});

it.each([`{"token":"abc"}`, `{"id":7,"token": "abc"}`, `{"token":"abc","expires":"never"}`])(
  'step 2 finds the token in %s',
  (answer) => {
    const { applied } = runOnce({ name: 'secrets', tools: { curl: `echo '${answer}'` } });

    expect(applied).toContain("  registration-token: 'abc'\n");
  },
);

it('bash is among the shells', () => {
  expect(SHELLS).toContain('bash');
});
