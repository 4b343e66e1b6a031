/** Law F10: reading is bounded over all files, so no input takes more memory than the sidecar has for it. */
import { describe, expect, test } from 'vitest';
import { fakeGitea, jobRow } from '../../support/gitea-stand-in.ts';
import { type Files, inFolder } from '../../support/group-files.ts';
import { groupYaml } from '../../support/run-cli.ts';
import { type Run, runMeasured } from './peak.ts';

/** The peak that docs/spec.md promises, in MB. */
const MOST_MB = 150;
const TOKEN = 'token-of-this-test-0123456789abcdef';
const HEAD = 'apiVersion: v1\nkind: X\nmetadata: {name: x}\n';

function repeat(count: number, unit: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => unit(index)).join('');
}

/** A group with annotations. */
function annotated(url: string, index: number, annotations: number): string {
  const lines = repeat(annotations, (at) => `    a${at}: b\n`);
  const metadata = `metadata:\n  name: g${index}\n  namespace: runners\n  annotations:\n${lines}spec:`;
  return groupYaml(url, '', `g${index}`).replace(/metadata:.*\nspec:/, metadata);
}

function files(count: number, text: (index: number) => string): Files {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}.yaml`, text(index)]));
}

/** Inputs that are just small enough, of the kinds that took most when this was measured. */
const ACCEPTED: readonly (readonly [string, (url: string) => Files])[] = [
  ['five documents of 26,000 empty mappings', () => files(5, () => `${HEAD}a: [${'{},'.repeat(25_900)}]\n`)],
  [
    'one file of five documents of 26,000 empty strings',
    () => ({ 'a.yaml': `${HEAD}a: [${'"",'.repeat(25_900)}]\n---\n`.repeat(5) }),
  ],
  ['five documents of 9,000 keys', () => files(5, () => `${HEAD}data:\n${repeat(9000, (at) => ` k${at}: 1\n`)}`)],
  ['three strings of 1.2 MB in double quotes', () => files(3, () => `${HEAD}a: "${'x'.repeat(1_200_000)}"\n`)],
  ['4 MiB of groups with 2,000 annotations each', (url) => files(125, (index) => annotated(url, index, 2000))],
  [
    '3,000 groups',
    (url) => files(120, (file) => repeat(25, (at) => `---\n${groupYaml(url, '', `g${file * 25 + at}`)}`)),
  ],
];

/** Inputs that are refused; `place` is where. */
const REFUSED: readonly (readonly [string, () => Files, RegExp])[] = [
  [
    '25 files of 4 MiB',
    () => files(25, () => `${HEAD}a: "${'x'.repeat(4 * 1024 * 1024 - 200)}"\n`),
    /f1\.yaml:1:1: all files together have more than 4 MiB: .*GR-INPUT-08/,
  ],
  [
    'two files of 180,000 keys',
    () => files(2, () => `${HEAD}data:\n${repeat(180_000, (at) => ` k${at}: 1\n`)}`),
    /f0\.yaml:1\d{4}:\d+: this document has more than 80000 words and signs: .*GR-INPUT-08/,
  ],
  [
    'seven documents of 9,000 keys',
    () => files(7, () => `${HEAD}data:\n${repeat(9000, (at) => ` k${at}: 1\n`)}`),
    /f5\.yaml:\d+:\d+: all files together have more than 400000 words and signs: .*GR-INPUT-08/,
  ],
  ['38,000 wrong brackets', () => ({ 'a.yaml': `a: [${'}'.repeat(38_000)}` }), /a\.yaml:1:4: is no valid YAML/],
  ['3,000 documents with a fault', () => ({ 'a.yaml': '--- a: b: c\n'.repeat(2990) }), /1000 problems in 1 file/],
];

test('the peak of a program is measured without that of the process that starts it', async () => {
  const large = Buffer.alloc(2 * MOST_MB * 1e6, 1);

  const run = await runMeasured(['version'], { cwd: process.cwd() });

  expect(large.length).toBe(2 * MOST_MB * 1e6);
  expect(run.code).toBe(0);
  expect(run.peakMb).toBeLessThan(MOST_MB);
});

describe(`a peak of at most ${MOST_MB} MB`, () => {
  test.each(ACCEPTED)(
    'the peak stays within the limit for %s, which are accepted',
    async (_, make) => {
      const run = await generateFrom(make);

      expect(run.stderr).toMatch(/^\d+ runners?: /);
      expect(run.code).toBe(0);
      expect(run.peakMb).toBeGreaterThan(20);
      expect(run.peakMb).toBeLessThan(MOST_MB);
    },
    120_000,
  );

  test.each(REFUSED)(
    'the peak stays within the limit for %s, which are refused with their place',
    async (_, make, message) => {
      const run = await generateFrom(make);

      expect(run.code).toBe(2);
      expect(run.stderr).toMatch(message);
      expect(run.peakMb).toBeLessThan(MOST_MB);
    },
    120_000,
  );
});

async function generateFrom(make: (url: string) => Files): Promise<Run> {
  const { url } = await fakeGitea({ jobs: [jobRow(7, 'queued', { labels: ['linux'] })] });
  return await inFolder(make(url), (cwd) =>
    runMeasured(['generate', '--cluster', 'off', '--timeout', '100'], {
      cwd,
      // With the API version, the groups are printed, too.
      env: { GITEA_TOKEN: TOKEN, GITEA_URL: url, KUBE_API_VERSIONS: 'gitea.bpg.pw/v1alpha1/RunnerGroup' },
    }),
  );
}
