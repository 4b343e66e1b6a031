import { expect, test } from 'vitest';
import { InputProblems } from '../../../src/config/runnergroup/problems.ts';
import { document, problemsIn, readFiles } from '../../support/group-files.ts';

const BROKEN = `# the operator's sample, and more
apiVersion: gitea.bpg.pw/v1alpha1
kind: RunnerGroup
metadata:
  name: ci
  lables: {team: a}
  labels:
    on-call: on
spec:
  scope: org
  user: bob
  maxActiveRunner: 3
  labels:
    - gpu
    - "two words"
  giteaUrl: https://gitea.example.com
  registrationToken: {name: gitea-runner}
  authToken:
    secretRef: {nme: gitea-api, key: token}
  mystery: 1
  constructor: 1
`;

test('all problems of a file come at once, each with its place and one cause told once', async () => {
  expect(await problemsIn({ 'ci.yaml': BROKEN })).toEqual([
    'ci.yaml:6:3: metadata.lables: unknown field; did you mean "labels"? [GR-INPUT-04]',
    'ci.yaml:8:5: metadata.labels.on-call: must be a string, but YAML reads on as the boolean true: quote it: "on" [GR-INPUT-05]',
    'ci.yaml:9:1: spec: scope org needs org: add "org: …" [GR-INPUT-06]',
    'ci.yaml:11:3: spec.user: does not go with scope org: remove it, or set "scope: user" [GR-INPUT-06]',
    'ci.yaml:12:3: spec.maxActiveRunner: unknown field; did you mean "maxActiveRunners"? [GR-INPUT-04]',
    `ci.yaml:15:7: spec.labels[1]: must not contain spaces, commas, quotes, backslashes, "$", "\`", "*", "?", "[", "]" or control characters: the runner's start script would split or expand it; write "labels: [two, words]"; got the string "two words" [GR-INPUT-05]`,
    'ci.yaml:16:3: spec.giteaUrl: unknown field; did you mean "giteaURL"? [GR-INPUT-04]',
    'ci.yaml:17:3: spec.registrationToken: needs key beside name [GR-INPUT-06]',
    'ci.yaml:19:17: spec.authToken.secretRef.nme: unknown field; did you mean "name"? [GR-INPUT-04]',
    'ci.yaml:20:3: spec.mystery: unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]',
    'ci.yaml:21:3: spec.constructor: unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]',
  ]);
});

test.each([
  ['nodeSelector', '{a: b}', 'write it below podTemplate: "podTemplate: {spec: {nodeSelector: …}}"'],
  ['tolerations', '[]', 'write it below podTemplate: "podTemplate: {spec: {tolerations: …}}"'],
  ['env', '[]', 'write it below podTemplate: "podTemplate: {spec: {containers: [{name: runner, env: …}]}}"'],
  ['maxReplicas', '3', 'did you mean "maxActiveRunners"?'],
  ['minRunners', '3', 'did you mean "minIdleRunners"?'],
])('a field of a pod or of another tool is told where it belongs: %s', async (name, value, told) => {
  const [line] = (await problemsIn({ 'ci.yaml': `${BROKEN}  ${name}: ${value}\n` })).filter((each) =>
    each.includes(`spec.${name}:`),
  );

  expect(line).toBe(`ci.yaml:22:3: spec.${name}: unknown field; ${told} [GR-INPUT-04]`);
});

