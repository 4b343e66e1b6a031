import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { openArgoCd } from '../../../src/clients/argocd/argocd.ts';
import { Deadline } from '../../../src/clients/http/request.ts';
import type { Failure } from '../../../src/shared/failure.ts';
import { failureOf } from '../../support/failure-of.ts';
import { application, BUSY, client, fakeArgoCd, gatewayError, json, status, TOKEN } from '../../support/fake-argocd.ts';

/** Body of a sync without retry: during retries Argo CD would refuse other syncs. */
const SYNC = '{"prune":true,"retryStrategy":{"limit":0}}';

const APP = { name: 'runners' };
const SYNCED = application(status('Synced'));
const TEN_SECONDS = () => new Deadline(10_000);

async function harmlessFailureOf(work: Promise<unknown>): Promise<Failure> {
  const error = await failureOf(work);
  expect(error.message).not.toContain(TOKEN);
  expect(error.message).not.toContain('secret words');
  return error;
}

it('the client reads and refreshes an Application with the token of its account', async () => {
  const server = await fakeArgoCd();
  const argocd = client(server.origin);

  const before = await argocd.read(APP, TEN_SECONDS());
  const after = await argocd.refresh(APP, TEN_SECONDS());

  expect([before.sync, after.sync]).toEqual(['Synced', 'OutOfSync']);
  expect(server.lines()).toEqual(['GET /api/v1/applications/runners', 'GET /api/v1/applications/runners?refresh=hard']);
  expect(new Set(server.seen.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${TOKEN}`]));
});

it('Applications that hang do not delay the request for another one', async () => {
  const hanging: ServerResponse[] = [];
  const server = await fakeArgoCd(({ line }, response) => {
    if (!line.includes('refresh=hard')) return false;
    hanging.push(response);
    return true;
  });
  const argocd = client(server.origin);
  const slow = Array.from({ length: 20 }, (_, index) =>
    argocd.refresh({ name: `slow${index}` }, TEN_SECONDS()).catch(() => 'ended'),
  );

  expect((await argocd.read(APP, TEN_SECONDS())).sync).toBe('Synced');

  expect(await Promise.race([Promise.all(slow), Promise.resolve('under way')])).toBe('under way');
  for (const response of hanging) json(response, {});
  await argocd.close();
  await Promise.all(slow);
});

it('sync asks for prune, and answers that it has started', async () => {
  const server = await fakeArgoCd();

  expect(await client(server.origin).sync(APP, TEN_SECONDS())).toBe('started');
  expect(server.seen).toMatchObject([
    { line: 'POST /api/v1/applications/runners/sync', contentType: 'application/json', body: SYNC },
  ]);
});

it('a request names the namespace of an Application outside that of Argo CD, in query and body', async () => {
  const server = await fakeArgoCd((seen, response) => {
    if (seen.line.startsWith('POST')) return undefined;
    return json(response, { ...SYNCED, metadata: { name: 'runners', namespace: 'team-a' } });
  });
  const argocd = client(server.origin);
  const app = { namespace: 'team-a', name: 'runners' };

  await argocd.read(app, TEN_SECONDS());
  await argocd.refresh(app, TEN_SECONDS());
  await argocd.sync(app, TEN_SECONDS());

  expect(server.lines()).toEqual([
    'GET /api/v1/applications/runners?appNamespace=team-a',
    'GET /api/v1/applications/runners?refresh=hard&appNamespace=team-a',
    'POST /api/v1/applications/runners/sync',
  ]);
  expect(server.seen.at(-1)?.body).toBe('{"prune":true,"retryStrategy":{"limit":0},"appNamespace":"team-a"}');
});

it("a request leaves out Argo CD's own namespace, and keeps the root path if there is one", async () => {
  const server = await fakeArgoCd();

  await client(`${server.origin}/argo/cd/`).read({ namespace: 'argocd', name: 'runners' }, TEN_SECONDS());

  expect(server.lines()).toEqual(['GET /argo/cd/api/v1/applications/runners']);
});

it.each([
  ['another code', 400, 3, BUSY],
  ['another status', 500, 9, BUSY],
  ['another reason', 400, 9, 'application is deleting'],
])('a sync has failed, and is not busy, on %s', async (_, http, code, message) => {
  const server = await fakeArgoCd((_seen, response) => gatewayError(response, http, code, message));

  expect((await harmlessFailureOf(client(server.origin).sync(APP, TEN_SECONDS()))).exit).toBe(1);
});

it.each([
  ['GR-ARGOCD-03', 401, 16, 'invalid session: secret words', 'argocd account generate-token'],
  ['GR-ARGOCD-04', 403, 7, 'permission denied', 'p, <account>, applications, sync, <project>/runners, allow'],
  [
    'GR-ARGOCD-04',
    403,
    7,
    'permission denied: applications, sync, ci/runners, sub: robot, iat: 2026-11-21T10:28:35Z',
    'Give its account "p, robot, applications, sync, ci/runners, allow" in argocd-rbac-cm',
  ],
  ['GR-ARGOCD-05', 403, 7, 'cannot sync: blocked by sync window', 'manualSync'],
  ['GR-ARGOCD-06', 404, 5, 'secret words', 'base address of Argo CD'],
  ['GR-HTTP-08', 407, 2, 'secret words', 'proxy'],
  ['GR-ARGOCD-07', 503, 14, 'secret words', 'argocd-server'],
  ['GR-ARGOCD-08', 500, 2, 'secret words', 'argocd-server'],
  ['GR-ARGOCD-09', 418, 2, 'secret words', 'URL'],
  ['GR-ARGOCD-09', 400, 2, 'secret words', 'URL'],
  ['GR-ARGOCD-12', 400, 9, 'secret words', 'look at it in Argo CD'],
  ['GR-ARGOCD-13', 400, 3, 'secret words', 'AppProject'],
])('the failure says %s for status %i and gRPC code %i', async (code, http, grpc, message, remedy) => {
  const server = await fakeArgoCd((_seen, response) => gatewayError(response, http, grpc, message));

  const failure = await harmlessFailureOf(client(server.origin).sync(APP, TEN_SECONDS()));

  expect(failure.code).toBe(code);
  expect(failure.message).toContain(
    `sync Application runners: POST ${server.origin}/api/v1/applications/runners/sync: `,
  );
  expect(failure.message).toContain(remedy);
});

it('the failure of a read names the RBAC line, with the namespace of the Application', async () => {
  const server = await fakeArgoCd((_seen, response) => gatewayError(response, 403, 7, 'permission denied'));

  const failure = await harmlessFailureOf(
    client(server.origin).read({ namespace: 'team-a', name: 'runners' }, TEN_SECONDS()),
  );

  expect(failure.message).toContain('p, <account>, applications, get, <project>/team-a/runners, allow');
  expect(failure.message).toContain('application.namespaces');
});

it.each<[string, string, type: string, body: string | object]>([
  ['GR-ARGOCD-10', 'a web page', 'text/html', '<p>secret words'],
  ['GR-ARGOCD-10', 'half a JSON', 'application/json', '{"secret words'],
  ['GR-ARGOCD-11', 'no Application', 'application/json', { items: ['secret words'] }],
  [
    'GR-ARGOCD-11',
    'an Application of the same name in another namespace',
    'application/json',
    { ...SYNCED, metadata: { name: 'runners', namespace: 'secret words' } },
  ],
  [
    'GR-ARGOCD-11',
    'another Application',
    'application/json',
    { ...SYNCED, metadata: { name: 'secret words', namespace: 'argocd' } },
  ],
  ['GR-HTTP-12', 'an endless answer', 'application/json', { x: 'x'.repeat(9 * 1024 * 1024) }],
])('the failure says %s for %s', async (code, _, type, body) => {
  const server = await fakeArgoCd((_seen, response) => {
    response.writeHead(200, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body));
    return true;
  });

  expect(
    (await harmlessFailureOf(client(server.origin).read({ namespace: 'argocd', ...APP }, TEN_SECONDS()))).code,
  ).toBe(code);
});

it.each([401, 403])('a firewall before Argo CD that answers %i is no missing right', async (status) => {
  const server = await fakeArgoCd((_seen, response) => {
    response.writeHead(status, { 'content-type': 'text/html' }).end('<html>secret words</html>');
    return true;
  });

  const failure = await harmlessFailureOf(client(server.origin).read(APP, TEN_SECONDS()));

  expect(failure.code).toBe('GR-ARGOCD-10');
  expect(failure.message).toContain(`a web page instead of JSON (${status}). Check that the URL is the base address`);
});

it('follows no redirect to another server, as an Argo CD with TLS gives it to http', async () => {
  const server = await fakeArgoCd((_seen, response) => {
    response.writeHead(307, { location: 'https://127.0.0.1:1/' }).end();
    return true;
  });
  const argocd = client(server.origin);

  expect((await harmlessFailureOf(argocd.read(APP, TEN_SECONDS()))).code).toBe('GR-HTTP-11');
  expect((await harmlessFailureOf(argocd.sync(APP, TEN_SECONDS()))).code).toBe('GR-ARGOCD-09');
  expect(server.seen).toHaveLength(2);
});

it('refresh waits for a slow answer until the deadline of the caller, and no longer', async () => {
  const server = await fakeArgoCd(() => true);

  expect((await harmlessFailureOf(client(server.origin).refresh(APP, new Deadline(200)))).code).toBe('GR-HTTP-09');
});

it('sync is not sent twice when the connection breaks', async () => {
  const server = await fakeArgoCd((_seen, response) => {
    response.destroy();
    return true;
  });

  expect((await harmlessFailureOf(client(server.origin).sync(APP, TEN_SECONDS()))).code).toBe('GR-HTTP-04');
  expect(server.seen).toHaveLength(1);
});

it('drops a refresh under way when it is closed', async () => {
  const server = await fakeArgoCd(() => true);
  const argocd = client(server.origin);
  const refresh = argocd.refresh(APP, TEN_SECONDS()).then(
    () => 'answered',
    () => 'dropped',
  );
  await expect.poll(() => server.seen.length).toBe(1);

  await argocd.close();

  expect(await refresh).toBe('dropped');
});

it.each(['', ' \n', 'two words', 'line\nbreak', 'naïve'])('the client refuses %j as a token', async (token) => {
  const argocd = client('https://argocd.example.com', { readToken: async () => token });

  await expect(argocd.read({ name: 'runners' }, new Deadline(1_000))).rejects.toMatchObject({
    code: 'GR-ARGOCD-01',
    exit: 1,
  });
});

it.each([
  '',
  'argocd.example.com',
  'ftp://argocd.example.com',
  'https://user:secret@argocd.example.com',
  'file:///etc',
])('the client refuses %j as a URL, without showing it', (url) => {
  const make = () => openArgoCd({ url, readToken: async () => TOKEN, env: {}, controlPlaneNamespace: 'argocd' });

  expect(make).toThrow(expect.objectContaining({ code: 'GR-ARGOCD-02', exit: 2 }));
  expect(make).not.toThrow('secret@');
});
