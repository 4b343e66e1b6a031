/** `init`: what it writes can be used as it is. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { folderWith, runCommand, runHere } from '../support/run-cli.ts';
import { serve } from '../support/server.ts';

const GIT = 'https://gitea.example.com/ops/runners.git';
const NEEDED_OF_ALL = ['--gitea', 'https://gitea.example.com', '--git', GIT];
const NEEDED = [...NEEDED_OF_ALL, '--owner', 'acme'];

function init(folder: string, ...more: readonly string[]) {
  return runHere(['init', folder, ...(more.includes('global') ? NEEDED_OF_ALL : NEEDED), ...more]);
}

function read(folder: string, name: string): readonly unknown[] {
  return parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map((document) => document.toJS());
}

describe.each([
  ['global', []],
  ['org', ['--owner', 'acme']],
  ['user', ['--owner', 'anna']],
  ['repo', ['--owner', 'acme/web']],
] as const)('init --scope %s', (scope, owner) => {
  it.each(['dind-rootless', 'dind', 'host'])('--container-mode %s writes a RunnerGroup that is valid', async (mode) => {
    const folder = folderWith({});

    const { code, stdout, stderr } = await init(folder, '--scope', scope, ...owner, '--container-mode', mode);

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('groups/ci.yaml');
    expect(await runHere(['validate', join(folder, 'groups')])).toMatchObject({ code: 0 });
    expect(spawnSync('sh', ['-n', join(folder, 'setup.sh')]).status).toBe(0);
    expect(statSync(join(folder, 'setup.sh')).mode & 0o111).not.toBe(0);
  });
});

it('init writes the Application and the project of install/examples, for the named repository and folder', async () => {
  const folder = folderWith({});

  await init(folder, '--git', 'https://git.example.com/r.git', '--git-path', 'a/b', '--group-namespace', 'team');

  const texts = ['project', 'application'].map((name) => readFileSync(`install/examples/${name}.yaml`, 'utf8'));
  const expected = texts
    .join('---\n')
    .replaceAll(GIT, 'https://git.example.com/r.git')
    .replace('path: "."', 'path: a/b');
  const examples = parseAllDocuments(expected.replaceAll('namespace: runners', 'namespace: team')).map((each) =>
    each.toJS(),
  );
  expect(read(folder, 'argocd/application.yaml')).toEqual(examples.filter((each) => each !== null));
  expect(existsSync(join(folder, 'a/b/ci.yaml'))).toBe(true);
});

it.each([
  [
    ['--gitea', 'https://git.acme.io/acme'],
    'warning: --gitea is the address of a page, acme: write the address of Gitea, https://git.acme.io.\n',
  ],
  [['--gitea', 'http://localhost:3000'], 'warning: --gitea is this machine, and for a runner its own pod: write'],
  [
    ['--group-namespace', 'argocd'],
    'warning: --group-namespace is argocd: CI jobs would run beside what rules the cluster.',
  ],
  [['--cap', '0'], 'warning: --cap the cap is 0, so the group starts no runners'],
])('init warns as validate does: %s', async (flags, warning) => {
  const { code, stderr } = await init(folderWith({}), ...flags);

  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(warning) });
});

it.each([
  [['--group-name', 'CI'], '--group-name', 'write ci.'],
  [['--git', 'runners'], '--git must be the URL of a git repository', 'https://gitea.example.com/ops/runners.git'],
])('the faults of an answer are told in flags: %s', async (flags, flag, write) => {
  const { code, stderr } = await init(folderWith({}), ...flags);

  expect(code).toBe(2);
  expect(stderr).toContain(flag);
  expect(stderr).toContain(write);
  expect(stderr).not.toContain('"name:');
});

it('init overwrites nothing without --force', async () => {
  const folder = folderWith({ 'setup.sh': 'mine' });

  const { code, stdout, stderr } = await init(folder);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('error: GR-INIT-04 init: setup.sh');
  expect(readFileSync(join(folder, 'setup.sh'), 'utf8')).toBe('mine');
  expect(existsSync(join(folder, 'groups'))).toBe(false);
  expect((await init(folder, '--force')).code).toBe(0);
  expect(readFileSync(join(folder, 'setup.sh'), 'utf8')).toContain('set -eu');
});

it('import refuses an owner for the whole Gitea', async () => {
  const { code, stderr, stdout } = await runHere(['import', '-', '--scope', 'global', '--owner', 'acme']);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('GR-INIT-02 import: for scope global --owner must be left out, not "acme".');
});

it('init names all missing values when it can ask no person', async () => {
  const { code, stdout, stderr } = await runHere(['init', folderWith({})]);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('GR-INIT-01 init: --gitea, --owner, --git must be given');
});

it('init names all mistakes at once, those of missing values too', async () => {
  const words = ['--gitea', 'g.example.com', '--scope', 'team', '--cap', 'many'];
  const { stderr } = await runHere(['init', folderWith({}), ...words]);

  expect(stderr).toMatch(/GR-INIT-01 init:\n {2}--owner, --git must be given/);
  for (const flag of ['--scope', '--gitea', '--cap'])
    expect(stderr).toMatch(new RegExp(`\n  (?:.*; )?${flag} must be `));
});

it('init writes flags for a repository that is given as an owner', async () => {
  const { stderr } = await init(folderWith({}), '--owner', 'acme/web');

  expect(stderr).toContain('for one repository write --scope repo --owner acme/web.');
});

it.each([
  [['--scope', 'team'], 'GR-INIT-02 init: --scope must be global, org, user or repo'],
  [['--scope', 'repo'], 'GR-INIT-02 init: for scope repo --owner must be OWNER/NAME, not "acme"'],
  [['--scope', 'global', '--owner', 'acme'], 'GR-INIT-02 init: for scope global --owner must be left out, not "acme"'],
  [['--scope', 'repo', '--owner', 'a/b/../../../c'], 'GR-INIT-03 '],
  [['--cap', '-1'], 'GR-INIT-03 '],
  [['--cap', 'many'], 'GR-INIT-03 init: --cap must be a whole number, not the string "many"'],
  [
    ['--container-mode', 'podman'],
    'GR-INIT-03 init: --container-mode must be one of dind-rootless, dind, buildkit, host',
  ],
  [['--gitea', 'gitea.example.com'], 'GR-INIT-03 init: --gitea must be an http or https URL'],
  [['--gitea', 'https://gitea.example.com/api/v1'], 'GR-INIT-03 init: --gitea must be the address of Gitea itself'],
  [['--gitea', "https://gitea'; reboot"], 'GR-INIT-03 '],
  [['--owner', 'a b'], 'GR-INIT-03 init: --owner must be a name in Gitea'],
  [['--owner', 'a$(reboot)'], 'GR-INIT-03 '],
  [['--group-name', 'CI'], 'GR-INIT-03 init: --group-name must be lower-case letters'],
  [['--group-name', '../ci'], 'GR-INIT-03 '],
  [['--group-namespace', 'a b'], 'GR-INIT-03 '],
  [['--group-namespace', 'CI'], 'GR-INIT-03 init: --group-namespace must be [^;]*; got the string "CI"; write ci.\n$'],
  [['--git', 'runners'], 'GR-INIT-03 init: --git must be the URL of a git repository'],
  [['--git-path', '../x'], 'GR-INIT-03 '],
  [['--git-path', '/etc'], 'GR-INIT-03 '],
  [['--git-path', 'a/../../x'], 'GR-INIT-03 '],
  [['--webhook-url', 'http://a/"b'], 'GR-INIT-03 '],
  [['--webhook-url', 'http://a/$(b)'], 'GR-INIT-03 '],
  [['--secret-store', 'a;b'], 'GR-INIT-03 '],
  [['--secret-tool', 'vault'], 'GR-INIT-05 '],
  [['--registration', 'argocd'], 'GR-INIT-03 init: --registration must be pod, serve or bound'],
])('init refuses %j in the words of the flags, and writes nothing', async (flags, message) => {
  const folder = folderWith({});

  const outcome = await init(folder, ...flags);

  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toMatch(new RegExp(`^error: ${message.replaceAll('.', '\\.')}`));
  expect(readdirSync(folder)).toEqual([]);
});

it('init says which file cannot be written', async () => {
  const folder = folderWith({ runners: '' });

  expect(await runHere(['init', 'runners', ...NEEDED], {}, folder)).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: GR-INIT-06 init: write runners/groups/ci.yaml: a file stands where a folder is needed (ENOTDIR). Choose another folder.\n',
  });
});

it.each<[string, string, string]>([
  ['a file that leads nowhere yet', 'setup.sh', 'setup.sh'],
  ['a folder', 'argocd', 'argocd/application.yaml'],
])('init writes through no link: %s, also with --force', async (_, link, written) => {
  const [folder, outside] = [folderWith({}), folderWith({})];
  symlinkSync(link === 'argocd' ? outside : join(outside, 'profile.sh'), join(folder, link));

  for (const more of [[], ['--force']]) {
    const { code, stderr } = await init(folder, ...more);
    expect([code, stderr]).toEqual([
      1,
      `error: GR-INIT-06 init: write ${join(folder, written)}: ${join(folder, link)} is a link, and may lead out of the folder. Remove it.\n`,
    ]);
  }
  expect([readdirSync(outside), readdirSync(folder)]).toEqual([[], [link]]);
});

it('init says in which folder the next steps are done', async () => {
  const folder = folderWith({});

  const { stdout } = await runHere(['init', 'new/', ...NEEDED], {}, folder);

  expect(stdout).toContain('\nNext, in new/:\n');
  expect((await runHere(['init', ...NEEDED], {}, folder)).stdout).toContain('\nNext:\n');
});

describe('init --registration', () => {
  it.each<[string, string, readonly string[], object, string]>([
    ['serve', 'org', ['--owner', 'acme'], { by: 'serve' }, 'write:organization, of an owner of it.'],
    ['serve', 'global', [], { by: 'serve' }, 'write:admin, of a site administrator.'],
    [
      'bound',
      'org',
      ['--owner', 'acme'],
      { by: 'serve', for: 'repository' },
      'read:organization and write:repository, of an owner of the organization.',
    ],
    [
      'bound',
      'user',
      ['--owner', 'anna'],
      { by: 'serve', for: 'repository' },
      'read:user and write:repository, of that user.',
    ],
    [
      'bound',
      'repo',
      ['--owner', 'acme/web'],
      { by: 'serve', for: 'repository' },
      'write:repository, of an owner of it.',
    ],
  ])(
    '%s of scope %s names the rights of its token, and needs no registration token',
    async (way, scope, owner, is, rights) => {
      const folder = folderWith({});

      const { code, stdout } = await init(folder, '--scope', scope, ...owner, '--registration', way);

      expect(code).toBe(0);
      expect(stdout).toContain('install.md#runners-that-serve-registers');
      const [group] = read(folder, 'groups/ci.yaml') as readonly { spec: Readonly<Record<string, unknown>> }[];
      expect(group?.spec['registration']).toEqual(is);
      expect(group?.spec).not.toHaveProperty('registrationToken');
      expect(await runHere(['validate', join(folder, 'groups')])).toMatchObject({ code: 0 });
      const script = readFileSync(join(folder, 'setup.sh'), 'utf8');
      expect(script).toContain(`# GITEA_API_TOKEN stays in the cluster: ${rights}\n`);
      expect(script).toContain(`{GITEA_API_TOKEN:?set it: ${rights.slice(0, -1)}}`);
      expect(script).not.toMatch(/registration|gitea-runner /);
    },
  );

  it('pod says nothing of the right to create Secrets', async () => {
    expect((await init(folderWith({}))).stdout).not.toContain('runners-that-serve-registers');
  });
});

const CURL = spawnSync('sh', ['-c', 'command -v curl']).stdout.toString().trim();

/** Stand-ins for the programs that reach the cluster. curl is the real one, and its arguments are noted. */
const TOOLS: Readonly<Record<string, string>> = {
  curl: `printf '%s\\n' "$*" >> "$CLUSTER/curl-arguments"; exec ${CURL} "$@"`,
  kubectl: `case " $* " in
    *" get secret "*webhook-secret*) cat "$CLUSTER/webhook" 2>/dev/null ;;
    *" get secret "*argocd-token*) cat "$CLUSTER/argocd-token" 2>/dev/null ;;
    *" -f - "*) object=$(cat); printf '%s\\n---\\n' "$object" >> "$CLUSTER/applied"
      printf '%s\\n' "$object" | sed -n 's/^  webhook-secret: //p' | grep . > "$CLUSTER/found" && cp "$CLUSTER/found" "$CLUSTER/webhook"
      printf '%s\\n' "$object" | sed -n 's/^  argocd-token: //p' | grep . > "$CLUSTER/found" && cp "$CLUSTER/found" "$CLUSTER/argocd-token"; true ;;
    *) echo "$*" >> "$CLUSTER/applied" ;;
  esac`,
  argocd: 'echo "new token" >> "$CLUSTER/argocd-tokens"; printf token-of-argocd',
  kubeseal: `sed 's/^  \\([a-z-]*\\): .*/  \\1: sealed/'`,
};

