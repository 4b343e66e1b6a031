/** The table of flags, and what follows from it. */
import { describe, expect, it, test } from 'vitest';
import { pageFrom } from '../../src/cli/commands/serve.ts';
import { type CommandName, type Flag, longName, variableOf } from '../../src/cli/flags/flag.ts';
import { FLAGS, type FlagName, flagsOf, flagValue, hasPaths } from '../../src/cli/flags/flags.ts';
import { makeProgram } from '../../src/cli/flags/program.ts';
import { Failure } from '../../src/shared/failure.ts';
import type { Io } from '../../src/shared/io.ts';
import { printingIo } from '../support/printing-io.ts';
import { folderWith, runHere } from '../support/run-cli.ts';

const program = makeProgram(async () => undefined, printingIo().io);
const names = Object.keys(FLAGS) as FlagName[];

/** A value that each flag with a reader takes, other than its default. The others, and those for a file, take `/x` as it is. */
const VALUES: Readonly<Record<string, readonly [text: string, value: unknown]>> = {
  secrets: ['api', 'api'],
  timeout: ['1.5', 1.5],
  cluster: ['off', 'off'],
  for: ['90m', 5_400_000],
  namespace: ['ci', 'ci'],
  argocdNamespace: ['gitops', 'gitops'],
  pageLogUrl: ['https://logs/{pod}', 'https://logs/{pod}'],
  runnerImage: ['a/b:1', 'a/b:1'],
  runnerImageRootless: ['a/b:2', 'a/b:2'],
  dockerImage: ['a/c:3', 'a/c:3'],
  buildkitImage: ['a/d:4', 'a/d:4'],
  kind: ['RunnerPolicy', 'RunnerPolicy'],
  listen: ['127.0.0.1:1', { host: '127.0.0.1', port: 1 }],
  notifyUrls: ['https://h/ci', [new URL('https://h/ci')]],
  pageListen: [':4', { port: 4 }],
  pageUrl: ['https://P.example.com/', 'https://p.example.com'],
  pageGitea: ['http://g:3000/git/', 'http://g:3000/git'],
  pageGiteaPublic: ['https://g/', 'https://g'],
  looks: ['http://L:8083/', 'http://l:8083'],
  looksListen: [':5', { port: 5 }],
  metricsListen: [':2', { port: 2 }],
  probeListen: ['[::1]:3', { host: '::1', port: 3 }],
  namespaces: ['a, ,b', ['a', 'b']],
  registrationSecrets: ['a,b.c', ['a', 'b.c']],
  lease: ['a/b', { namespace: 'a', name: 'b' }],
  poll: ['7', 7],
  giteaRequests: ['60', 60],
  wakes: ['100', 100],
  tracingSampler: ['always_off', 'always_off'],
  tracingSamplerArg: ['0.5', 0.5],
  tracingResourceAttributes: ['a=b', { a: 'b' }],
  since: ['90m', 5_400_000],
  by: ['workflow', 'workflow'],
  budget: ['600', 600],
  speed: ['0.5', 0.5],
  repository: ['acme/web', 'acme/web'],
  state: ['running,unserved', ['unserved', 'running']],
  secretTool: ['sealed-secrets', 'sealed-secrets'],
  shard: ['2/7', { index: 2, of: 7 }],
};

/** Reads any flag, without the types that distinguish flags. */
function read(name: string, given: Readonly<Record<string, string | boolean>>, env: Record<string, string>): unknown {
  return flagValue(name as 'json', given as { json?: boolean }, { env });
}

function failureOf(name: string, given: Readonly<Record<string, string>>, env: Record<string, string> = {}): Failure {
  try {
    read(name, given, env);
  } catch (error) {
    if (error instanceof Failure) return error;
  }
  throw new Error(`${name} was read`);
}

