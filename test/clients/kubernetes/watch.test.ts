/** The copy of a kind against a real HTTP server that plays the API server's worst days; its good days: test/cluster. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/clients/kubernetes/kube-client.ts';
import { RUNNER_GROUPS } from '../../../src/clients/kubernetes/resources.ts';
import { watchOf } from '../../../src/clients/kubernetes/watch.ts';
import { type Clock, systemClock } from '../../../src/shared/clock.ts';
import type { Failure } from '../../../src/shared/failure.ts';
import { serve } from '../../support/server.ts';

type Handler = (url: URL, response: ServerResponse, request: IncomingMessage) => void;

function group(name: string, resourceVersion: string): object {
  return { metadata: { name, namespace: 'ci', uid: `uid-${name}`, generation: 1, resourceVersion }, spec: {} };
}

function list(resourceVersion: string, ...names: readonly string[]): string {
  const items = names.map((name) => group(name, resourceVersion));
  return JSON.stringify({ kind: 'RunnerGroupList', metadata: { resourceVersion }, items });
}

function event(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** Pauses of a watch, ms. Requests have other ones. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000];

/** Starts a server and a watch on it. `onList` and `onWatch` are called with how often that was asked before. */
async function start(
  onList: (nth: number) => Handler,
  onWatch: (nth: number) => Handler,
  pause?: (ms: number, signal: AbortSignal) => Promise<void>,
  onChange = (): void => undefined,
) {
  const asked: URL[] = [];
  let lists = 0;
  let watches = 0;
  const { origin } = await serve((request, response) => {
    const url = new URL(request.url ?? '/', 'http://api');
    asked.push(url);
    const watching = url.searchParams.get('watch') === 'true';
    const handle = watching ? onWatch(watches++) : onList(lists++);
    handle(url, response, request);
  });
  const life = new AbortController();
  const clock: Clock = {
    ...systemClock,
    after: (ms, call) => {
      if (!pause || !PAUSES_MS.includes(ms)) return systemClock.after(ms, call);
      void pause(ms, life.signal).then(call);
      return () => undefined;
    },
  };
  const client = new KubeClient({ url: origin, token: async () => 'token' }, { clock });
  const failures: Failure[] = [];
  const onFailure = (failure: Failure): void => void failures.push(failure);
  const watch = watchOf(client, RUNNER_GROUPS, undefined, { onChange, onFailure });
  const running = watch.run(life.signal);
  onTestFinished(async () => {
    life.abort();
    await running;
    await client.close();
  });
  /** Waits until the copy is as wanted. */
  const until = async (check: () => boolean): Promise<void> => {
    while (!check()) await sleep(5);
  };
  return { watch, failures, asked, until, life, running, names: () => [...watch.objects.keys()].sort() };
}

const answer =
  (text: string): Handler =>
  (_, response) =>
    void response.end(text);
const hold =
  (...lines: readonly string[]): Handler =>
  (_, response) => {
    response.flushHeaders();
    for (const line of lines) response.write(line);
  };

/** Notes the pauses, and does not come back from the last one. */
function upToPause(count: number) {
  const pauses: number[] = [];
  const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
    pauses.push(ms);
    if (pauses.length < count) return;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  };
  return { pauses, pause };
}

it('a watch follows what is added, changed and deleted', async () => {
  const { names, until, watch } = await start(
    () => answer(list('1', 'a', 'b')),
    () =>
      hold(
        event('ADDED', group('c', '2')),
        event('DELETED', group('a', '3')),
        event('MODIFIED', { ...group('b', '4'), spec: { scope: 'org' } }),
      ),
  );
  await until(() => watch.objects.get('ci/b')?.spec !== undefined && names().join() === 'ci/b,ci/c');
  await until(() => JSON.stringify(watch.objects.get('ci/b')?.spec) === '{"scope":"org"}');

  expect(watch.isFresh()).toBe(true);
});

it('a watch goes on from the last bookmark when the server ends it', async () => {
  const { asked, until } = await start(
    () => answer(list('1', 'a')),
    (nth) => (nth === 0 ? answer(event('BOOKMARK', { metadata: { resourceVersion: '70' } })) : hold()),
  );
  await until(() => asked.length === 3);

  expect(asked.map(({ searchParams }) => searchParams.get('resourceVersion'))).toEqual([null, '1', '70']);
});

it('a watch lists anew when its place has expired, and forgets what is gone', async () => {
  const { names, until, failures } = await start(
    (nth) => answer(nth === 0 ? list('1', 'a', 'b') : list('9', 'b')),
    (nth) => (nth === 0 ? answer(event('ERROR', { kind: 'Status', code: 410 })) : hold()),
  );
  await until(() => names().join() === 'ci/b');

  expect(failures).toEqual([]);
});