/** A Gitea with the two calls that `setup.sh` makes. */
async function gitea(level: string, registers = true) {
  const hooks: string[] = [];
  const tokens = new Set<string | undefined>();
  const { origin } = await serve(async (request, response) => {
    tokens.add(request.headers.authorization);
    const body = await text(request);
    const path = `${request.method} ${request.url?.replace(/\?.*/, '')}`;
    if (path === `POST /api/v1${level}/actions/runners/registration-token` && registers)
      return response.end('{"token": "registration-of-gitea"}');
    if (path === `POST /api/v1${level}/hooks`) hooks.push(body);
    else if (path !== `GET /api/v1${level}/hooks`) response.statusCode = 404;
    return response.end(`[${hooks.join(',')}]`);
  });
  return { origin, hooks, tokens };
}

/** Runs `setup.sh`; what it prints on both streams. */
async function setUp(folder: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const bin = resolve(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const [name, script] of Object.entries(TOOLS))
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const env = {
    PATH: `${bin}:${process.env['PATH']}`,
    CLUSTER: bin,
    GITEA_API_TOKEN: 'api-token',
    GITEA_OWNER_TOKEN: 'owner-token',
  };
  const { code, stdout, stderr } = await runCommand('sh', ['setup.sh'], env, folder);
  return { code, output: stdout + stderr };
}

