import { expect, test } from 'vitest';
import * as z from 'zod';
import { Deadline } from '../../../src/clients/http/request.ts';
import { KubeClient } from '../../../src/clients/kubernetes/kube-client.ts';
import { listAll } from '../../../src/clients/kubernetes/list.ts';
import { observeCluster, observeRunners } from '../../../src/clients/kubernetes/observe-cluster.ts';
import { JOBS } from '../../../src/clients/kubernetes/resources.ts';
import type { Failure } from '../../../src/shared/failure.ts';
import { groupLabels } from '../../../src/shared/marks.ts';
import { type ApiServer, send, startApiServer, status, TOKEN } from '../../support/api-server.ts';
import { failureOf } from '../../support/failure-of.ts';
import { podOf, runsSince } from '../../support/kube-objects.ts';

const OPTIONS = { deadlineMs: 20_000 };
const CREATED = '2026-11-20T10:00:00Z';

function kubeJob(name: string, namespace = 'runners', more: object = {}): object {
  return { metadata: { name, namespace, uid: `uid-${name}`, creationTimestamp: CREATED }, status: {}, ...more };
}

async function failureAt(server: ApiServer, namespaces = ['runners'], deadlineMs = 20_000): Promise<Failure> {
  const error = await failureOf(observeCluster(namespaces, server.config, { deadlineMs }));
  expect(error.exit).toBe(1);
  expect(error.message).not.toContain(TOKEN);
  expect(error.message).not.toContain('secret words');
  return error;
}

test('a Job is judged with its own pods, found by owner', async () => {
  const createdAtMs = Date.parse(CREATED);
  const server = await startApiServer({
    jobs: { runners: [kubeJob('b'), kubeJob('a')] },
    pods: { runners: ['b', 'other'].map((job) => podOf(job, runsSince(createdAtMs), createdAtMs)) },
  });

  const found = await observeCluster(['runners'], server.config, OPTIONS);

  expect(found).toEqual([
    {
      namespace: 'runners',
      name: 'a',
      state: 'starting',
      createdAtMs,
      trouble: {
        reason: 'NoPod',
        message: 'no controller has looked at its Job, whose status is empty',
      },
    },
    { namespace: 'runners', name: 'b', state: 'running', createdAtMs, runningSinceMs: createdAtMs },
  ]);
});

test('a pod counts for the name of its Job, whether or not the Job is there, until a kubelet has told its end', async () => {
  const ended = { phase: 'Running', containerStatuses: [{ name: 'runner', state: { terminated: { exitCode: 0 } } }] };
  const evicted = { phase: 'Failed', containerStatuses: runsSince(0).containerStatuses };
  const pods = [podOf('a', runsSince(0)), podOf('gone', {}), podOf('gone', evicted), podOf('over', ended)];
  const server = await startApiServer({ jobs: { runners: [kubeJob('a')] }, pods: { runners: pods } });

  const { jobs, pods: found } = await observeRunners(['runners'], server.config, OPTIONS);

  expect(jobs.map(({ name }) => name)).toEqual(['a']);
  expect([...found]).toEqual([
    ['runners/a', 1],
    ['runners/gone', 2],
  ]);
});

test('a Job is of the Application that its annotation names, else its label', async () => {
  const labels = { 'app.kubernetes.io/instance': 'team_runners', 'example.com/app': 'mine' };
  const ofOther = { 'argocd.argoproj.io/tracking-id': 'other:batch/Job:runners/b' };
  const job = (name: string, metadata: object) => {
    const found = kubeJob(name) as { readonly metadata: object };
    return { ...found, metadata: { ...found.metadata, ...metadata } };
  };
  const jobs = [job('a', { labels }), job('b', { labels, annotations: ofOther }), job('c', { annotations: ofOther })];
  const server = await startApiServer({ jobs: { runners: jobs } });
  const applications = async (trackingLabel?: string) =>
    (await observeCluster(['runners'], { ...server.config, trackingLabel }, OPTIONS)).map((live) => live.application);

  expect(await applications()).toEqual(['team_runners', 'other', undefined]);
  expect(await applications('example.com/app')).toEqual(['mine', 'other', undefined]);
});

