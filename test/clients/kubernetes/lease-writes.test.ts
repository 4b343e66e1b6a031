/**
 * Tests the requests and writes of the Lease, with a variable as API server, in virtual time. Over HTTP, with two
 * replicas: lease.test.ts.
 */
import { expect, it } from 'vitest';
import { failure, type HttpAnswer } from '../../../src/clients/http/request.ts';
import type { KubeApi, KubeQuestion } from '../../../src/clients/kubernetes/kube-client.ts';
import { type LeaseTimes, leaseOf } from '../../../src/clients/kubernetes/lease.ts';
import { untilAborted } from '../../../src/shared/clock.ts';
import type { Failure } from '../../../src/shared/failure.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const PATH = '/apis/coordination.k8s.io/v1/namespaces/argocd/leases';

interface Body {
  readonly metadata: {
    readonly resourceVersion?: string | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly spec?: Readonly<Record<string, unknown>> | undefined;
}

const other = (spec: Body['spec']): Body => ({
  metadata: { resourceVersion: '7', annotations: { 'gitea.bpg.pw/address': 'http://two' } },
  spec,
});

async function start(lease?: Body, times: LeaseTimes | undefined = undefined) {
  const clock = new VirtualClock();
  await clock.pass(1);
  const server: { lease: Body | undefined; answer?: (method: string) => number | 'never' | Error | undefined } = {
    lease,
  };
  const asked: (KubeQuestion & { readonly ms: number; readonly atMs: number })[] = [];
  const failures: Failure[] = [];
  let version = 10;
  const request: KubeApi['request'] = ({ what, method = 'GET', path }) => ({
    what,
    method,
    url: new URL(path, 'https://kubernetes'),
  });
  const send: KubeApi['send'] = async (question, deadline): Promise<HttpAnswer> => {
    const { method = 'GET', body } = question;
    asked.push({ ...question, method, ms: deadline.ms, atMs: clock.steadyMs() });
    const told = server.answer?.(method);
    if (told instanceof Error) throw told;
    if (told === 'never') {
      await new Promise<void>((resolve) => clock.after(deadline.remainingMs(), resolve));
      throw failure(request(question), 'GR-HTTP-09', 'no answer', 'Wait');
    }
    if (told === undefined && method !== 'GET') {
      version += 1;
      const { metadata, spec } = JSON.parse(JSON.stringify(body)) as Body;
      server.lease = { metadata: { ...metadata, resourceVersion: String(version) }, spec };
    }
    const status = told ?? (server.lease === undefined ? 404 : method === 'POST' ? 201 : 200);
    return { status, mediaType: 'application/json', text: JSON.stringify(server.lease ?? {}), header: () => undefined };
  };
  const client = { clock, origin: 'https://kubernetes', request, send } as unknown as KubeApi;
  const options = { namespace: 'argocd', name: 'serve', identity: 'one', address: 'http://one' };
  const own = leaseOf(client, { ...options, onFailure: (each) => failures.push(each), ...(times && { times }) });
  const life = new AbortController();
  const led: string[] = [];
  const work = { lastsMs: 0 };
  const run = own.run(life.signal, async (leading) => {
    led.push('leads');
    await untilAborted(leading, new Promise(() => undefined));
    if (work.lastsMs > 0) await new Promise<void>((done) => clock.after(work.lastsMs, done));
    led.push('stopped');
  });
  let ended: unknown;
  run.then(
    () => {
      ended = 'ended';
    },
    (error: unknown) => {
      ended = error;
    },
  );
  await clock.pass(0);
  return { asked, clock, ended: () => ended, failures, led, life, own, server, work };
}

const writes = (asked: readonly KubeQuestion[]) => asked.filter(({ method }) => method !== 'GET');
const bodyOf = (question: KubeQuestion | undefined) => question?.body as Body | undefined;
const BEGAN = '2026-11-25T00:00:00.001000Z';

it('a replica creates the Lease, renews it every two seconds, and gives it back', async () => {
  const { asked, clock, ended, failures, led, life, own, server } = await start();
  expect([led, own.otherHolder()]).toEqual([['leads'], undefined]);
  expect(asked.map(({ method, path, what, ms }) => [method, path, what, ms])).toEqual([
    ['GET', `${PATH}/serve`, 'read Lease argocd/serve', 5_000],
    ['POST', PATH, 'create Lease argocd/serve', 5_000],
  ]);
  const spec = {
    holderIdentity: 'one',
    leaseDurationSeconds: 15,
    acquireTime: BEGAN,
    renewTime: BEGAN,
    leaseTransitions: 0,
  };
  const metadata = { namespace: 'argocd', name: 'serve', annotations: { 'gitea.bpg.pw/address': 'http://one' } };
  expect(bodyOf(asked[1])).toEqual({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });

  await clock.pass(2_000);
  expect(asked.slice(2).map(({ method, path }) => [method, path])).toEqual([
    ['GET', `${PATH}/serve`],
    ['PUT', `${PATH}/serve`],
  ]);
  expect(bodyOf(asked[3])).toMatchObject({
    metadata: { ...metadata, resourceVersion: '11' },
    spec: { ...spec, renewTime: '2026-11-25T00:00:02.001000Z' },
  });

  life.abort();
  await clock.pass(0);
  expect([ended(), led]).toEqual(['ended', ['leads', 'stopped']]);
  expect(asked.slice(4).map(({ method, ms }) => [method, ms])).toEqual([
    ['GET', 1_000],
    ['PUT', 1_000],
  ]);
  expect(server.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 });
  expect(failures).toEqual([]);
});

