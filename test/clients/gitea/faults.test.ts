import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { type FailureKind, isOfConnection } from '../../../src/shared/failure.ts';
import { failureOf } from '../../support/failure-of.ts';
import { ACME, lookAt, SECRET } from '../../support/looking.ts';
import { serve } from '../../support/server.ts';
import { FAULTS, LEAK } from './faults.ts';

test('the list of faults has at least 25 kinds, each under its own name', () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length);
  expect(FAULTS.length).toBeGreaterThanOrEqual(25);
});

/** Kinds of failures that `serve`, `doctor` and `explain` distinguish. */
const KINDS: Readonly<Record<string, FailureKind>> = {
  'GR-GITEA-01': 'unauthorized',
  'GR-GITEA-02': 'forbidden',
  'GR-GITEA-03': 'not-found',
  'GR-GITEA-04': 'server-error',
  'GR-GITEA-05': 'server-error',
  'GR-GITEA-18': 'rate-limited',
  'GR-GITEA-22': 'user-refused',
  'GR-HTTP-11': 'redirected',
  'GR-HTTP-09': 'timeout',
  'GR-HTTP-10': 'told-to-wait',
  'GR-HTTP-12': 'too-long',
};

test.concurrent.each(FAULTS)(
  'a look fails with exit 1 and a helpful text: $name',
  async ({ handler, code, message, lasts }) => {
    // The time of an answer that arrives proves nothing: a busy machine needs more.
    const seconds = lasts ? 1 : 3000;
    const server = await serve(handler());

    const failure = await failureOf(lookAt(server.origin, ACME, { deadlineMs: seconds * 1000 }));

    expect(failure.message).toBe(message(server.origin, seconds));
    const kind = KINDS[code] ?? (code.startsWith('GR-HTTP') ? 'unreachable' : 'other');
    expect({ code: failure.code, exit: failure.exit, kind: failure.kind }).toEqual({ code, exit: 1, kind });
    // A Gitea that answers 429 is there, for `doctor` and for `explain` from outside of the cluster.
    expect(isOfConnection(failure)).toBe(code.startsWith('GR-HTTP-'));
    const everything = inspect(failure, { depth: 10, showHidden: true });
    expect(everything).not.toContain(SECRET);
    expect(everything).not.toContain(LEAK);
  },
);
