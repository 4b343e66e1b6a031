/** The quick reader of YAML reads less than the package `yaml`, and never otherwise. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Budget } from '../../../src/config/runnergroup/budget.ts';
import { type Path, type Read, readDocuments } from '../../../src/config/runnergroup/documents.ts';
import { type PlainDocument, readPlainYaml } from '../../../src/config/runnergroup/plain-yaml.ts';
import { RUNS } from '../../support/property.ts';

const indent = fc.constantFrom('', '', '  ', '  ', '    ', '      ', ' ', '   ');
const key = fc.constantFrom(
  'a',
  'b',
  'c',
  'name',
  'x.y/z-1',
  'on',
  'y',
  '12',
  'constructor',
  '__proto__',
  '<<',
  '"q"',
  'on-call',
  'E0',
);
const scalar = fc.oneof(
  fc.constantFrom(
    'a',
    'true',
    'false',
    'True',
    'yes',
    'on',
    'null',
    '~',
    'no',
    'N',
    'on air',
    'E0',
    'e+1',
    'trueish',
    'a b  c',
  ),
  fc.constantFrom('-c', '--flag=x', '-e5', '-E0', '--e5', '-y', '-null', '-.inf', '-a: b', '-/x', '---x', '-', '--'),
  fc.constantFrom('0', '7', '-7', '+7', '007', '0x1f', '0b1', '1_000', '1e3', '1.5', '.5', '12:30', '12:30:45', '.nan'),
  fc.constantFrom('500m', '1.5Gi', '2Gi', '1k', '1E', '1234567890123456', '999999999999999', '2001-12-14', '1 2'),
  fc.constantFrom('https://git.example.com', 'a:b', 'a: b', 'a:', ':a', 'a:b:docker://c/d:e', 'x:host', '/data', './x'),
  fc.constantFrom('"a b"', "'a b'", '"a\\n"', "'it''s'", '"', '"a" b', '"# no"', "'#'", '""', "''", '"a"#b', '"{}"'),
  fc.constantFrom(
    'a # comment',
    'a #',
    'a#b',
    '# comment',
    '&x a',
    '*x',
    '!!str 1',
    '|',
    '>-',
    '%a',
    '@a',
    '`a',
    '- a',
  ),
  fc.constantFrom(
    '{a: b, c: 1}',
    '{a: {b: c}}',
    '[a, b]',
    '[a,b]',
    '[]',
    '{}',
    '{ a: b }',
    '[ a ]',
    '{a: b,}',
    '[a, ]',
  ),
  fc.constantFrom('{a:b}', '{a: b', '[a: b]', '{a}', '{a: }', '[{a: b}, [c]]', '{a: b} c', '{a: b}#c', '{a: b} # c'),
  fc.constantFrom(
    '{a: x:y, b: "c, d"}',
    '[a b, c]',
    '{a: 1, a: 2}',
    '[,]',
    '[-1]',
    '{"a": b}',
    '{on: off}',
    '[a#b]',
    '[a #b]',
  ),
  fc.string({ maxLength: 8 }),
);
const line = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(indent, key, scalar).map(([space, name, value]) => `${space}${name}: ${value}`) },
  { weight: 3, arbitrary: fc.tuple(indent, key).map(([space, name]) => `${space}${name}:`) },
  { weight: 2, arbitrary: fc.tuple(indent, scalar).map(([space, value]) => `${space}- ${value}`) },
  { weight: 2, arbitrary: fc.tuple(indent, key, scalar).map(([space, name, value]) => `${space}- ${name}: ${value}`) },
  { weight: 1, arbitrary: fc.tuple(indent, scalar).map(([space, value]) => `${space}${value}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      '   ',
      '# comment',
      '    # comment',
      '---',
      '--- ',
      '...',
      '%YAML 1.1',
      '-',
      '- - a',
      'a:b',
    ),
  },
);
/** Good ones, too: of lines by chance few are. */
const mapping: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  mapping: fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'name', 'x.y/z-1', 'kind'),
    fc.oneof({ depthSize: 'small' }, fc.constantFrom('a', 1, true, 'x:host', '500m'), tie('mapping'), tie('list')),
    { minKeys: 1, maxKeys: 4 },
  ),
  list: fc.array(fc.oneof({ depthSize: 'small' }, fc.constantFrom('a', 7, 'b:c'), tie('mapping')), {
    minLength: 1,
    maxLength: 3,
  }),
})).mapping;
const written = fc
  .tuple(mapping, fc.boolean(), fc.nat(2))
  .map(([value, flush, flowFrom]) => write(value, '', flush, flowFrom));

