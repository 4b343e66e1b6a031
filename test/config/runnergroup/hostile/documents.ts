/** YAML that is good by its syntax and odd by what it says: documents, kinds, fields, values. */
import { type Case, changed, GROUP } from './outcome.ts';

const OTHER = 'apiVersion: v1\nkind: X\nmetadata: {name: x}\n';
const indented = GROUP.replaceAll('\n', '\n  ').trimEnd();

export const DOCUMENTS: readonly Case[] = [
  [
    'two groups of one name',
    `${GROUP}---\n${GROUP}`,
    '15:1: metadata.name: RunnerGroup runners/ci is already in a.yaml:1: rename or remove one of them [GR-INPUT-07]',
  ],
  ['two groups', `${GROUP}---\n${changed('name: ci', 'name: cj')}`, 'runners/ci cap 5, runners/cj cap 5'],
  [
    'an end mark between documents',
    `${GROUP}...\n---\n${changed('name: ci', 'name: cj')}`,
    'runners/ci cap 5, runners/cj cap 5',
  ],
  ['a document behind three dashes and a space', `--- \n${GROUP}`, 'runners/ci cap 5'],
  [
    'a value behind three dashes',
    '--- a\n',
    '1:5: is not a Kubernetes object, but a list or a single value: keep it out of these files [GR-INPUT-03]',
  ],
  ['empty documents around one', `---\n---\n${GROUP}---\n---\n`, 'runners/ci cap 5'],
  ['null', 'null\n', 'nothing'],
  [
    'a list',
    '- a\n- b\n',
    '1:1: is not a Kubernetes object, but a list or a single value: keep it out of these files [GR-INPUT-03]',
  ],
  [
    'a number',
    '7\n',
    '1:1: is not a Kubernetes object, but a list or a single value: keep it out of these files [GR-INPUT-03]',
  ],
  ['Helm values', 'image:\n  tag: 1\n', 'nothing'],
  ['a List of groups', `apiVersion: v1\nkind: List\nitems:\n- ${indented}\n`, 'runners/ci cap 5'],
  [
    'a List of groups and others',
    `apiVersion: v1\nkind: List\nitems:\n- ${indented}\n- {apiVersion: v1, kind: X}\n`,
    '3:1: items: holds RunnerGroups beside or below other things: put each into a document of its own [GR-INPUT-03]',
  ],
  [
    'a List in a List',
    `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - ${indented.replaceAll('\n', '\n  ')}\n`,
    '3:1: items: holds RunnerGroups beside or below other things: put each into a document of its own [GR-INPUT-03]',
  ],
  [
    'a list of another kind that holds a group',
    `apiVersion: v1\nkind: ConfigMapList\nitems:\n- ${indented}\n`,
    '3:1: items: holds RunnerGroups beside or below other things: put each into a document of its own [GR-INPUT-03]',
  ],
  ['a List of nothing', 'apiVersion: v1\nkind: List\nitems: []\n', '36 characters at line 1'],
  [
    'a List whose items are no list',
    'apiVersion: v1\nkind: List\nitems: {kind: RunnerGroup}\n',
    '53 characters at line 1',
  ],
  [
    'a RunnerGroupList',
    `apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroupList\nitems:\n- ${indented}\n`,
    '2:1: kind: must be RunnerGroup, not "RunnerGroupList"; did you mean "RunnerGroup"? [GR-INPUT-03]',
  ],
  [
    'another version',
    changed('v1alpha1', 'v1'),
    '1:1: apiVersion: must be gitea.bpg.pw/v1alpha1 for a RunnerGroup, not "gitea.bpg.pw/v1" [GR-INPUT-03]',
  ],
  [
    'another group',
    changed('gitea.bpg.pw/v1alpha1', 'gitea.example.com/v1alpha1'),
    '1:1: apiVersion: must be gitea.bpg.pw/v1alpha1 for a RunnerGroup, not "gitea.example.com/v1alpha1" [GR-INPUT-03]',
  ],
  [
    'no group',
    changed('gitea.bpg.pw/v1alpha1', 'v1'),
    '1:1: apiVersion: must be gitea.bpg.pw/v1alpha1 for a RunnerGroup, not "v1" [GR-INPUT-03]',
  ],
  [
    'a version in capitals',
    changed('gitea.bpg.pw', 'Gitea.bpg.pw'),
    '1:1: apiVersion: must be gitea.bpg.pw/v1alpha1 for a RunnerGroup, not "Gitea.bpg.pw/v1alpha1" [GR-INPUT-03]',
  ],
  [
    'a kind in lower case',
    changed('kind: RunnerGroup', 'kind: runnergroup'),
    '2:1: kind: must be RunnerGroup, not "runnergroup"; did you mean "RunnerGroup"? [GR-INPUT-03]',
  ],
  [
    'a kind of Cyrillic letters',
    changed('kind: RunnerGroup', 'kind: RunnerGr\u043eup'),
    '2:1: kind: must be RunnerGroup, not "RunnerGrоup"; did you mean "RunnerGroup"? [GR-INPUT-03]',
  ],
  [
    'a kind with a space that nobody sees',
    changed('kind: RunnerGroup', 'kind: "RunnerGroup\u200b"'),
    '2:1: kind: must be RunnerGroup, not "RunnerGroup\\u{200b}"; did you mean "RunnerGroup"? [GR-INPUT-03]',
  ],
  [
    'a kind that is a list',
    changed('kind: RunnerGroup', 'kind: [RunnerGroup]'),
    '1:1: is not a Kubernetes object: kind is missing or not a string. Keep other YAML and JSON out of this folder, or name the files to read [GR-INPUT-03]',
  ],
  [
    'a version that is a number',
    changed('apiVersion: gitea.bpg.pw/v1alpha1', 'apiVersion: 1'),
    '1:1: is not a Kubernetes object: apiVersion is missing or not a string. Keep other YAML and JSON out of this folder, or name the files to read [GR-INPUT-03]',
  ],
  [
    'no version',
    changed('apiVersion: gitea.bpg.pw/v1alpha1\n', ''),
    '1:1: is a RunnerGroup without apiVersion: add "apiVersion: gitea.bpg.pw/v1alpha1" [GR-INPUT-03]',
  ],
  [
    'the kind only in __proto__',
    'apiVersion: v1\n__proto__: {kind: RunnerGroup}\n',
    '1:1: is not a Kubernetes object: kind is missing or not a string. Keep other YAML and JSON out of this folder, or name the files to read [GR-INPUT-03]',
  ],
];

