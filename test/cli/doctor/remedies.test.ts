/** Tests the advice of `doctor` against failures: it is on a line of its own, after words that name something else. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { remedyOfFailure } from '../../../src/cli/reading/finding.ts';
import { Failure, type FailureKind } from '../../../src/shared/failure.ts';
import { BROKEN } from './broken.ts';

const KINDS: Readonly<Record<FailureKind, true>> = {
  ...{ unreachable: true, untrusted: true, redirected: true, timeout: true, 'too-long': true, 'rate-limited': true },
  ...{ 'told-to-wait': true, 'server-error': true, unauthorized: true, forbidden: true, 'user-refused': true },
  ...{ 'not-found': true, 'token-unseen': true, 'token-unusable': true, cluster: true, 'cluster-forbidden': true },
  ...{ policy: true, other: true },
};
const remedy = (kind: FailureKind) => remedyOfFailure(new Failure('GR-TEST-01', 1, 'text', kind));

it.each(Object.keys(KINDS) as FailureKind[])('the remedy for %s names what it is about', (kind) => {
  expect(remedy(kind)).toMatch(/^(?!Its? )[A-Z]/);
});

/** What remedies say that doctor tells, and a fault of `BROKEN` whose line does so. */
const SENT_TO_DOCTOR: Readonly<Record<string, string>> = {
  'has the command': 'an older CRD',
  'has the': 'a namespace that admits no privileged pods',
  'tells how Gitea and Kubernetes answer': 'a token that Gitea refuses',
  'tells whether Gitea answers': 'a token that Gitea refuses',
  'says what each node offers of it': 'a device plugin that offers nothing',
  'says what each node lacks': 'nodes that are too small for a size',
};

it('each remedy that sends to doctor names what a check of doctor tells', () => {
  const sources = ['not-created', 'remedies'].map((name) => readFileSync(`src/answers/${name}.ts`, 'utf8')).join();
  const sent = [...sources.matchAll(/<(?:DOCTOR|NODES)> ([^'`:,.]*)/g)].map(([, words = '']) => words.trim());

  expect([...new Set(sent)].toSorted()).toEqual(Object.keys(SENT_TO_DOCTOR).toSorted());
  const faults = BROKEN.map(([fault]) => fault);
  for (const fault of Object.values(SENT_TO_DOCTOR)) expect(faults).toContain(fault);
});

it('an answer that is too long is no slow server', () => {
  expect(remedy('too-long')).toContain('Check the URL');
  expect(remedy('timeout')).toContain('Gitea is slow');
});