it('the Lease follows the given times', async () => {
  const { asked, clock, led, server } = await start(undefined, {
    leaseMs: 2_500,
    renewDeadlineMs: 1_500,
    retryMs: 400,
  });
  expect([asked[0]?.ms, server.lease?.spec?.['leaseDurationSeconds']]).toEqual([1_000, 3]);
  server.answer = () => 500;
  await clock.pass(1_499);
  expect(led).toEqual(['leads']);
  await clock.pass(1);
  expect(led).toEqual(['leads', 'stopped']);
});

it.each<[string, Body['spec'], Record<string, unknown>]>([
  [
    'that was given back',
    { holderIdentity: '', leaseTransitions: 3, acquireTime: 'then' },
    { leaseTransitions: 4, acquireTime: BEGAN },
  ],
  ['without a holder', {}, { leaseTransitions: 1, acquireTime: BEGAN }],
  ['without a spec', undefined, { leaseTransitions: 1, acquireTime: BEGAN }],
  [
    'of this very process',
    { holderIdentity: 'one', leaseTransitions: 3, acquireTime: 'then' },
    { leaseTransitions: 3, acquireTime: 'then' },
  ],
  ['of this very process, without a time', { holderIdentity: 'one' }, { leaseTransitions: 0, acquireTime: BEGAN }],
])('a replica takes a Lease %s at once', async (_, spec, written) => {
  const { asked, led, own } = await start(other(spec));

  expect(led).toEqual(['leads']);
  expect(bodyOf(asked[1])).toMatchObject({ metadata: { resourceVersion: '7' }, spec: written });
  expect(own.otherHolder()).toBeUndefined();
});

it('a replica names the other holder, and none after it has taken over', async () => {
  const { clock, led, own, server } = await start(other({ holderIdentity: 'two', leaseDurationSeconds: 3 }));
  expect([led, own.otherHolder()]).toEqual([[], 'http://two']);
  await clock.pass(4_000);
  expect([led, own.otherHolder(), server.lease?.spec?.['leaseTransitions']]).toEqual([['leads'], undefined, 1]);
});

it('a replica names no other holder while the Lease is free, nor itself', async () => {
  const free = await start(other({ holderIdentity: '' }));
  expect(free.own.otherHolder()).toBeUndefined();
  free.server.answer = (method) => (method === 'GET' ? undefined : 409);
  free.server.lease = other({ holderIdentity: '' });
  await free.clock.pass(2_000);
  expect(free.own.otherHolder()).toBeUndefined();
  free.server.lease = other({});
  await free.clock.pass(2_000);
  expect(free.own.otherHolder()).toBeUndefined();
  // The replica's own address is not that of another one.
  free.server.lease = other({ holderIdentity: 'one' });
  await free.clock.pass(2_000);
  expect(free.own.otherHolder()).toBeUndefined();
});

it('a replica does not lead while the API server refuses, and reports each refusal', async () => {
  const { clock, failures, led, server } = await start(other({ holderIdentity: 'two', leaseDurationSeconds: 1 }));
  const told = async (answer: (method: string) => number | undefined): Promise<string | undefined> => {
    server.answer = answer;
    failures.splice(0);
    await clock.pass(2_000);
    expect(failures).toHaveLength(1);
    const [{ code, message } = {}] = failures;
    return `${code} ${message?.includes('Grant') ? 'rights' : 'server'}`;
  };
  expect(await told(() => 403)).toBe('GR-CLUSTER-10 rights');
  expect(await told(() => 503)).toBe('GR-CLUSTER-18 server');
  expect(await told((method) => (method === 'GET' ? 500 : undefined))).toBe('GR-CLUSTER-10 server');
  expect(await told((method) => (method === 'GET' ? undefined : 403))).toBe('GR-CLUSTER-10 rights');
  // A conflict is the way in which another is faster.
  server.answer = (method) => (method === 'GET' ? undefined : 409);
  failures.splice(0);
  await clock.pass(2_000);
  expect([failures, led]).toEqual([[], []]);
});