test('a look at the cluster asks for our label, which every Job of the charts carries', async () => {
  const server = await startApiServer({});

  await observeCluster(['runners'], server.config, OPTIONS);

  const selectors = server.seen.map((url) => url.searchParams.get('labelSelector'));
  const [[key = '', value = ''] = []] = selectors.map((selector) => selector?.split('='));
  expect(new Set(selectors).size).toBe(1);
  expect(groupLabels('ci')[key]).toBe(value);
});

test('a Job keeps the whole spec that Kubernetes shows, but not whether it is suspended, and one that no API server has stored has none', async () => {
  const selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': 'uid-x' } };
  const pod = { containers: [{ name: 'runner', env: [] }], dnsPolicy: 'ClusterFirst', priorityClassName: 'high' };
  const spec = { selector, template: { metadata: { labels: { 'job-name': 'x' } }, spec: pod } };
  const jobs = [
    kubeJob('x', 'runners', { spec: { ...spec, suspend: true } }),
    kubeJob('y', 'runners', { spec: { template: { spec: pod } } }),
  ];
  const server = await startApiServer({ jobs: { runners: jobs } });

  const found = await observeCluster(['runners'], server.config, OPTIONS);

  expect(found.map((job) => job.spec)).toEqual([spec, undefined]);
});

test('each namespace is asked once, and a namespace that does not exist has no Jobs', async () => {
  const server = await startApiServer({ jobs: { a: [kubeJob('x', 'a')] } });

  const found = await observeCluster(['b', 'a', 'b'], server.config, OPTIONS);

  expect(found.map(({ namespace, name }) => `${namespace}/${name}`)).toEqual(['a/x']);
  expect(server.seen.map((url) => url.pathname).sort()).toEqual([
    '/api/v1/namespaces/a/pods',
    '/api/v1/namespaces/b/pods',
    '/apis/batch/v1/namespaces/a/jobs',
    '/apis/batch/v1/namespaces/b/jobs',
  ]);
});

test('all pages are read', async () => {
  const names = Array.from({ length: 23 }, (_, index) => `job-${String(index).padStart(2, '0')}`);
  const server = await startApiServer({ jobs: { runners: names.map((name) => kubeJob(name)) }, pageSize: 5 });

  const found = await observeCluster(['runners'], server.config, OPTIONS);

  expect(found.map(({ name }) => name)).toEqual(names);
});

test('a page that is too long is asked for again in small ones', async () => {
  // One namespace with long objects must not blind `serve` for all others.
  const jobs = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => kubeJob(name, 'runners', { spec: 'x'.repeat(1_000) }));
  const server = await startApiServer({ jobs: { runners: jobs } });
  const client = new KubeClient(server.config, { bodyLimit: 6_500 });
  const anything = { ...JOBS, item: z.object({ metadata: z.object({ name: z.string() }) }) };

  const { items } = await listAll(client, anything, 'runners', new Deadline(5_000));
  await client.close();

  expect(items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  expect(server.seen.map((url) => url.searchParams.get('limit'))).toEqual(['500', '5', '5']);
});

