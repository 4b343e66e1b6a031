/** Law F122 (docs/spec.md): no advice about labels that `validate` refuses, or that changes nothing. */
import { expect, it } from 'vitest';
import { hintsFor, machineOf, notCoveredAdvice } from '../../src/answers/uncovered-labels.ts';
import { runnerLabel } from '../../src/config/runnergroup/field-kinds.ts';
import { DEFAULT_LABELS } from '../../src/config/runnergroup/group-schema.ts';
import { parseLabel, withoutTypography } from '../../src/config/runnergroup/words.ts';
import type { JobDecision } from '../../src/planner/decisions.ts';
import { fc, test } from '../support/property.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { job, ORIGIN } from '../support/scenario.ts';

const OWN = [...DEFAULT_LABELS, 'linux:host', 'gpu:host', 'large:host'];
const ci = runnerGroup({ giteaUrl: ORIGIN, labels: OWN.map((text) => ({ name: text.split(':')[0] ?? '', text })) });
const names = ci.labels.map(({ name }) => name);

const WORDS = [
  ...names,
  'self-hosted',
  'arm',
  'armv7',
  's390x',
  'windows',
  'macos',
  'Array',
  'Object',
  '',
  'x64',
  'lunix',
  'gpus',
  'ubuntu',
  'node',
];
const SIGNS = [
  '',
  ' ',
  ',',
  ', ',
  '"',
  "'",
  '“',
  '’',
  '[',
  ']',
  ':',
  '://',
  ':docker://',
  ':host',
  '-',
  '–',
  '\u00a0',
  '\u200b',
  '\n',
  '${{ ',
  '*',
  '.',
  '/',
  '@',
];
const anyLabel = fc
  .array(fc.oneof(fc.constantFrom(...WORDS), fc.constantFrom(...SIGNS), fc.string({ maxLength: 3 })), { maxLength: 5 })
  .map((parts) => parts.join(''));

/** Returns true for a label that a workflow or a group may have. */
const isGood = (label: string): boolean => {
  const parsed = parseLabel(label);
  return runnerLabel.safeParse(label).success && 'schema' in parsed && parsed.name === label;
};

test(
  'advice can be followed, and then the job is covered',
  [fc.array(anyLabel, { minLength: 1, maxLength: 3 })],
  (labels) => {
    const missing = labels.filter((label) => !names.includes(label));
    if (missing.length === 0) return;
    const decision = {
      job: job(1, { labels }),
      origin: ORIGIN,
      verdict: 'held',
      because: 'labels-not-covered',
    } as JobDecision;
    const hints = hintsFor([ci])(decision);

    const [advice = ''] = notCoveredAdvice([{ ...hints, job: decision.job, missing }]);

    if (/\badd .* to spec\.labels/.test(advice) && !hints.elsewhere)
      for (const label of missing) {
        expect(isGood(label), advice).toBe(true);
        expect(withoutTypography(label)).toBe(label);
        expect(['Windows', 'macOS']).not.toContain(machineOf(label));
        if (!hints.didYouMean) expect(machineOf(label), advice).toBeUndefined();
      }
    const [, list] = /Write runs-on: \[(.*)\]/.exec(advice) ?? [];
    for (const name of list?.split(', ') ?? []) expect(isGood(name), advice).toBe(true);
    for (const { written, meant } of hints.didYouMean?.labels ?? []) {
      expect(names).toContain(meant);
      expect(written).not.toBe(meant);
      expect(machineOf(written)).toBe(machineOf(meant));
    }
  },
);

it.each([
  ['lunix', 'linux'],
  ['lager', 'large'],
  ['gpus', 'gpu'],
  ['ubuntu', 'ubuntu-latest'],
  ['linux-x64', 'linux'],
  ['LINUX', 'linux'],
  ['ubuntu‑latest', 'ubuntu-latest'],
])('%s is a near miss of %s', (written, meant) => {
  const decision = {
    job: job(1, { labels: [written] }),
    origin: ORIGIN,
    verdict: 'held',
    because: 'labels-not-covered',
  } as JobDecision;

  expect(hintsFor([ci])(decision).didYouMean?.labels).toEqual([{ written, meant }]);
});

it.each<[string, string]>([
  ['["self-hosted","linux"]', 'Write runs-on: [self-hosted, linux]'],
  ['self-hosted, linux', 'Write runs-on: [self-hosted, linux]'],
  ['docker://node:20', 'the image under container'],
  ['org/larger runners', 'it must not contain spaces'],
  ['ubuntu-22.04-armv7', 'asks for other machines'],
  ['linux/arm64', 'asks for other machines'],
])('%s: %s', (label, words) => {
  expect(notCoveredAdvice([{ job: job(1, { labels: [label] }), missing: [label] }])[0]).toContain(words);
});