function secretsIn(folder: string): readonly unknown[] {
  const found = read(folder, 'bin/applied') as readonly { metadata: { name: string }; data: Record<string, string> }[];
  return found.flatMap((each) => {
    if (each === null || typeof each !== 'object') return [];
    const data = Object.entries(each.data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]);
    return [[each.metadata.name, Object.fromEntries(data)]];
  });
}

it.each([
  ['global', '', '/admin'],
  ['org', 'acme', '/orgs/acme'],
  ['user', 'anna', '/user'],
  ['repo', 'acme/web', '/repos/acme/web'],
])('setup.sh of scope %s makes three Secrets and one webhook, also when it runs twice', async (scope, owner, level) => {
  const { origin, hooks, tokens } = await gitea(level);
  const folder = folderWith({});
  await init(folder, '--scope', scope, '--gitea', `${origin}/`, ...(owner === '' ? [] : ['--owner', owner]));

  const first = await setUp(folder);
  const webhook = JSON.parse(hooks[0] ?? '{}') as { config: Record<string, string> };
  const second = await setUp(folder);

  expect([first.code, second.code], first.output + second.output).toEqual([0, 0]);
  const secrets = [
    ['gitea-api', { token: 'api-token', url: origin }],
    ['gitea-runner', { 'registration-token': 'registration-of-gitea', url: origin }],
    [
      'gitea-runners-serve',
      { 'argocd-token': 'token-of-argocd', 'webhook-secret': expect.stringMatching(/^[0-9a-f]{64}$/) },
    ],
  ];
  const made = secretsIn(folder);
  expect(made).toEqual([...secrets, ...secrets]);
  expect(made[5]).toEqual(made[2]);
  expect(readFileSync(join(folder, 'bin/argocd-tokens'), 'utf8')).toBe('new token\n');
  expect(hooks).toHaveLength(1);
  expect(webhook).toMatchObject({ type: 'gitea', active: true, events: ['workflow_job'] });
  expect(webhook.config).toMatchObject({ url: 'http://gitea-runners.argocd.svc/webhook', content_type: 'json' });
  expect(webhook.config['is_system_webhook']).toBe(scope === 'global' ? 'true' : undefined);
  expect([...tokens]).toEqual(['token owner-token']);
  // Every user of the machine can list the arguments of programs.
  const listed = readFileSync(join(folder, 'bin/curl-arguments'), 'utf8');
  expect(listed).toContain(`${level}/hooks`);
  expect(listed).not.toMatch(/token [a-z]|[0-9a-f]{64}/);
  expect(first.output + second.output).not.toMatch(/api-token|owner-token|registration-of-gitea|token-of-argocd/);
});

