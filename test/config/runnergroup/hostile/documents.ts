/** YAML that is good by its syntax and odd by what it says: documents, kinds, fields, values. */
import { type Case, changed, GROUP, noCap, noObject, noYaml, OTHER, SINGLE_VALUE, withCap } from './outcome.ts';

const indented = GROUP.replaceAll('\n', '\n  ').trimEnd();

const MIXED =
  '3:1: items: holds RunnerGroups beside or below other things: put each into a document of its own [GR-INPUT-03]';
const UNKNOWN = 'unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]';
const REMOVE = 'unknown field: remove it [GR-INPUT-04]';

const noVersion = (got: string): string =>
  `1:1: apiVersion: must be gitea.bpg.pw/v1alpha1 for a RunnerGroup, not "${got}" [GR-INPUT-03]`;
const noKind = (got: string): string =>
  `2:1: kind: must be RunnerGroup, not "${got}"; did you mean "RunnerGroup"? [GR-INPUT-03]`;

export const DOCUMENTS: readonly Case[] = [
  ['two groups', `${GROUP}---\n${changed('name: ci', 'name: cj')}`, 'runners/ci cap 5, runners/cj cap 5'],
  [
    'an end mark between documents',
    `${GROUP}...\n---\n${changed('name: ci', 'name: cj')}`,
    'runners/ci cap 5, runners/cj cap 5',
  ],
  ['a document behind three dashes and a space', `--- \n${GROUP}`, 'runners/ci cap 5'],
  ['a value behind three dashes', '--- a\n', `1:5: ${SINGLE_VALUE}`],
  ['empty documents around one', `---\n---\n${GROUP}---\n---\n`, 'runners/ci cap 5'],
  ['a list', '- a\n- b\n', `1:1: ${SINGLE_VALUE}`],
  ['a number', '7\n', `1:1: ${SINGLE_VALUE}`],
  ['Helm values', 'image:\n  tag: 1\n', 'nothing'],
  ['a List of groups', `apiVersion: v1\nkind: List\nitems:\n- ${indented}\n`, 'runners/ci cap 5'],
  [
    'a List of groups and others',
    `apiVersion: v1\nkind: List\nitems:\n- ${indented}\n- {apiVersion: v1, kind: X}\n`,
    MIXED,
  ],
  [
    'a List in a List',
    `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - ${indented.replaceAll('\n', '\n  ')}\n`,
    MIXED,
  ],
  [
    'a problem in a List',
    `apiVersion: v1\nkind: List\nitems:\n- ${indented}\n    suspend: x\n`,
    '17:5: items[0].spec.suspend: must be true or false, not the string "x" [GR-INPUT-05]',
  ],
  [
    'a List of another kind',
    `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: X}\n`,
    '61 characters at line 1',
  ],
  ['a list of another kind that holds a group', `apiVersion: v1\nkind: ConfigMapList\nitems:\n- ${indented}\n`, MIXED],
  ['a List of nothing', 'apiVersion: v1\nkind: List\nitems: []\n', '36 characters at line 1'],
  [
    'a List whose items are no list',
    'apiVersion: v1\nkind: List\nitems: {kind: RunnerGroup}\n',
    '53 characters at line 1',
  ],
  [
    'a RunnerGroupList',
    `apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroupList\nitems:\n- ${indented}\n`,
    noKind('RunnerGroupList'),
  ],
  ['another version', changed('v1alpha1', 'v1'), noVersion('gitea.bpg.pw/v1')],
  ['no group', changed('gitea.bpg.pw/v1alpha1', 'v1'), noVersion('v1')],
  ['a version in capitals', changed('gitea.bpg.pw', 'Gitea.bpg.pw'), noVersion('Gitea.bpg.pw/v1alpha1')],
  ['a kind in lower case', changed('kind: RunnerGroup', 'kind: runnergroup'), noKind('runnergroup')],
  ['a kind of Cyrillic letters', changed('kind: RunnerGroup', 'kind: RunnerGr\u043eup'), noKind('RunnerGrоup')],
  [
    'a kind with a space that nobody sees',
    changed('kind: RunnerGroup', 'kind: "RunnerGroup\u200b"'),
    noKind('RunnerGroup\\u{200b}'),
  ],
  ['a kind that is a list', changed('kind: RunnerGroup', 'kind: [RunnerGroup]'), noObject('1:1', 'kind')],
  [
    'a version that is a number',
    changed('apiVersion: gitea.bpg.pw/v1alpha1', 'apiVersion: 1'),
    noObject('1:1', 'apiVersion'),
  ],
  [
    'a policy',
    changed('kind: RunnerGroup', 'kind: RunnerPolicy'),
    '2:1: kind: a RunnerPolicy is no manifest: keep it out of these files, and give it with --policy [GR-INPUT-03]',
  ],
  [
    'another kind of ours',
    changed('kind: RunnerGroup', 'kind: Pool'),
    '2:1: kind: must be RunnerGroup, not "Pool" [GR-INPUT-03]',
  ],
  ['a spec alone', 'spec: {replicas: 3}\n', noObject('1:1', 'apiVersion')],
  [
    'no version',
    changed('apiVersion: gitea.bpg.pw/v1alpha1\n', ''),
    '1:1: is a RunnerGroup without apiVersion: add "apiVersion: gitea.bpg.pw/v1alpha1" [GR-INPUT-03]',
  ],
  ['the kind only in __proto__', 'apiVersion: v1\n__proto__: {kind: RunnerGroup}\n', noObject('1:1', 'kind')],
];

