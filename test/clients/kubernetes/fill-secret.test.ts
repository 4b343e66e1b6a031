/**
 * Tests how `serve` writes keys into Secrets: requests, the meaning of each answer of the API server, and that no value
 * is printed.
 */
import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { Deadline } from '../../../src/clients/http/request.ts';
import { fillSecret, readSecret, secretsClient } from '../../../src/clients/kubernetes/cluster-secrets.ts';
import { send, status } from '../../support/api-server.ts';
import { failureOf } from '../../support/failure-of.ts';
import { serve } from '../../support/server.ts';

const PLACE = { namespace: 'runners', name: 'gitea-runner' };
const VALUE = 'registration-token-that-nobody-may-see';
const WHO = 'system:serviceaccount:argocd:gitea-runners';

interface Sent {
  readonly line: string;
  readonly type: string | undefined;
  readonly body: string;
}

async function start(answer: (response: ServerResponse) => void) {
  const sent: Sent[] = [];
  const { origin } = await serve((request, response) => {
    void text(request).then((body) => {
      sent.push({ line: `${request.method} ${request.url}`, type: request.headers['content-type'], body });
      answer(response);
    });
  });
  const client = secretsClient({ url: origin, token: async () => 'account-token' });
  onTestFinished(() => client.close());
  const deadline = new Deadline(10_000);
  return {
    sent,
    read: () => readSecret(client, PLACE, deadline),
    fill: () => fillSecret(client, PLACE, '7', { data: { token: VALUE }, annotations: { a: 'b' } }, deadline),
  };
}

it('serve writes only the given keys, and only over the version that it has read', async () => {
  const { fill, sent } = await start((response) => send(response, 200, {}));

  expect(await fill()).toBe('written');

  const [{ line, type, body } = { line: '', type: '', body: '' }] = sent;
  expect(line).toBe('PATCH /api/v1/namespaces/runners/secrets/gitea-runner?fieldManager=gitea-runners-serve');
  expect(type).toBe('application/merge-patch+json');
  const data = { token: Buffer.from(VALUE).toString('base64') };
  expect(JSON.parse(body)).toEqual({ metadata: { resourceVersion: '7', annotations: { a: 'b' } }, data });
});

it('a Secret that somebody else has written meanwhile is left alone', async () => {
  const { fill } = await start((response) => status(response, 409, 'Conflict'));

  expect(await fill()).toBe('changed');
});

it('keys and version are read, also of an empty Secret', async () => {
  const { read } = await start((response) => send(response, 200, { metadata: { resourceVersion: '7' } }));

  const { keys, version } = await read();

  expect([keys('token'), version]).toEqual([undefined, '7']);
});

it.each([
  [401, 'GR-CLUSTER-05', 'take the Secret out of --registration-secrets'],
  [403, 'GR-TOKEN-09', '--verb=get,patch --resource=secrets --resource-name=gitea-runner'],
  [404, 'GR-TOKEN-10', 'Create it: kubectl create secret generic gitea-runner --namespace runners'],
  [422, 'GR-CLUSTER-07', 'status 422'],
  [500, 'GR-CLUSTER-07', 'status 500'],
])('%i is %s, for reading and writing, and says what to do', async (code, expected, remedy) => {
  const message = `User "${WHO}" cannot patch resource "secrets" ${VALUE}`;
  const { fill, read } = await start((response) =>
    send(response, code, { kind: 'Status', message, details: { kind: 'secrets' }, code }),
  );

  const failures = [await failureOf(read()), await failureOf(fill())];

  for (const failure of failures) {
    expect(failure).toMatchObject({ code: expected, message: expect.stringContaining(remedy) });
    expect(failure.message).toContain('Secret gitea-runner of namespace runners');
    expect(failure.message).not.toContain(VALUE);
  }
  if (code === 403) expect(failures[1]?.message).toContain('--serviceaccount=argocd:gitea-runners');
});

it.each([
  ['no JSON', VALUE],
  ['no version', { data: { token: 'eA==' } }],
  ['a value that is not Base64', { metadata: { resourceVersion: '7' }, data: { token: VALUE } }],
])('an answer with %s is refused without its text', async (_, body) => {
  const { read } = await start((response) => {
    if (typeof body === 'string') response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    else send(response, 200, body);
  });

  const { code, message } = await failureOf(read());

  expect(code).toBe('GR-CLUSTER-08');
  expect(message).not.toContain(VALUE);
});
