/** Tests which files are policy files, and the messages about others. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { policyFieldRows } from '../../../packaging/field-tables.ts';
import {
  MOST_POLICY_BYTES,
  PolicyDocument,
  readPolicy,
  readPolicyFile,
} from '../../../src/config/policy/policy-schema.ts';
import { editorSchema } from '../../../src/config/runnergroup/json-schema.ts';
import { folderWith } from '../../support/run-cli.ts';

const HEAD = 'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\n';

function problemsOf(text: string): readonly string[] {
  const read = readPolicy('policy.yaml', text);
  return 'problems' in read ? read.problems : [];
}

it.each([`${HEAD}spec: {}\n`, JSON.stringify({ apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerPolicy', spec: {} })])(
  'a policy file is YAML or JSON',
  (text) => {
    expect(readPolicy('policy.yaml', text)).toEqual({ policy: {} });
  },
);

const AT = 'policy.yaml:4:3:';
const LISTED = 'gitea-runners schema --kind RunnerPolicy lists the known ones';
it.each<[string, string]>([
  [`${HEAD}spec:\n  image: []\n`, `${AT} spec.image: unknown field; did you mean "images"?`],
  [`${HEAD}spec:\n  colour: red\n`, `${AT} spec.colour: unknown field; ${LISTED}`],
  [
    `${HEAD}spec:\n  namespaces:\n    - name: a\n      scope: [global]\n`,
    'policy.yaml:6:7: spec.namespaces[0].scope: unknown field; did you mean "scopes"?',
  ],
  [`${HEAD}spec:\n  images: x\n`, `${AT} spec.images: must be a list, not the string "x"; write "images: [x]"`],
  [HEAD, 'policy.yaml:1:1: spec: is required: a mapping'],
  [
    `${HEAD.replace('RunnerPolicy', 'RunnerGroup')}spec: {}\n`,
    'policy.yaml:2:1: kind: must be RunnerPolicy, not the string "RunnerGroup"',
  ],
  [
    `${HEAD.replace('v1alpha1', 'v1')}spec: {}\n`,
    'policy.yaml:1:1: apiVersion: must be gitea.bpg.pw/v1alpha1, not the string "gitea.bpg.pw/v1"',
  ],
  [
    `${HEAD}spec:\n  images: []\n  images: [docker.io/x]\n`,
    'policy.yaml:5:3: is no valid YAML: the key "images" is already in its mapping',
  ],
  [`${HEAD}spec: {}\n---\n${HEAD}spec: {}\n`, 'policy.yaml: has 2 documents; a policy is exactly one'],
  ['', 'policy.yaml: has 0 documents; a policy is exactly one'],
  [`${HEAD}spec: {__proto__: {}}\n`, `policy.yaml:3:8: spec.__proto__: unknown field; ${LISTED}`],
  [
    `${HEAD}spec:\n  namespaces: [{name: a, scopes: ['acme']}]\n`,
    'policy.yaml:4:35: spec.namespaces[0].scopes[0]: must be global, org:NAME, user:NAME or repo:OWNER/NAME; stars are allowed; got the string "acme"; write "org:acme"',
  ],
  [
    `${HEAD}spec:\n  tokenBindings: [{namespace: a, secret: b, url: 'https://x?y'}]\n`,
    'policy.yaml:4:45: spec.tokenBindings[0].url: must be the base URL of a Gitea: http or https, without credentials, query or fragment; got the string "https://x?y"',
  ],
])('told with its place: %j', (text, problem) => {
  expect(problemsOf(text)).toEqual([problem]);
});

it('a policy file is not read when it is too large, no UTF-8, a folder, or not there', () => {
  const folder = folderWith({ 'large.yaml': ' '.repeat(MOST_POLICY_BYTES + 1) });
  mkdirSync(join(folder, 'folder'));
  const told = ['large.yaml', 'folder', 'none'].map((name) => readPolicyFile(join(folder, name)));

  expect(told).toEqual([
    { problems: [expect.stringMatching(/large\.yaml: has more than 1048576 bytes$/)] },
    { problems: [expect.stringMatching(/folder: cannot be read: it is a folder \(EISDIR\)$/)] },
    { problems: [expect.stringMatching(/none: cannot be read: no such file \(ENOENT\)$/)] },
  ]);
});

describe('the bounds of a policy file', () => {
  const list = (length: number, entry = 'a') => Array.from({ length }, () => entry);
  const exception = (fields: object) => ({
    exceptions: [{ groups: ['a/b'], rules: ['images'], until: '2027-03-31', reason: 'x', ...fields }],
  });
  const amounts = (length: number) =>
    Object.fromEntries(Array.from({ length }, (_, index) => [`example.com/r${index}`, 1]));
  const problemsOfSpec = (spec: object) => problemsOf(JSON.stringify({ ...JSON.parse(DOCUMENT), spec }));
  const DOCUMENT = JSON.stringify({ apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerPolicy' });

  it.each<[string, object, object]>([
    ['entries of a list', { projects: list(1_000) }, { projects: list(1_001) }],
    ['characters of a pattern', { projects: ['a'.repeat(512)] }, { projects: ['a'.repeat(513)] }],
    ['an empty pattern', { projects: ['a'] }, { projects: [''] }],
    ['an empty registry', { registries: ['a'] }, { registries: [''] }],
    ['entries of maxResources', { maxResources: amounts(1_000) }, { maxResources: amounts(1_001) }],
    ['a negative cap', { maxActiveRunners: 0 }, { maxActiveRunners: -1 }],
    ['a cap', { maxActiveRunners: 1_000_000 }, { maxActiveRunners: 1_000_001 }],
    ['default labels', { defaults: { labels: list(100, 'a:host') } }, { defaults: { labels: list(101, 'a:host') } }],
    ['no default label', { defaults: { labels: ['a:host'] } }, { defaults: { labels: [] } }],
    [
      'characters of a default image',
      { defaults: { images: { runner: 'a'.repeat(512) } } },
      { defaults: { images: { runner: 'a'.repeat(513) } } },
    ],
    ['an empty default image', { defaults: { images: { runner: 'a' } } }, { defaults: { images: { runner: '' } } }],
    ['groups of an exception', exception({ groups: list(1_000, 'a/b') }), exception({ groups: list(1_001, 'a/b') })],
    ['no group of an exception', exception({}), exception({ groups: [] })],
    ['rules of an exception', exception({ rules: list(16, 'images') }), exception({ rules: list(17, 'images') })],
    ['no rule of an exception', exception({}), exception({ rules: [] })],
    ['characters of a reason', exception({ reason: 'x'.repeat(500) }), exception({ reason: 'x'.repeat(501) })],
    ['no reason', exception({}), exception({ reason: '' })],
    ['a day that is none', exception({ until: '2028-02-29' }), exception({ until: '2027-02-29' })],
    ['a moment for a day', exception({}), exception({ until: '2027-03-31T00:00:00Z' })],
    [
      'no URL of a repository',
      { repositories: ['https://gitea.example.com/ops/**'] },
      { repositories: ['file:///ops'] },
    ],
    [
      'two stars in the host of a repository',
      { repositories: ['https://*.example.com/ops/a**'] },
      { repositories: ['https://**.example.com/ops'] },
    ],
    ['a path behind a registry', { registries: ['*.example.com:5000'] }, { registries: ['docker.io/library'] }],
    ['a capital in a registry', { registries: ['docker.io'] }, { registries: ['Docker.io'] }],
    [
      'characters of a default podTemplate',
      { defaults: { podTemplate: { metadata: { annotations: { a: 'x' } } } } },
      { defaults: { podTemplate: { metadata: { annotations: { a: 'x'.repeat(131_072) } } } } },
    ],
    ['resources of containers', { maxResources: { '*': 0, cpu: 1 } }, { maxResources: { pods: 1 } }],
  ])('a policy is refused for one step too much: %s', (_, allowed, refused) => {
    expect(problemsOfSpec(allowed)).toEqual([]);
    expect(problemsOfSpec(refused)).not.toEqual([]);
  });

  it('the name of a policy has at most 253 characters', () => {
    const named = (length: number) => `${HEAD}metadata: {name: ${'a'.repeat(length)}}\nspec: {}\n`;

    expect(problemsOf(named(253))).toEqual([]);
    expect(problemsOf(named(254))).toHaveLength(1);
  });

  it('a policy file of exactly 1 MiB is read, and one that is no UTF-8 is not', () => {
    const text = `${HEAD}spec: {}\n`;
    const folder = folderWith({ 'full.yaml': text + '#'.repeat(MOST_POLICY_BYTES - text.length) });
    writeFileSync(join(folder, 'latin.yaml'), Buffer.from([0x23, 0xe9, 0x0a]));

    expect(readPolicyFile(join(folder, 'full.yaml'))).toEqual({ policy: {} });
    expect(readPolicyFile(join(folder, 'latin.yaml'))).toEqual({ problems: [expect.stringMatching(/is not UTF-8$/)] });
  });

  it('a broken document beside a good one is told at its place', () => {
    expect(problemsOf(`${HEAD}spec: {}\n---\na: [\n`)).toEqual([expect.stringMatching(/^policy\.yaml:\d+:\d+: is no/)]);
  });
});

it('the schema for editors knows every field of the table, and forbids others', () => {
  const spec = editorSchema('RunnerPolicy', PolicyDocument).properties?.['spec'];
  const names = policyFieldRows().flatMap(([field = '']) => (/^`[A-Za-z]+`$/.test(field) ? [field.slice(1, -1)] : []));

  expect(Object.keys(spec?.properties ?? {})).toEqual(names);
  expect(names.length).toBeGreaterThan(9);
  expect(spec?.['additionalProperties']).toBe(false);
});