export const FIELDS: readonly Case[] = [
  [
    '__proto__ in the spec',
    `${GROUP}  __proto__: {maxActiveRunners: 9999}\n`,
    '14:3: spec.__proto__: unknown field: remove it [GR-INPUT-04]',
  ],
  [
    '__proto__ in the document',
    `${GROUP}__proto__: {a: 1}\n`,
    '14:1: __proto__: unknown field: remove it [GR-INPUT-04]',
  ],
  [
    '__proto__ as a label',
    changed('namespace: runners}', 'namespace: runners, labels: {__proto__: x}}'),
    '3:51: metadata.labels.__proto__: unknown field: remove it [GR-INPUT-04]',
  ],
  [
    'constructor',
    `${GROUP}  constructor: {prototype: {a: 1}}\n`,
    '14:3: spec.constructor: unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]',
  ],
  [
    'toString',
    `${GROUP}  toString: x\n`,
    '14:3: spec.toString: unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]',
  ],
  ['__proto__ in another kind', `${OTHER}__proto__: {kind: RunnerGroup}\n`, '74 characters at line 1'],
  [
    'a field twice',
    `${GROUP}  maxActiveRunners: 9\n`,
    '14:3: is no valid YAML: the key "maxActiveRunners" is already in its mapping [GR-INPUT-02]',
  ],
  [
    'a misspelt field',
    changed('maxActiveRunners', 'maxActiveRunner'),
    '11:3: spec.maxActiveRunner: unknown field; did you mean "maxActiveRunners"? [GR-INPUT-04]',
  ],
  [
    'a field of Cyrillic letters',
    changed('scope: org', 'sc\u043epe: org'),
    '5:3: spec["scоpe"]: unknown field; did you mean "scope"? [GR-INPUT-04]',
  ],
  [
    'a field at the wrong place',
    changed('spec:\n  scope: org', 'scope: org\nspec:'),
    '4:1: scope: unknown field; known here: apiVersion, kind, metadata, spec, status [GR-INPUT-04] and 1 more',
  ],
  [
    'no spec',
    'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroup\nmetadata: {name: ci}\n',
    '1:1: spec: is required: a mapping [GR-INPUT-05]',
  ],
  [
    'a spec that is text',
    'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroup\nmetadata: {name: ci}\nspec: x\n',
    '4:1: spec: must be a mapping, not the string "x" [GR-INPUT-05]',
  ],
  [
    'metadata that is a list',
    changed('{name: ci, namespace: runners}', '[ci]'),
    '3:1: metadata: must be a mapping, not a list [GR-INPUT-05]',
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
  [
    'yes',
    changed('maxActiveRunners: 5', 'maxActiveRunners: yes'),
    '11:3: spec.maxActiveRunners: must be a whole number, not the boolean true [GR-INPUT-05]',
  ],
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
  ['octal', changed('maxActiveRunners: 5', 'maxActiveRunners: 010'), 'runners/ci cap 8'],
  [
    'octal of YAML 1.2',
    changed('maxActiveRunners: 5', 'maxActiveRunners: 0o10'),
    '11:3: spec.maxActiveRunners: must be a whole number, not the string "0o10" [GR-INPUT-05]',
  ],
  ['hexadecimal', changed('maxActiveRunners: 5', 'maxActiveRunners: 0x10'), 'runners/ci cap 16'],
  [
    'sexagesimal',
    changed('maxActiveRunners: 5', 'maxActiveRunners: 1:30'),
    '11:3: spec.maxActiveRunners: must be a whole number, not the string "1:30" [GR-INPUT-05]',
  ],
  ['an underscore in a number', changed('maxActiveRunners: 5', 'maxActiveRunners: 1_0'), 'runners/ci cap 10'],
  ['an exponent', changed('maxActiveRunners: 5', 'maxActiveRunners: 1e3'), 'runners/ci cap 1000'],
  [
    'a number beyond all',
    changed('maxActiveRunners: 5', 'maxActiveRunners: 99999999999999999999'),
    '11:3: spec.maxActiveRunners: must be at most 9007199254740991, not the number 100000000000000000000 [GR-INPUT-05]',
  ],
  [
    'a number of 100,000 digits',
    changed('maxActiveRunners: 5', `maxActiveRunners: ${'9'.repeat(100_000)}`),
    '11:3: spec.maxActiveRunners: must be a whole number, not the number Infinity [GR-INPUT-05]',
  ],
  [
    'not a number',
    changed('maxActiveRunners: 5', 'maxActiveRunners: .nan'),
    '11:3: spec.maxActiveRunners: must be a whole number, not the number NaN [GR-INPUT-05]',
  ],
  [
    'infinity',
    changed('maxActiveRunners: 5', 'maxActiveRunners: .inf'),
    '11:3: spec.maxActiveRunners: must be a whole number, not the number Infinity [GR-INPUT-05]',
  ],
  ['minus zero', changed('maxActiveRunners: 5', 'maxActiveRunners: -0'), 'runners/ci cap 0'],
  [
    'below zero',
    changed('maxActiveRunners: 5', 'maxActiveRunners: -1'),
    '11:3: spec.maxActiveRunners: must be at least 0, not the number -1 [GR-INPUT-05]',
  ],
  [
    'digits of another script',
    changed('maxActiveRunners: 5', 'maxActiveRunners: \u0665'),
    '11:3: spec.maxActiveRunners: must be a whole number, not the string "٥" [GR-INPUT-05]',
  ],
  ['a time as a name', changed('name: ci', 'name: 2026-01-01'), 'runners/2026-01-01 cap 5'],
  [
    'a label with a new line',
    changed('["linux:host"]', '["linux:host\\n  evil: true"]'),
    '10:12: spec.labels[0]: must not contain spaces, commas, quotes, backslashes, "$", "`", "*", "?", "[", "]" or control characters: the runner\'s start script would split or expand it; got the string "linux:host\\n  evil: true" [GR-INPUT-05]',
  ],
  [
    'a label with a shell in it',
    changed('["linux:host"]', '["$(GITEA_RUNNER_REGISTRATION_TOKEN):host"]'),
    '10:12: spec.labels[0]: must not contain spaces, commas, quotes, backslashes, "$", "`", "*", "?", "[", "]" or control characters: the runner\'s start script would split or expand it; got the string "$(GITEA_RUNNER_REGISTRATION_TOKEN):host" [GR-INPUT-05]',
  ],
  [
    'a label of 600 letters',
    changed('["linux:host"]', `["${'a'.repeat(600)}"]`),
    '10:12: spec.labels[0]: must have at most 512 characters [GR-INPUT-05]',
  ],
  [
    'a name of 400,000 letters',
    changed('name: ci', `name: ${'a-'.repeat(200_000)}_`),
    '3:12: metadata.name: must have at most 63 characters [GR-INPUT-05]',
  ],
  ['a URL of 1,000 dots', changed('https://gitea.example.com', `http://${'a.'.repeat(1000)}!`), 'runners/ci cap 5'],
  [
    'a quantity of 200,000 digits',
    `${GROUP}  resources: {limits: {cpu: "${'9'.repeat(200_000)}x"}}\n`,
    '14:24: spec.resources.limits.cpu: must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"; got the string "999999999999999999999999999999999999999999999999999999999999…" [GR-INPUT-05]',
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