describe.each(names)('the flag %s', (name) => {
  const flag: Flag = FLAGS[name];
  const [text, value] = flag.value === undefined ? ['true', true] : (VALUES[name] ?? ['/x', '/x']);

  it('a flag is read from GITEA_RUNNERS_is read from GITEA_RUNNERS_… of the same name of the same name', () => {
    expect(read(name, {}, { [variableOf(name)]: text })).toEqual(value);
  });

  it('wins over its variable', () => {
    const given = flag.value === undefined ? true : text;

    expect(read(name, { [name]: given }, { [variableOf(name)]: 'false' })).toEqual(value);
  });

  it('a flag has its default when neither says anything, or the variable is empty', () => {
    const byDefault = read(name, {}, {});

    expect(byDefault).not.toEqual(value);
    expect(read(name, {}, { [variableOf(name)]: '' })).toEqual(byDefault);
  });

  it('a flag is in the help of each of its commands, with its variable', () => {
    for (const command of flag.commands) {
      const help = program.commands.find((each) => each.name() === command)?.helpInformation() ?? '';
      expect(help).toContain(longName(name));
      expect(help.replaceAll(/\s+/g, ' ')).toContain(`(env: ${variableOf(name)}`);
    }
  });
});

test('commander calls each flag as the table does', () => {
  for (const command of program.commands) {
    const name = command.name() as CommandName;
    const paths = hasPaths(name) ? ['filename'] : [];
    const ours = [...paths, ...flagsOf(name).map(([flag]) => flag)];

    expect([name, command.options.map((option) => option.attributeName())]).toEqual([name, ours]);
  }
});

test('a switch in the environment is true or false and nothing else', () => {
  expect(read('sweep', {}, { GITEA_RUNNERS_SWEEP: 'false' })).toBe(false);
  expect(read('sweep', {}, { GITEA_RUNNERS_SWEEP: '0' })).toBe(false);
  expect(failureOf('sweep', {}, { GITEA_RUNNERS_SWEEP: 'no' })).toMatchObject({
    code: 'GR-FLAG-03',
    message: 'read GITEA_RUNNERS_SWEEP: it must be true or false, not "no".',
  });
});

test.each([
  ['registry.acme.example/team/gitea runner:1.0', true],
  ['https://ann:pw@registry.acme.example/runner', false],
  ['0123456789abcdef0123456789abcdef01234567', false],
  ['https://git.acme.example/x?token=short', false],
])('an error shows the value %s: %s', (value, isShown) => {
  const { message } = failureOf('poll', {}, { GITEA_RUNNERS_POLL: value });

  expect(message.includes(value)).toBe(isShown);
});

test('an error names the place where the value was written', () => {
  expect(failureOf('timeout', { timeout: '5s' }).message).toBe(
    'read --timeout: it must be a number of seconds from 0.001 to 600, not "5s".',
  );
  expect(failureOf('timeout', {}, { GITEA_RUNNERS_TIMEOUT: '5s' }).message).toBe(
    'read GITEA_RUNNERS_TIMEOUT: it must be a number of seconds from 0.001 to 600, not "5s".',
  );
  // A token has at least forty characters.
  expect(failureOf('timeout', { timeout: 'a'.repeat(40) }).message).not.toContain('aaa');
});

const NO_ADDRESSES = [
  '',
  '8080',
  ':',
  ':x',
  ':65536',
  ':-1',
  '::1:80',
  '[::1]',
  'http://a:80',
  'host name:80',
  ':80 ',
  '[a]b:80',
];