it('leads on after a renewal that failed, and stops 10 s after the last one that did not', async () => {
  const { clock, failures, led, server } = await start();
  server.answer = () => 500;
  await clock.pass(2_000);
  expect([failures.length, led]).toEqual([1, ['leads']]);
  delete server.answer;
  await clock.pass(4_000);
  // The last renewal was at 6 s.
  server.answer = () => 'never';
  await clock.pass(9_999);
  expect(led).toEqual(['leads']);
  await clock.pass(1);
  expect(led).toEqual(['leads', 'stopped']);
});

it('a leader stops at its next try when another one holds the Lease, and writes nothing more', async () => {
  const { asked, clock, led, life, server } = await start();
  server.lease = other({ holderIdentity: 'two', leaseDurationSeconds: 15 });
  await clock.pass(2_000);
  expect(led).toEqual(['leads', 'stopped']);
  life.abort();
  await clock.pass(0);
  expect(writes(asked)).toHaveLength(1);
});

it.each([
  // The replica tries at 2, 4, 6 and 8 s. At 6 s exactly, the other one still holds the Lease.
  [6, 8_000],
  [7, 8_000],
  [undefined, 16_000],
])('a replica takes over a Lease of %s s after %i ms, when it saw no renewal', async (leaseDurationSeconds, ms) => {
  const { clock, led } = await start(other({ holderIdentity: 'two', leaseDurationSeconds }));
  await clock.pass(ms - 1);
  expect(led).toEqual([]);
  await clock.pass(1);
  expect(led).toEqual(['leads']);
});

it('a replica waits for a whole duration again after each renewal that it sees', async () => {
  const { clock, led, server } = await start(other({ holderIdentity: 'two', leaseDurationSeconds: 6 }));
  for (let each = 0; each < 5; each += 1) {
    await clock.pass(4_000);
    server.lease = other({ holderIdentity: 'two', leaseDurationSeconds: 6, renewTime: String(each) });
  }
  expect(led).toEqual([]);
});

it('a leader gives the Lease back when its work has ended, not before', async () => {
  const { asked, clock, ended, life, work } = await start();
  work.lastsMs = 500;
  life.abort();
  await clock.pass(499);
  expect([writes(asked).length, ended()]).toEqual([1, undefined]);
  await clock.pass(1);
  expect([writes(asked).length, ended()]).toEqual([2, 'ended']);
});

it('a leader ends within a second when the API server does not answer, and reports that', async () => {
  const { clock, ended, failures, life, server } = await start();
  server.answer = () => 'never';
  await clock.pass(2_000);
  life.abort();
  await clock.pass(999);
  expect([ended(), failures]).toEqual([undefined, []]);
  await clock.pass(1);
  // A request that was under way at the end is not reported. A later one is.
  expect([ended(), failures.length]).toEqual(['ended', 1]);
  await clock.pass(10_000);
  expect(failures).toHaveLength(1);
});

it('an error of ours ends its work, and is thrown', async () => {
  const { clock, ended, failures, led, server } = await start();
  const error = new TypeError('a fault of ours');
  let isFirst = true;
  server.answer = () => {
    const now = isFirst;
    isFirst = false;
    return now ? error : undefined;
  };
  await clock.pass(2_000);
  expect([ended(), led, failures]).toEqual([error, ['leads', 'stopped'], []]);
  expect(server.lease?.spec?.['holderIdentity']).toBe('');
});

it('an error of ours while it is given back is thrown', async () => {
  const { clock, ended, failures, life, server } = await start();
  const error = new TypeError('a fault of ours');
  server.answer = () => error;
  life.abort();
  await clock.pass(0);
  expect([ended(), failures]).toEqual([error, []]);
});

it.each(Array.from({ length: 30 }, (_, turns) => turns))(
  'a leader ends when its process ends %i turns after it has the Lease',
  async (turns) => {
    const { clock, ended, led, life, server } = await start(other({ holderIdentity: 'two', leaseDurationSeconds: 1 }));
    server.answer = (method) => {
      if (method !== 'GET')
        void (async () => {
          for (let turn = 0; turn < turns; turn += 1) await undefined;
          life.abort();
        })();
      return undefined;
    };
    await clock.pass(2_000);
    expect(ended()).toBe('ended');
    expect(led.length % 2).toBe(0);
  },
);
