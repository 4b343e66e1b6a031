/**
 * RunnerGroups of people who want more than they may have, through the whole of `generate`: the real reader, a look at a Gitea with a
 * queued job, the cdk8s app. Every one ends with exit 2 or 3 and prints nothing. The table of test/config/pods/hostile.ts says more about each.
 */
import { describe, expect, it } from 'vitest';
import { HOSTILE } from '../config/pods/hostile.ts';
import { fakeGitea, jobRow } from '../support/gitea-stand-in.ts';
import { document } from '../support/group-files.ts';
import { folderWith, type Outcome, runHere } from '../support/run-cli.ts';

const TOKEN = 'secret-token-of-this-test-0123456789';
/** Stands in values that may be a secret; no message repeats it. */
const CANARY = 'hunter2-canary';
const GITEA = 'https://gitea.example.com';

interface Row {
  readonly name: string;
  readonly text: string;
  readonly code: 2 | 3;
}

/** A RunnerGroup as JSON, which is YAML. `lines` are more fields of the spec. */
function group(template: unknown, more: Readonly<Record<string, unknown>> = {}): string {
  const spec = { containerMode: 'host', labels: ['ubuntu-latest:host'], podTemplate: template, ...more };
  return document({ gitea: { url: GITEA }, ...spec }, { namespace: 'runners' });
}

/** A podTemplate as YAML text, for what JSON cannot say. */
function yaml(template: string): string {
  const [head] = group('TEMPLATE').split('"TEMPLATE"');
  return `${head}${template}}}`;
}

const DIND = { containerMode: 'dind', labels: ['ubuntu-latest'] };
const runner = (fields: object) => ({ spec: { containers: [{ name: 'runner', ...fields }] } });
const bomb = ['&a [x,x,x,x,x,x,x,x,x]', ...'bcdefgh'].reduce((text, name, index) => {
  const before = String.fromCharCode(96 + index);
  return `${text}, &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(',')}]`;
});

const OF_THE_TABLE: readonly Row[] = HOSTILE.map(({ name, template, by, mode = 'host' }) => ({
  name,
  // Two refuse it; the policy comes first.
  code: name === 'service account by its old name' ? 3 : 2,
  text: group(template, {
    ...(by === 'baseline' && { securityProfile: 'baseline' }),
    ...(mode !== 'host' && { containerMode: mode, labels: ['ubuntu-latest'] }),
  }),
}));