test('a list that expires between two pages is begun anew, and no Job is lost or doubled', async () => {
  let expired = 0;
  const server = await startApiServer({
    jobs: { runners: ['a', 'b', 'c'].map((name) => kubeJob(name)) },
    pageSize: 1,
    override: (url, response) => {
      if (url.searchParams.get('continue') !== '2' || expired > 0) return false;
      expired += 1;
      return status(response, 410, 'Expired');
    },
  });

  const found = await observeCluster(['runners'], server.config, OPTIONS);

  expect(expired).toBe(1);
  expect(found.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
});

test('a list that always expires is an error, not a short list', async () => {
  const server = await startApiServer({
    jobs: { runners: ['a', 'b'].map((name) => kubeJob(name)) },
    pageSize: 1,
    override: (url, response) => url.searchParams.has('continue') && status(response, 410, 'Expired'),
  });

  expect(await failureAt(server)).toMatchObject({ code: 'GR-CLUSTER-04' });
});

test.each([
  ['jobs', '"list" on "jobs.batch" in namespace "runners"'],
  ['pods', '"list" on "pods" in namespace "runners"'],
])('a refusal of %s names the missing right', async (kind, right) => {
  const server = await startApiServer({
    override: (url, response) => url.pathname.endsWith(kind) && status(response, 403, 'Forbidden'),
  });

  const failure = await failureAt(server);

  expect(failure.code).toBe('GR-CLUSTER-06');
  expect(failure.message).toContain(right);
  expect(failure.message).toMatch(/GET http:\/\/127\.0\.0\.1:\d+\/apis?\//);
});

test('an unknown token is an error that says so', async () => {
  const server = await startApiServer({});
  const config = { ...server.config, token: async () => 'expired-token' };

  const failure = await failureOf(observeCluster(['runners'], config, OPTIONS));

  expect(failure).toMatchObject({ code: 'GR-CLUSTER-05', exit: 1 });
  expect(failure.message).not.toContain('expired-token');
});

const good = { kind: 'JobList', metadata: {}, items: [] };
test.each([
  ['HTML', '<html>', 'no JSON'],
  ['a cut body', JSON.stringify(good).slice(0, -3), 'no JSON'],
  ['null', 'null', 'no list'],
  ['another object with status 200', JSON.stringify({ kind: 'Status', metadata: {}, items: [] }), 'no list: kind'],
  ['a list without items', JSON.stringify({ ...good, items: undefined }), 'no list: items'],
  ['a Job without a name', JSON.stringify({ ...good, items: [kubeJob('')] }), 'metadata.name'],
  [
    'a Job with a time of no kind',
    JSON.stringify({ ...good, items: [kubeJob('a', 'runners', { status: { completionTime: 'soon' } })] }),
    'completionTime',
  ],
])('%s is an error that names the trouble', async (_, body, named) => {
  const server = await startApiServer({
    override: (_url, response) => {
      response.end(body);
      return true;
    },
  });

  const failure = await failureAt(server);

  expect(failure.code).toBe('GR-CLUSTER-08');
  expect(failure.message).toContain(named);
});

test.each([404, 422])('status %i is an error', async (code) => {
  const server = await startApiServer({ override: (_, response) => status(response, code, 'Whatever') });

  const failure = await failureAt(server);

  expect(failure.code).toBe('GR-CLUSTER-07');
  expect(failure.message).toContain(String(code));
});

test.each([429, 503, 504])('a busy server (%i) is asked again, and then the advice is to wait', async (code) => {
  let left = 2;
  const busy = (): boolean => left-- > 0;
  const once = await startApiServer({ override: (_, response) => busy() && status(response, code, 'TooManyRequests') });
  expect(await observeCluster(['runners'], once.config, { deadlineMs: 5_000 })).toEqual([]);

  const server = await startApiServer({ override: (_, response) => status(response, code, 'TooManyRequests') });
  const failure = await failureAt(server);

  expect(failure.code).toBe('GR-CLUSTER-18');
  expect(failure.message).toContain(`the API server is busy (${code}). Wait`);
  expect(failure.message).not.toContain('--cluster off');
  expect(server.seen.filter(({ pathname }) => pathname.endsWith('/jobs'))).toHaveLength(3);
});

test('a server that fails is no reason to look away', async () => {
  const server = await startApiServer({ override: (_, response) => status(response, 500, 'InternalError') });

  expect((await failureAt(server)).message).not.toContain('--cluster off');
});

test('a server that never answers ends in an error when the time is up', async () => {
  const server = await startApiServer({ override: () => true });

  expect((await failureAt(server, ['runners'], 300)).message).toContain('0.3 s');
});

test('a page that leads to itself is no list', async () => {
  const server = await startApiServer({
    override: (_, response) =>
      send(response, 200, { kind: 'List', metadata: { resourceVersion: '1', continue: 'same' }, items: [] }),
  });

  const { code, message } = await failureAt(server);

  expect(code).toBe('GR-CLUSTER-14');
  expect(message).toContain('page 2 leads to itself');
});

test('a list that goes on for ever is given up after 200 pages', async () => {
  let pages = 0;
  const server = await startApiServer({
    override: (url, response) => {
      if (!url.pathname.endsWith('/jobs')) return false;
      pages += 1;
      return send(response, 200, { kind: 'JobList', metadata: { continue: `${pages}` }, items: [] });
    },
  });

  const { code, message } = await failureAt(server);

  expect(code).toBe('GR-CLUSTER-14');
  expect(message).toContain('more than 200 pages of 500');
  expect(pages).toBe(200);
});