it.each([
  ['a line that is no JSON', 'nonsense\n'],
  ['an event of an unknown type', event('EXPLODED', group('c', '2'))],
  ['an object without a name', event('ADDED', { metadata: { namespace: 'ci', resourceVersion: '2' } })],
  ['an error', event('ERROR', { kind: 'Status', code: 500 })],
])('a watch takes %s for a fault and lists anew', async (_, line) => {
  const { failures, names, until, watch } = await start(
    (nth) => answer(nth === 0 ? list('1', 'a') : list('9', 'a', 'b')),
    (nth) => (nth === 0 ? hold(line) : hold()),
  );
  await until(() => names().join() === 'ci/a,ci/b');

  expect(failures).toHaveLength(1);
  expect(watch.isFresh()).toBe(true);
});

it('a watch is not fresh while the server cannot be listed, and keeps what it knew', async () => {
  const refuse: Handler = (_, response) => void response.writeHead(403).end();
  const { failures, names, until, watch } = await start(
    (nth) => (nth === 0 ? answer(list('1', 'a')) : refuse),
    (nth) => (nth === 0 ? answer(event('ERROR', { kind: 'Status', code: 410 })) : hold()),
  );
  await until(() => failures.length > 0);

  expect(failures[0]?.code).toBe('GR-CLUSTER-06');
  expect(failures[0]?.message).toContain('in the whole cluster');
  expect(watch.isFresh()).toBe(false);
  expect(names()).toEqual(['ci/a']);
});

it.each([
  ['answers 410 to every watch', event('ERROR', { kind: 'Status', code: 410 })],
  ['ends every watch at once', ''],
  ['ends every watch after a bookmark', event('BOOKMARK', { metadata: { resourceVersion: '70' } })],
  ['ends every watch after a change', event('ADDED', group('c', '2'))],
  ['sends nonsense in every watch', 'nonsense\n'],
])('a watch asks less and less often when the server %s', async (_, text) => {
  const { pauses, pause } = upToPause(9);
  const { asked, until } = await start(
    () => answer(list('1', 'a')),
    () => answer(text),
    pause,
  );
  await until(() => pauses.length === 9);

  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  expect(asked.length).toBeLessThanOrEqual(18);
});

it('a watch begins with the first pause again once it is no longer refused', async () => {
  const { pauses, pause } = upToPause(5);
  const { until } = await start(
    (nth) => (nth < 3 ? (_, response) => void response.writeHead(403).end() : answer(list('1', 'a'))),
    () => answer(event('ERROR', { kind: 'Status', code: 410 })),
    pause,
  );
  await until(() => pauses.length === 5);

  expect(pauses).toEqual([500, 1000, 2000, 500, 1000]);
});

it.each([
  ['after a 410', 1, event('ERROR', { kind: 'Status', code: 410 })],
  ['after the second watch that ended at once', 2, ''],
])('a watch is not fresh while it pauses %s', async (_, nth, text) => {
  const { pauses, pause } = upToPause(nth);
  const { until, watch } = await start(
    () => answer(list('1', 'a')),
    () => answer(text),
    pause,
  );
  await until(() => pauses.length === nth);

  expect(watch.isFresh()).toBe(false);
});

it('a watch lets the event loop turn after 100 events at most', async () => {
  let events = 0;
  let most = 0;
  let turning = true;
  const turn = (): void => {
    most = Math.max(most, events);
    events = 0;
    if (turning) setImmediate(turn);
  };
  turn();
  const flood = Array.from({ length: 5000 }, (_, nth) => event('MODIFIED', group('a', String(nth + 2)))).join('');
  const { watch, until } = await start(
    () => answer(list('1', 'a')),
    () => hold(flood, event('ADDED', group('last', '9000'))),
    undefined,
    () => {
      events += 1;
    },
  );
  await until(() => watch.objects.has('ci/last'));
  turning = false;

  // One more for the list.
  expect(most).toBeLessThanOrEqual(101);
  expect(most).toBeGreaterThan(1);
});

it('a watch takes a line without end for a fault', async () => {
  const { failures, until } = await start(
    () => answer(list('1', 'a')),
    () => (_, response) => {
      response.write('x'.repeat(17 * 1024 * 1024));
    },
  );
  await until(() => failures.length > 0);

  expect(failures[0]).toMatchObject({
    code: 'GR-CLUSTER-08',
    message: expect.stringContaining('a line longer than 16 MiB'),
  });
});

it.each([
  ['a list', 1, hold()],
  ['a watch', 2, answer(list('1', 'a'))],
])('a watch ends at once when it is told to while %s hangs', async (_, requests, onList) => {
  const { asked, until, life, running } = await start(
    () => onList,
    () => () => undefined,
  );
  await until(() => asked.length === requests);

  life.abort();

  await running;
});

it('a watch survives a connection that breaks in the middle of a line', async () => {
  const { names, until, watch } = await start(
    (nth) => answer(nth === 0 ? list('1', 'a') : list('9', 'a', 'b')),
    (nth) => (_, response) => {
      response.flushHeaders();
      if (nth > 0) return;
      response.write('{"type":"ADD');
      setTimeout(() => response.destroy(), 10);
    },
  );
  await until(() => names().join() === 'ci/a,ci/b');

  expect(watch.isFresh()).toBe(true);
});
