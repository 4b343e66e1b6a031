import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { InputProblems } from '../../../src/config/runnergroup/problems.ts';
import { document, problemsIn, readFiles } from '../../support/group-files.ts';

const HEAD = 'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroup\nmetadata: {name: ci}\nspec:\n';

const LAUGHS = [...'bcdefghi'].map(
  (key, index) => `${key}: &${key} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(', ')}]`,
);

test.each([
  [
    'a billion laughs',
    `a: &a [lol, lol]\n${LAUGHS.join('\n')}\n`,
    '6:16: is no valid YAML: with what its aliases stand for, this document has more than 80000 words and signs: divide it, or keep it out of these files',
  ],
  ['an alias of itself', 'a: &a [*a]\n', '1:8: is no valid YAML: this alias stands inside of what it means'],
  ['an unknown alias', 'a: *b\n', '1:4: is no valid YAML: this alias has no anchor before it in its document'],
  [
    'a tag that runs code elsewhere',
    'a: !!js/function "function () {}"\n',
    '1:4: is no valid YAML: Unresolved tag: tag:yaml.org,2002:js/function',
  ],
  ['a tag of its own', 'a: !Ref x\n', '1:4: is no valid YAML: Unresolved tag: !Ref'],
  ['a binary tag', 'a: !!binary aGk=\n', '1:4: is no valid YAML: Unresolved tag: tag:yaml.org,2002:binary'],
  ['a directive', '%TAG ! tag:example.com,2026:\n---\na: 1\n', '1:1: holds a YAML directive: leave it out'],
  ['a version that reads `yes` as text', '%YAML 1.2\n---\na: 1\n', '1:1: holds a YAML directive: leave it out'],
  ['a key twice', 'a: 1\nb: 2\na: 3\n', '3:1: is no valid YAML: the key "a" is already in its mapping'],
  ['a merge of a number', '<<: 1\na: 1\n', '1:1: is no valid YAML: "<<" needs a mapping'],
  // go-yaml v2, which Kubernetes reads with, would make b of it; YAML makes a.
  [
    'a merge behind another key',
    'kind: a\n<<: {kind: b}\n',
    '2:1: is no valid YAML: "<<" must come first in its mapping, or readers disagree',
  ],
  ['a mapping as a key', '? {a: 1}\n: 2\n', '1:3: is no valid YAML: a key must be a word'],
  ['a key twice in JSON', '{"a": 1, "a": 2}', '1:10: is no valid YAML: the key "a" is already in its mapping'],
  ['an escape character', 'a: "\x1b[31m"\n', '1:5: holds a control character: remove it'],
  ['a NUL', 'a: 1\nb: \0\n', '2:4: holds a control character: remove it'],
  ['a C1 control', 'a: \x9b\n', '1:4: holds a control character: remove it'],
  ['a tab as indentation', 'a:\n\tb: 1\n', '2:1: is no valid YAML: a tab stands in the indentation: use spaces'],
  ['200,000 open brackets', '['.repeat(200_000), '1:201: is nested more than 200 levels deep'],
  ['200,000 dashes', '- '.repeat(200_000), '1:400: is nested more than 200 levels deep'],
])('%s is an error of the file', async (_name, text, problem) => {
  const lines = await problemsIn({ 'a.yaml': text });

  expect(lines[0]).toBe(`a.yaml:${problem} [GR-INPUT-02]`);
});

test('prototype keys are unknown fields, wherever they stand', async () => {
  const yaml = `${HEAD.replace('name: ci', 'name: ci, labels: {__proto__: x}')}  __proto__: {scope: global}\n  toString: 1\n  resources: {limits: {__proto__: 1}}\n`;

  const lines = await problemsIn({ 'ci.yaml': yaml });

  expect(lines).toEqual(
    expect.arrayContaining([
      'ci.yaml:3:31: metadata.labels.__proto__: unknown field: remove it [GR-INPUT-04]',
      'ci.yaml:5:3: spec.__proto__: unknown field: remove it [GR-INPUT-04]',
      'ci.yaml:6:3: spec.toString: unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]',
      'ci.yaml:7:24: spec.resources.limits.__proto__: unknown field: remove it [GR-INPUT-04]',
      'ci.yaml:4:1: spec.scope: is required: one of global, org, user, repo, e.g. "scope: org" [GR-INPUT-05]',
    ]),
  );
});

