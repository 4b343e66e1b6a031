/** Tests that a write which admission refuses is told apart from one that RBAC refuses, by the fields of the Status. */
import { expect, it } from 'vitest';
import { admissionFailure } from '../../../src/clients/kubernetes/kube-client.ts';

const URL_OF_SECRETS = new URL('https://10.96.0.1/api/v1/namespaces/runners/secrets');
const SECRET = 'secret words';
const DETAILS = { name: 'x', kind: 'secrets' };

/** As the API server writes it. */
const statusOf = (code: number, message: string, more: object): string =>
  JSON.stringify({ kind: 'Status', metadata: {}, status: 'Failure', message, code, ...more });

it.each([
  [
    'Gatekeeper',
    403,
    'GR-CLUSTER-19',
    'validation.gatekeeper.sh',
    statusOf(403, `admission webhook "validation.gatekeeper.sh" denied the request: [a] ${SECRET}`, {
      reason: 'Forbidden',
    }),
  ],
  [
    'Kyverno, which names no code',
    400,
    'GR-CLUSTER-19',
    'validate.kyverno.svc-fail',
    statusOf(400, `admission webhook "validate.kyverno.svc-fail" denied the request: ${SECRET}`, {}),
  ],
  [
    'a ValidatingAdmissionPolicy',
    422,
    'GR-CLUSTER-19',
    'no-secrets',
    statusOf(422, `secrets "x" is forbidden: ValidatingAdmissionPolicy 'no-secrets' denied request: ${SECRET}`, {
      reason: 'Invalid',
      details: { ...DETAILS, causes: [{ message: SECRET }] },
    }),
  ],
  [
    'RBAC',
    403,
    undefined,
    '',
    statusOf(403, `secrets is forbidden: User "x" cannot create resource ${SECRET}`, {
      reason: 'Forbidden',
      details: { kind: 'secrets' },
    }),
  ],
  [
    'a quota',
    403,
    undefined,
    '',
    statusOf(403, `secrets "x" is forbidden: exceeded quota: ${SECRET}`, { reason: 'Forbidden', details: DETAILS }),
  ],
  [
    'a schema',
    422,
    undefined,
    '',
    statusOf(422, `Secret "x" is invalid: ${SECRET}`, {
      reason: 'Invalid',
      details: { ...DETAILS, causes: [{ reason: 'FieldValueRequired', field: 'type' }] },
    }),
  ],
  ['a bad request', 400, undefined, '', statusOf(400, SECRET, { reason: 'BadRequest' })],
  ['what stands before the API server', 403, undefined, '', `<html>${SECRET}</html>`],
])('a write that %s refuses', (_, status, code, told, text) => {
  const request = { what: 'create a Secret', method: 'POST', url: URL_OF_SECRETS } as const;

  const failure = admissionFailure(request, { status, text });

  expect(failure?.code).toBe(code);
  expect(failure?.message ?? '').toContain(told);
  expect(failure?.message ?? '').not.toContain(SECRET);
  // Admission judges no reads.
  expect(admissionFailure({ ...request, method: 'GET' }, { status, text })).toBeUndefined();
});
