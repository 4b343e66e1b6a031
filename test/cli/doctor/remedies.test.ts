/** Tests the advice of `doctor` against failures: it is on a line of its own, after words that name something else. */
import { expect, it } from 'vitest';
import { remedyOfFailure } from '../../../src/cli/reading/finding.ts';
import { Failure, type FailureKind } from '../../../src/shared/failure.ts';

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

it('an answer that is too long is no slow server', () => {
  expect(remedy('too-long')).toContain('Check the URL');
  expect(remedy('timeout')).toContain('Gitea is slow');
});
