/**
 * Tests any bytes in a RunnerGroup's file: they give groups and documents, or problems with a place, and nothing else,
 * and soon.
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { formatProblem, InputProblems } from '../../src/config/runnergroup/problems.ts';
import { type ReadResult, readRunnerGroups } from '../../src/config/runnergroup/read.ts';
import { inFolder, readFiles } from '../support/group-files.ts';
import { groupYaml } from '../support/run-cli.ts';
import { expectShowable, runCampaign, TIMEOUT_MS } from './campaign.ts';
import { byteChanges, nodeChanges, sometimes } from './mutate.ts';

/** Pieces of text that mean something there, between `¦`. */
const TOKENS = [
  ...'---\n¦...\n¦\n¦  ¦\t¦: ¦- ¦? ¦, ¦{¦}¦[¦]¦"¦\'¦|\n¦>-\n¦#¦%YAML 1.2\n¦&a ¦*a¦<<: *a\n¦!!binary '.split('¦'),
  ...'!!js/function ¦! ¦~¦yes¦010¦1:30¦.inf¦1e999¦\ufeff¦\r¦\0¦kind: RunnerGroup\n'.split('¦'),
  ...'kind: List\nitems:\n¦apiVersion: v1\n¦spec:\n¦__proto__: ¦constructor: ¦\u202e¦\u2028¦\\e[2J'.split('¦'),
  '\\u0085',
  'x'.repeat(700),
];

const GROUP = {
  apiVersion: 'gitea.bpg.pw/v1alpha1',
  kind: 'RunnerGroup',
  metadata: { name: 'ci', namespace: 'runners', labels: { team: 'a' }, annotations: { 'a/b': 'c' } },
  spec: {
    scope: 'repo',
    repo: 'acme/web',
    gitea: { url: 'https://gitea.example.com/git' },
    labels: ['gpu', 'debian:docker://debian:13'],
    defaultLabels: false,
    maxActiveRunners: 5,
    registrationToken: { secretRef: { name: 'gitea-runner', key: 'token' } },
    authToken: { name: 'gitea-api', key: 'token' },
    containerMode: 'dind',
    image: 'gitea/runner:1.0.8',
    resources: { requests: { cpu: '500m' }, limits: { cpu: 1, memory: '1.5Gi' } },
    spawnTimeoutSeconds: 300,
    suspend: false,
    fairness: 'oldest',
  },
};
const OTHER = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: 'b\nc', d: '1' } };

const written = fc.constantFrom(
  groupYaml('https://gitea.example.com'),
  `# first\n---\n${stringify(OTHER)}...\n---\n${groupYaml('https://gitea.example.com')}`,
  `a: &a {b: 1}\n${stringify(OTHER)}c: {<<: *a}\nd: [*a, *a]\n`,
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [GROUP] }, null, '\t'),
);
const structured = fc
  .tuple(fc.constantFrom<unknown>(GROUP, OTHER, { apiVersion: 'v1', kind: 'List', items: [GROUP, GROUP] }), nodeChanges)
  .chain(([seed, change]) => fc.constantFrom(JSON.stringify(change(seed)) ?? '', stringify(change(seed) ?? null)));
/** Random documents that nobody has written. */
const anything = fc.oneof(
  fc.json(),
  fc.array(fc.constantFrom(...TOKENS), { maxLength: 12 }).map((tokens) => tokens.join('')),
);
const file = fc
  .tuple(
    fc.oneof(
      { weight: 2, arbitrary: written },
      { weight: 2, arbitrary: structured },
      { weight: 1, arbitrary: anything },
    ),
    sometimes(byteChanges(TOKENS), 2, 1),
  )
  .map(([text, change]) => change(Buffer.from(text)));

async function outcomeOf(files: Readonly<Record<string, Uint8Array>>): Promise<ReadResult | InputProblems> {
  try {
    return await readFiles(files);
  } catch (error) {
    if (error instanceof InputProblems) return error;
    throw error;
  }
}

test(
  'yaml',
  async () => {
    await runCampaign({
      name: 'yaml',
      input: fc.array(file, { minLength: 1, maxLength: 3 }),
      mostCpuMs: 4000,
      rounds: 2,
      check: async (contents) => {
        const outcome = await outcomeOf(
          Object.fromEntries(contents.map((content, index) => [`${index}.yaml`, content])),
        );
        if (outcome instanceof InputProblems) expectGoodProblems(outcome);
        else await expectSteady(outcome);
      },
    });
  },
  TIMEOUT_MS,
);

function expectGoodProblems({ problems, message, exit }: InputProblems): void {
  expect(exit).toBe(2);
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.length).toBeLessThanOrEqual(1000);
  expect(message.split('\n').length).toBeLessThanOrEqual(17);
  expectShowable(message);
  for (const problem of problems) {
    expect(problem.code).toMatch(/^GR-INPUT-0[1-8]$/);
    expect(problem.place.line).toBeGreaterThanOrEqual(1);
    expect(problem.place.column).toBeGreaterThanOrEqual(1);
    expect(formatProblem(problem).length).toBeLessThan(700);
  }
}

/** Expects that accepted input, printed and read again, is accepted and has the same meaning. */
async function expectSteady({ groups, others }: ReadResult): Promise<void> {
  for (const { text } of others) {
    expect((await readFiles({ 'a.yaml': text })).others.map((other) => other.text)).toEqual([text]);
  }
  const printed = groups.map(({ manifest, namespace }) =>
    JSON.stringify({ ...manifest, metadata: { ...(manifest['metadata'] as object), namespace } }),
  );
  const again = await inFolder({ 'a.yaml': printed.join('\n---\n') }, (cwd) =>
    readRunnerGroups({ paths: [], recursive: false, cwd, defaultNamespace: 'default' }),
  );
  const bare = (read: ReadResult) => read.groups.map(({ place: _, manifest: __, ...group }) => group);
  expect(bare(again)).toEqual(
    bare({ groups, others, broken: [], hidden: [], files: 1, skipped: [], sources: new Map() }),
  );
}