test.each<readonly [string, string, string]>([
  ['cluster', 'on', 'GR-FLAG-01'],
  ['timeout', '0', 'GR-FLAG-02'],
  ['timeout', '601', 'GR-FLAG-02'],
  ['poll', '1e3', 'GR-FLAG-02'],
  ['giteaRequests', '59', 'GR-FLAG-21'],
  ['giteaRequests', '60001', 'GR-FLAG-21'],
  ['wakes', '0', 'GR-FLAG-21'],
  ['wakes', '101', 'GR-FLAG-21'],
  ['wakes', '1.5', 'GR-FLAG-21'],
  ['registrationSecrets', 'a,../b', 'GR-FLAG-24'],
  ['registrationSecrets', 'a'.repeat(254), 'GR-FLAG-24'],
  ['registrationSecrets', 'a,'.repeat(101), 'GR-FLAG-24'],
  ...['runners;team-a', 'runners team-a', 'Runners', 'a/b', ',', 'a'.repeat(64)].map(
    (names) => ['namespaces', names, 'GR-FLAG-02'] as const,
  ),
  ['argocdNamespace', 'argocd/x', 'GR-FLAG-02'],
  ['pageLogUrl', 'grafana.acme/{pod}', 'GR-FLAG-25'],
  ['lease', 'a', 'GR-FLAG-07'],
  ['lease', 'a/b/c', 'GR-FLAG-07'],
  ['budget', '601', 'GR-SWEEP-02'],
  ['budget', '0', 'GR-SWEEP-02'],
  ['speed', 'fast', 'GR-FLAG-10'],
  ['speed', '0', 'GR-FLAG-10'],
  ['speed', '101', 'GR-FLAG-10'],
  ['runnerImage', 'a b', 'GR-FLAG-15'],
  ['runnerImageRootless', 'a@sha256:00', 'GR-FLAG-15'],
  ['buildkitImage', 'a b', 'GR-FLAG-15'],
  ['dockerImage', `a${'b'.repeat(512)}`, 'GR-FLAG-15'],
  ['repository', 'web', 'GR-FLAG-17'],
  ...['0s', '25h', '1d', '', '-5m', '1h1h'].map((time) => ['for', time, 'GR-FLAG-02'] as const),
  ...NO_ADDRESSES.map((text) => ['listen', text, 'GR-FLAG-08'] as const),
  ['since', '91d', 'GR-FLAG-02'],
  ['since', '7', 'GR-FLAG-02'],
  ['by', 'person', 'GR-FLAG-02'],
  ['state', 'unserved,broken', 'GR-FLAG-18'],
  ['state', ',', 'GR-FLAG-18'],
])('--%s %s is refused with %s', (name, text, code) => {
  const failure = failureOf(name, { [name]: text });

  expect([failure.code, failure.exit]).toEqual([code, 2]);
});

test('serve names all that is missing for its start, by flag and by variable', async () => {
  const { code, stderr } = await runHere(['serve'], {}, folderWith({}));

  expect(code).toBe(2);
  expect(stderr).toContain('--argocd-url (GITEA_RUNNERS_ARGOCD_URL) is missing');
  expect(stderr).toContain('give --kubeconfig (GITEA_RUNNERS_KUBECONFIG)');
});

test('the page names all that it needs', () => {
  expect(() => pageFrom({ pageListen: ':1' }, { env: {} } as Io)).toThrow(
    '--page-url (GITEA_RUNNERS_PAGE_URL), --page-gitea (GITEA_RUNNERS_PAGE_GITEA), --page-client-id (GITEA_RUNNERS_PAGE_CLIENT_ID)',
  );
});

test('jobs that were called stuck are unserved: the old word is still read', () => {
  expect(read('state', { state: 'held,stuck' }, {})).toEqual(['unserved', 'held']);
});

test('a kubeconfig is a relative path on the command line only', () => {
  expect(read('kubeconfig', { kubeconfig: 'k' }, {})).toBe('k');
  expect(failureOf('kubeconfig', {}, { GITEA_RUNNERS_KUBECONFIG: 'k' }).code).toBe('GR-FLAG-09');
});

test.each([
  ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
  ['localhost:80', { host: 'localhost', port: 80 }],
  ['[::]:65535', { host: '::', port: 65_535 }],
])('--listen %s is read', (text, address) => {
  expect(read('listen', { listen: text }, {})).toEqual(address);
});