export const FIELDS: readonly Case[] = [
  ['__proto__ in the spec', `${GROUP}  __proto__: {maxActiveRunners: 9999}\n`, `14:3: spec.__proto__: ${REMOVE}`],
  ['__proto__ in the document', `${GROUP}__proto__: {a: 1}\n`, `14:1: __proto__: ${REMOVE}`],
  [
    '__proto__ as a label',
    changed('namespace: runners}', 'namespace: runners, labels: {__proto__: x}}'),
    `3:51: metadata.labels.__proto__: ${REMOVE}`,
  ],
  ['constructor', `${GROUP}  constructor: {prototype: {a: 1}}\n`, `14:3: spec.constructor: ${UNKNOWN}`],
  [
    'a field that steers a terminal',
    `${GROUP}  "evil\\r\\e]0;x\\a": 1\n`,
    `14:3: spec["evil\\r\\u001b]0;x\\u0007"]: ${UNKNOWN}`,
  ],
  [
    '1,500 unknown fields',
    `${GROUP}${Array.from({ length: 1500 }, (_, index) => `  k${index}: 1\n`).join('')}`,
    `14:3: spec.k0: ${UNKNOWN} and 999 more`,
  ],
  [
    'a Secret with a long name',
    changed('name: gitea-api', `name: ${'a.'.repeat(100_000)}`),
    '13:27: spec.authToken.secretRef.name: must have at most 253 characters [GR-INPUT-05]',
  ],
  ['__proto__ in another kind', `${OTHER}__proto__: {kind: RunnerGroup}\n`, '74 characters at line 1'],
  [
    'a field twice',
    `${GROUP}  maxActiveRunners: 9\n`,
    noYaml('14:3', 'the key "maxActiveRunners" is already in its mapping'),
  ],
  [
    'a field of Cyrillic letters',
    changed('scope: org', 'sc\u043epe: org'),
    '5:3: spec["scоpe"]: unknown field; did you mean "scope"? [GR-INPUT-04]',
  ],
  [
    'a field at the wrong place',
    changed('spec:\n  scope: org', 'scope: org\nspec:'),
    '4:1: scope: unknown field; it belongs below spec: move it there [GR-INPUT-04]',
  ],
  [
    'a finalizer',
    changed('namespace: runners}', 'namespace: runners, finalizers: ["evil/never"]}'),
    '3:42: metadata.finalizers: would keep Argo CD from deleting the group, and every later sync would wait for that: remove it [GR-INPUT-05]',
  ],
  [
    'generateName',
    changed('name: ci', 'generateName: ci-'),
    '3:1: metadata.name: is required: a string, e.g. "name: ci" [GR-INPUT-05]',
  ],
  ['yes', withCap('yes'), noCap('the boolean true')],
  [
    'on as an org',
    changed('org: acme', 'org: on'),
    '6:3: spec.org: must be a string, but YAML reads on as the boolean true: quote it: "on" [GR-INPUT-05]',
  ],
  [
    'a name that is a number',
    changed('name: ci', 'name: 123'),
    '3:12: metadata.name: must be a string, but YAML reads 123 as the number 123: quote it: "123" [GR-INPUT-05]',
  ],
  [
    'a name that is null',
    changed('name: ci', 'name: ~'),
    '3:12: metadata.name: must be a string, not empty [GR-INPUT-05]',
  ],
  ['octal', withCap('010'), 'runners/ci cap 8'],
  ['octal of YAML 1.2', withCap('0o10'), noCap('the string "0o10"')],
  ['hexadecimal', withCap('0x10'), 'runners/ci cap 16'],
  ['sexagesimal', withCap('1:30'), noCap('the string "1:30"')],
  ['an underscore in a number', withCap('1_0'), 'runners/ci cap 10'],
  ['an exponent', withCap('1e3'), 'runners/ci cap 1000'],
  [
    'a number beyond all',
    withCap('99999999999999999999'),
    '11:3: spec.maxActiveRunners: must be at most 9007199254740991, not the number 100000000000000000000 [GR-INPUT-05]',
  ],
  ['a number of 100,000 digits', withCap('9'.repeat(100_000)), noCap('the number Infinity')],
  ['not a number', withCap('.nan'), noCap('the number NaN')],
  ['minus zero', withCap('-0'), 'runners/ci cap 0'],
  ['digits of another script', withCap('\u0665'), noCap('the string "٥"')],
  ['a time as a name', changed('name: ci', 'name: 2026-01-01'), 'runners/2026-01-01 cap 5'],
  [
    'a name of 400,000 letters',
    changed('name: ci', `name: ${'a-'.repeat(200_000)}_`),
    '3:12: metadata.name: must have at most 63 characters [GR-INPUT-05]',
  ],
  ['a URL of 1,000 dots', changed('https://gitea.example.com', `http://${'a.'.repeat(1000)}!`), 'runners/ci cap 5'],
  [
    'a quantity of 200,000 digits',
    `${GROUP}  resources: {limits: {cpu: "${'9'.repeat(200_000)}x"}}\n`,
    '14:24: spec.resources.limits.cpu: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got a string [GR-INPUT-05]',
  ],
  [
    'a resource with a long name',
    `${GROUP}  resources: {limits: {"${'a.'.repeat(100_000)}_/x": 1}}\n`,
    '14:24: spec.resources.limits["a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a."]: has the key "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.…", which is too long [GR-INPUT-05]',
  ],
  [
    'an image of 200,000 slashes',
    `${GROUP}  image: ${'a/'.repeat(200_000)}!\n`,
    '14:3: spec.image: must have at most 512 characters [GR-INPUT-05]',
  ],
  [
    'annotations that look like manifests',
    changed('namespace: runners}', 'namespace: runners, annotations: {"a/b": "c\\n---\\nkind: Secret"}}'),
    'runners/ci cap 5',
  ],
];