it('setup.sh stops before it makes a Secret, when Gitea gives no registration token', async () => {
  const { origin } = await gitea('/orgs/acme', false);
  const folder = folderWith({});
  await init(folder, '--gitea', origin);

  const { code } = await setUp(folder);

  expect(code).not.toBe(0);
  expect(existsSync(join(folder, 'bin/applied'))).toBe(false);
});

it('setup.sh of Sealed Secrets writes sealed files, and no value stands in one', async () => {
  const { origin } = await gitea('/orgs/acme');
  const folder = folderWith({});
  await init(folder, '--gitea', origin, '--secret-tool', 'sealed-secrets');

  const { code, output } = await setUp(folder);

  expect(code, output).toBe(0);
  for (const name of ['gitea-api', 'gitea-runner', 'gitea-runners-serve'])
    expect(read(folder, `sealed-${name}.yaml`)).toMatchObject([{ kind: 'Secret', metadata: { name } }]);
  expect(readFileSync(join(folder, 'bin/applied'), 'utf8')).toMatch(/^(apply -f sealed-\S+\n){3}$/);
});

it.each(['kubectl', 'external-secrets', 'sealed-secrets'])(
  'setup.sh of %s asks for no registration token that nobody needs',
  async (tool) => {
    const { origin } = await gitea('/orgs/acme', false);
    const folder = folderWith({});
    await init(folder, '--gitea', origin, '--registration', 'serve', '--secret-tool', tool);

    const { code, output } = await setUp(folder);

    expect(code, output).toBe(0);
    const written = readdirSync(folder, { recursive: true }).map(String);
    const texts = written
      .filter((name) => /yaml$|applied$|store\//.test(name))
      .map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(written.join()).not.toMatch(/gitea-runner\.|registration/);
    expect(texts.join()).toContain('gitea-runners-serve');
    expect(texts.join()).not.toMatch(/name: gitea-runner\b(?!-)|registration-token/);
  },
);

it('setup.sh of External Secrets writes the values for the store, readable for one person', async () => {
  const { origin } = await gitea('/orgs/acme');
  const folder = folderWith({});
  await init(folder, '--gitea', origin, '--secret-tool', 'external-secrets', '--secret-store', 'vault');

  const { code, output } = await setUp(folder);

  expect(code, output).toBe(0);
  const stored = join(folder, 'for-the-store');
  expect(readFileSync(join(stored, 'registration-token'), 'utf8')).toBe('registration-of-gitea');
  expect(statSync(join(stored, 'api-token')).mode & 0o077).toBe(0);
  expect(read(folder, 'argocd/external-secrets.yaml')).toMatchObject([
    {
      kind: 'ExternalSecret',
      metadata: { name: 'gitea-api', namespace: 'argocd' },
      spec: {
        secretStoreRef: { kind: 'ClusterSecretStore', name: 'vault' },
        target: { template: { data: { token: '{{ index . "token" }}', url: origin } } },
        data: [{ secretKey: 'token', remoteRef: { key: 'gitea-runners/api-token' } }],
      },
    },
    { metadata: { name: 'gitea-runner', namespace: 'runners' } },
    { metadata: { name: 'gitea-runners-serve', namespace: 'argocd' } },
  ]);
});