test.each([
  [
    '',
    [
      'ci.yaml:1:1: metadata: is required: a mapping [GR-INPUT-05]',
      'ci.yaml:1:1: spec: is required: a mapping [GR-INPUT-05]',
    ],
  ],
  [
    'metadata: ci\nspec: [1]\n',
    [
      'ci.yaml:3:1: metadata: must be a mapping, not the string "ci" [GR-INPUT-05]',
      'ci.yaml:4:1: spec: must be a mapping, not a list [GR-INPUT-05]',
    ],
  ],
  ['metadata: {name: ci}\nspec:\n', ['ci.yaml:4:1: spec: must be a mapping, not empty [GR-INPUT-05]']],
  [
    'metadata: {name: ci}\nspec: {}\n',
    [
      'ci.yaml:4:1: spec: gitea.url is required: add "gitea: {url: https://…}" [GR-INPUT-06]',
      'ci.yaml:4:1: spec.authToken: is required: a mapping, e.g. "authToken: {secretRef: {name: gitea-api, key: token}}" [GR-INPUT-05]',
      'ci.yaml:4:1: spec.maxActiveRunners: is required: a whole number, e.g. "maxActiveRunners: 10" [GR-INPUT-05]',
      'ci.yaml:4:1: spec.registrationToken: is required: a mapping, e.g. "registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}" [GR-INPUT-05]',
      'ci.yaml:4:1: spec.scope: is required: one of global, org, user, repo, e.g. "scope: org" [GR-INPUT-05]',
    ],
  ],
])('what is missing is told once: %j', async (rest, problems) => {
  const head = 'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroup\n';

  expect(await problemsIn({ 'ci.yaml': head + rest })).toEqual(problems);
});

test('places are right in later documents, behind CRLF, in flow style and behind an alias', async () => {
  const head = 'apiVersion: gitea.bpg.pw/v1alpha1\r\nkind: RunnerGroup\r\nmetadata: {name: ci, x: 1}\r\n';
  const spec =
    'spec: {scope: global, maxActiveRunners: 1, giteaURL: "https://x", registrationToken: &t {name: a, key: b, c: 1}, authToken: *t}';
  const column = spec.indexOf('c: 1') + 1;

  expect(await problemsIn({ 'ci.yaml': `---\r\n---\r\n${head}${spec}\r\n` })).toEqual([
    'ci.yaml:5:22: metadata.x: unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]',
    `ci.yaml:6:${column}: spec.authToken.c: unknown field; known here: secretRef, name, key [GR-INPUT-04]`,
    `ci.yaml:6:${column}: spec.registrationToken.c: unknown field; known here: secretRef, name, key [GR-INPUT-04]`,
  ]);
});

test('problems are sorted by file, line and column, and the message shows the first 15', async () => {
  const files = Object.fromEntries(['b', 'a'].map((name) => [`${name}.yaml`, '---\nkind: 1\n'.repeat(23)]));

  const error = await readFiles(files).catch((thrown: unknown) => thrown);

  if (!(error instanceof InputProblems)) throw error;
  expect([error.exit, error.code, error.problems.length]).toEqual([2, 'GR-INPUT-03', 46]);
  const line = (number: number) =>
    `a.yaml:${number}:1: is not a Kubernetes object: apiVersion is missing or not a string. Keep other YAML and JSON out of this folder, or name the files to read [GR-INPUT-03]`;
  expect(error.message.split('\n')).toEqual([
    'read RunnerGroups: 46 problems in 2 files.',
    ...Array.from({ length: 15 }, (_, index) => line(2 + 2 * index)),
    '… and 31 more: gitea-runners validate',
  ]);
});

test('a token or password that somebody wrote into a RunnerGroup is never repeated', async () => {
  const secret = 'deadbeef';
  const specs = [
    { authToken: secret, registrationToken: { secretRef: secret }, giteaURL: `https://me:${secret}@x` },
    { scope: 'repo', repo: `https://me:${secret}@x/a`, image: `//me:${secret}@x` },
    { authToken: { name: `${secret} `, key: `${secret}/` }, gitea: `https://me:${secret}@x` },
    { authToken: { secretRef: { name: 's', key: ['x', secret] } }, gitea: { url: `https://x?token=${secret}` } },
    {
      registrationToken: { token: secret, secretRef: { name: 's', key: 'k', value: secret } },
      giteaURL: `//${secret}`,
    },
  ];

  for (const spec of specs) {
    const lines = await problemsIn({ 'ci.yaml': document(spec) });

    expect(lines.length).toBeGreaterThanOrEqual(2);
    expect(lines.join('\n')).not.toContain(secret);
  }
});