/** Block style, from some depth on flow style. `flush`: lists stand as deep as their key. */
function write(value: unknown, space: string, flush: boolean, flowFrom: number): string {
  if (space.length / 2 > flowFrom || typeof value !== 'object' || value === null) return `${space}${flow(value)}\n`;
  if (Array.isArray(value)) {
    const items = value.map((item) => write(item, `${space}  `, flush, flowFrom).replace(`${space}  `, `${space}- `));
    return items.join('');
  }
  const lines = Object.entries(value).map(([name, item]) => {
    const below = write(item, flush && Array.isArray(item) ? space : `${space}  `, flush, flowFrom);
    const isBlock = typeof item === 'object' && below.includes('\n', below.indexOf('\n') + 1);
    return isBlock ? `${space}${name}:\n${below}` : `${space}${name}: ${flow(item)}\n`;
  });
  return lines.join('');
}

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  return `{${Object.entries(value)
    .map(([name, item]) => `${name}: ${flow(item)}`)
    .join(', ')}}`;
}

let read = 0;

function expectTheSame(text: string): void {
  const file = { name: 'a.yaml', text };
  const quick = readPlainYaml(file);
  if (quick === undefined) return;
  read += 1;
  const found: Read[] = [];
  readDocuments(file, new Budget(), (read) => found.push(read));

  // Compared as strings, because the order of keys counts.
  expect(JSON.stringify(quick.map(told))).toBe(
    JSON.stringify(found.map((read) => ('problem' in read ? read : told(read.document)))),
  );
}

/** Returns a document with the places of all its values, and of one that is missing. */
function told({ place, value, placeOf }: PlainDocument): unknown {
  return { place, value, places: pathsIn(value).map((path) => [path, placeOf(path), placeOf([...path, 'missing'])]) };
}

function pathsIn(value: unknown): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [[]];
  const steps = Array.isArray(value) ? value.map((item, at) => [at, item] as const) : Object.entries(value);
  return [[], ...steps.flatMap(([step, inner]) => pathsIn(inner).map((path) => [step, ...path]))];
}

test.each<[string, fc.Arbitrary<string>, number]>([
  ['lines by chance', fc.array(line, { maxLength: 5 }).map((lines) => lines.join('\n')), 50],
  ['one value', scalar.map((value) => `a: ${value}\n`), 15],
  ['values of one character', fc.string({ minLength: 1, maxLength: 2 }).map((value) => `a: b${value}c`), 15],
  ['good ones', written, 10],
  [
    'good ones with one line changed',
    fc.tuple(written, fc.nat(), line).map(([text, at, other]) => {
      const lines = text.split('\n');
      lines[at % lines.length] = other;
      return lines.join('\n');
    }),
    15,
  ],
  [
    'good ones with one character changed',
    fc.tuple(written, fc.nat(), fc.string({ maxLength: 2 })).map(([text, at, other]) => {
      const cut = at % text.length;
      return text.slice(0, cut) + other + text.slice(cut + 1);
    }),
    25,
  ],
])('a text that is read quickly is read as the package reads it: %s', (_name, texts, share) => {
  read = 0;
  // The cases are small: many for each of a property's.
  const numRuns = share * RUNS;

  fc.assert(fc.property(texts, expectTheSame), { numRuns });

  expect(read).toBeGreaterThan(numRuns / 50);
});

describe('quickly is read', () => {
  test.each<[string, string]>([
    [
      'a RunnerGroup as people write it',
      `# Runners of acme.
apiVersion: gitea.bpg.pw/v1alpha1
kind: RunnerGroup
metadata:
  name: ci
  namespace: runners
spec:
  scope: org
  org: acme # the only one
  gitea:
    url: https://gitea.example.com
  labels:
    - gpu
    - ubuntu-latest:docker://docker.gitea.com/runner-images:ubuntu-latest
  maxActiveRunners: 5
  suspend: false
  resources: {requests: {cpu: 500m, memory: 1.5Gi}, limits: {cpu: "2"}}
  registrationToken: {secretRef: {name: gitea-runner, key: token}}
  authToken:
    secretRef:
      name: 'gitea-api'
      key: token
---
kind: RunnerGroup
labels:
- a
- b
items:
  - name: x
    key: z
  - z
`,
    ],
    ['a file of comments', '# nothing\n\n# here\n'],
    ['an empty file', ''],
  ])('%s', (_name, text) => {
    read = 0;

    expectTheSame(text);

    expect(read).toBe(1);
  });

  test('no file beyond the limits of the package', () => {
    expect(readPlainYaml({ name: 'a', text: '---\n'.repeat(10_001) })).toBeUndefined();
    expect(readPlainYaml({ name: 'a', text: `a: ${'['.repeat(50)}${']'.repeat(50)}` })).toBeUndefined();
    expect(readPlainYaml({ name: 'a', text: `${'a'.repeat(1025)}: b` })).toBeUndefined();
  });
});