const MORE: readonly Row[] = [
  { name: 'a service account', text: group({ spec: { serviceAccountName: 'admin' } }), code: 3 },
  { name: 'a priority class', text: group({ spec: { priorityClassName: 'system-node-critical' } }), code: 3 },
  {
    name: 'the profile that allows everything',
    text: group({ spec: { volumes: [{ name: 'x', hostPath: { path: '/' } }] } }, { securityProfile: 'privileged' }),
    code: 3,
  },
  {
    name: 'a folder of the node beside dockerd',
    text: group({ spec: { volumes: [{ name: 'x', hostPath: { path: '/' } }] } }, DIND),
    code: 2,
  },
  {
    name: 'one more privileged container beside dockerd',
    text: group({ spec: { containers: [{ name: 'side', image: 'x', securityContext: { privileged: true } }] } }, DIND),
    code: 2,
  },
  {
    name: 'a privileged runner beside dockerd',
    text: group(runner({ securityContext: { privileged: true } }), DIND),
    code: 2,
  },
  { name: 'another image than the group says', text: group(runner({ image: 'b' }), { image: 'a' }), code: 2 },
  {
    name: 'the Secret of another group of the namespace',
    text: `${group({})}\n---\n${group(
      runner({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'token-of-others', key: 'token' } } }] }),
    ).replace('"ci"', '"second"')}\n---\n${group({})
      .replace('"ci"', '"third"')
      .replace('"gitea-api"', '"token-of-others"')}`,
    code: 2,
  },
  {
    name: 'privilege by a merge key',
    text: yaml('{spec: {containers: [{<<: {securityContext: {privileged: true}}, name: runner}]}}'),
    code: 2,
  },
  {
    name: 'host network by a merge of merges',
    text: yaml('{spec: {<<: [{hostPID: false}, {<<: {hostNetwork: true}}]}}'),
    code: 2,
  },
  {
    name: 'privilege by an alias',
    text: yaml(
      '{metadata: {annotations: {a: b}}, spec: {containers: [{name: side, image: x, securityContext: &c {privileged: true}}, {name: runner, securityContext: *c}]}}',
    ),
    code: 2,
  },
  { name: 'one key twice', text: yaml('{spec: {hostNetwork: false, hostNetwork: true}}'), code: 2 },
  { name: 'a key with a tag', text: yaml('{spec: {!!binary aG9zdE5ldHdvcms=: true}}'), code: 2 },
  { name: 'a bomb of aliases', text: yaml(`{spec: {nodeSelector: [${bomb}]}}`), code: 2 },
  { name: 'an alias of itself', text: yaml('&t {spec: {nodeSelector: *t}}'), code: 2 },
  {
    name: 'a secret in a field that does not exist',
    text: group(runner({ env: [{ name: 'PASSWORD', valu: CANARY }] })),
    code: 2,
  },
  { name: 'a secret where a list belongs', text: group(runner({ env: CANARY })), code: 2 },
  { name: 'a secret where a number belongs', text: group({ spec: { runtimeClassName: [CANARY] } }), code: 2 },
  {
    name: 'a thousand mistakes',
    text: group({ spec: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f${index}`, CANARY])) }),
    code: 2,
  },
  {
    name: 'a terminal that is steered',
    text: group({ metadata: { labels: { 'a\u001b[2Jb': '\u202ex' } }, spec: { '\u001b]0;x\u0007': 1 } }),
    code: 2,
  },
];

const ROWS = [...OF_THE_TABLE, ...MORE];
/** Whatever steers a terminal or hides text, but for line ends. */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

it('the list of hostile pods has at least 100, each under its own name', () => {
  expect(new Set(ROWS.map(({ name }) => name)).size).toBe(ROWS.length);
  expect(ROWS.length).toBeGreaterThanOrEqual(100);
});

async function generated(text: string): Promise<Outcome> {
  const { url } = await fakeGitea({ jobs: [jobRow(1)] });
  const folder = folderWith({ 'ci.yaml': text.replaceAll(GITEA, url) });
  const env = { GITEA_URL: url, GITEA_TOKEN: TOKEN, GITEA_RUNNERS_CLUSTER: 'off' };
  return await runHere(['generate', 'ci.yaml'], env, folder);
}

describe('generate prints nothing for', () => {
  it.each(ROWS)('$name', async ({ code: expected, text }) => {
    const { code, stdout, stderr } = await generated(text);

    expect({ code, stdout }, stderr).toEqual({ code: expected, stdout: '' });
    expect(stderr).not.toContain(TOKEN);
    expect(stderr).not.toContain(CANARY);
    expect(stderr).not.toMatch(UNPRINTABLE);
    expect(stderr.trim().split('\n').length).toBeLessThanOrEqual(20);
  });

  it('a group without a hostile template gets its Job', async () => {
    const { code, stdout, stderr } = await generated(group({}));

    expect({ code, jobs: stdout.split('kind: "Job"').length - 1 }, stderr).toEqual({ code: 0, jobs: 1 });
  });
});

it('validate tells all mistakes, each with its place', async () => {
  const { text = '' } = MORE.find(({ name }) => name === 'a thousand mistakes') ?? {};

  const { code, stdout, stderr } = await runHere(['validate', 'ci.yaml'], {}, folderWith({ 'ci.yaml': text }));

  const lines = stderr.trim().split('\n');
  // The last two: it asks for no resources, and the sum.
  expect({ code, stdout, lines: lines.length }).toEqual({ code: 2, stdout: '', lines: 1002 });
  expect(lines[0]).toMatch(/^ci\.yaml:1:\d+: spec\.podTemplate\.spec\.f0: unknown field \[GR-INPUT-04\]$/);
  expect(stderr).not.toContain(CANARY);
});