test('text from a file cannot steer the terminal or start a new line', async () => {
  const spec = { scope: 'a\nerror: all good\x1b[2J', 'evil\r\x1b]0;x\x07': 1, org: '\u202egnp.exe' };

  const lines = await problemsIn({ 'e\x1b[2Jvil\n.yaml': document(spec) });

  expect(lines).toHaveLength(3);
  expect(lines.join('')).not.toMatch(/\p{Cc}|\p{Cf}/u);
  expect(lines.join('\n')).toContain('the string "a\\nerror: all good\\u{1b}[2J"');
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

test('very long texts are refused shortly and soon', async () => {
  const long = 'a'.repeat(200_000);
  const dotted = 'a.'.repeat(100_000);

  const lines = await problemsIn({
    'ci.yaml': document({
      org: long,
      labels: [long, dotted],
      image: `${long} `,
      authToken: { name: dotted, key: long },
    }),
  });

  expect(lines.length).toBeGreaterThanOrEqual(6);
  expect(lines.join('\n').length).toBeLessThan(4000);
});

test('9,000 wrong fields are told up to a limit', async () => {
  const many = Array.from({ length: 9_000 }, (_, index) => `  k${index}: 1\n`).join('');

  const lines = await problemsIn({ 'ci.yaml': `${HEAD}${many}` });

  expect(lines).toHaveLength(1000);
});

/** Reads a document and answers what was thrown, if anything. */
async function thrownBy(text: string): Promise<unknown> {
  return readFiles({ 'a.yaml': text }).then(
    () => undefined,
    (error: unknown) => error,
  );
}

function isFine(error: unknown): boolean {
  return error === undefined || (error instanceof InputProblems && error.problems.length > 0);
}

const FIELDS = [
  'scope',
  'org',
  'user',
  'repo',
  'gitea',
  'giteaURL',
  'labels',
  'defaultLabels',
  'maxActiveRunners',
  'authToken',
  'resources',
  'suspend',
  'image',
  'containerMode',
  'x',
];

test('any JSON value in any field ends as a group or as problems', async () => {
  const specs = fc.dictionary(fc.constantFrom(...FIELDS), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });

  await fc.assert(
    fc.asyncProperty(specs, fc.dictionary(fc.string(), fc.jsonValue()), async (spec, metadata) => {
      expect(await thrownBy(document(spec, metadata))).toSatisfy(isFine);
    }),
    { numRuns: 200 },
  );
});

test('any text and any JSON document end as a result or as problems', async () => {
  const texts = fc.oneof(
    fc.json(),
    fc.string({ unit: 'binary' }),
    fc
      .array(
        fc.constantFrom(
          '---\n',
          'a: ',
          '- ',
          '&a ',
          '*a',
          '{',
          '}',
          '[',
          ']',
          '"',
          "'",
          '\n',
          ' ',
          '|\n',
          '!!str ',
          '? ',
          '<<: ',
          '#',
          '%',
        ),
      )
      .map((parts) => parts.join('')),
  );

  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      expect(await thrownBy(text)).toSatisfy(isFine);
    }),
    { numRuns: 500, examples: [['? <<: ']] },
  );
});

test('a document that passes through still means the same when its text is read alone', async () => {
  const values = fc
    .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }))
    .map((data) => ({ apiVersion: 'v1', kind: 'X', data }));

  await fc.assert(
    fc.asyncProperty(fc.array(values, { maxLength: 3 }), fc.constantFrom(0, 2, '\t'), async (documents, indent) => {
      const stream = documents.map((value) => JSON.stringify(value, null, indent)).join('\n---\n');

      const { others } = await readFiles({ 'a.yaml': stream });

      expect(others.map(({ text }) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(documents)));
    }),
    { numRuns: 100 },
  );
});
