/** How often `serve` asks a Gitea in trouble. Real requests; hours pass by a clock that the test turns. */

import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { GiteaAccess } from '../../../src/clients/gitea/api.ts';
import type { GiteaTarget } from '../../../src/clients/gitea/observe-gitea.ts';
import type { Observation } from '../../../src/serve/seen/live.ts';
import type { WebhookEvent } from '../../../src/serve/webhook/gate.ts';
import { fakeGitea, type Intercept, json, type Seen } from '../../support/gitea-stand-in.ts';
import { targetOf } from '../../support/looking.ts';
import { openPoller } from './open-poller.ts';

const MINUTE_MS = 60_000;

// Sockets stay real: Node's own timers are not these.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'hrtime'] }));
afterEach(() => void vi.useRealTimers());

type Answer = (response: ServerResponse, seen: Seen) => void;

/** Starts a Gitea whose answers the test changes, and looks at its scopes. */
async function start(scopes = 1, random: () => number = () => 0.5) {
  const asked: number[] = [];
  const observations = new Map<string, Observation>();
  let looks = 0;
  const began = Date.now();
  const intercept: Intercept = (seen, response) => {
    asked.push(Date.now() - began);
    scene.answer?.(response, seen);
    return scene.answer !== undefined;
  };
  const gitea = await fakeGitea({ intercept });
  const { poller, queue } = openPoller({
    random,
    onLook: ({ key }, observation) => {
      looks += 1;
      observations.set(key, observation);
    },
  });
  const targets = Array.from({ length: scopes }, (_, at): GiteaTarget => {
    return targetOf(gitea.url, { kind: 'org', org: `org-${at}` }, `scope ${at}`);
  });
  /** Resolves when each scope waits for its time. */
  const settled = async (): Promise<void> => {
    for (let quiet = 0, seen = -1; quiet < 3; ) {
      await sleep(5);
      // A request is repeated after a pause.
      if (underWay.size > 0) await vi.advanceTimersByTimeAsync(5);
      const waiting = queue.rows().filter(({ is }) => is === 'waiting');
      const isQuiet = waiting.length === scopes && seen === looks + asked.length && !underWay.size;
      seen = looks + asked.length;
      quiet = isQuiet ? quiet + 1 : 0;
    }
  };
  const underWay = new Set<unknown>();
  const visit = poller.giteas.visit.bind(poller.giteas);
  poller.giteas.visit = async (target, queue, work) => {
    const mine = {};
    underWay.add(mine);
    return await visit(target, queue, work).finally(() => underWay.delete(mine));
  };
  const scene = {
    gitea,
    poller,
    /** Gitea's answer. Undefined: that of a healthy Gitea. */
    answer: undefined as Answer | undefined,
    /** Times of the requests, ms since the begin. */
    asked,
    /** The last look at each scope. */
    observations,
    /** Lets time pass. Looks that become due end before it goes on. */
    pass: async (ms: number): Promise<void> => {
      const end = Date.now() + ms;
      await settled();
      while (Date.now() < end) {
        const before = Date.now();
        await vi.advanceTimersByTimeAsync(Math.min(1_000, end - before));
        if (underWay.size > 0) await settled();
      }
    },
  };
  poller.watch(new Map(targets.map((target) => [target, new Set(['runners'])])));
  await vi.advanceTimersByTimeAsync(0);
  return scene;
}

const webhookOf = (jobId: number): WebhookEvent => ({
  owner: 'org-0',
  repo: 'web',
  status: 'queued',
  jobId,
  attempt: 1,
});

const limited =
  (headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse): true =>
    json(response, { message: 'slow down' }, 429, headers);

const codes = ({ observations }: Awaited<ReturnType<typeof start>>): readonly (string | undefined)[] =>
  [...observations.values()].map(({ failure }) => failure?.code);

test('a Gitea that answers 429 with Retry-After: 120 sees no request before its time because of webhooks, and one after it', async () => {
  const scene = await start();
  await scene.pass(1_000);
  const before = scene.asked.length;
  scene.answer = limited({ 'retry-after': '120' });
  await scene.pass(6_000);
  expect(scene.asked.length - before).toBe(1);

  for (let webhook = 0; webhook < 110; webhook += 1) {
    scene.poller.nudge(() => true, webhookOf(webhook));
    await scene.pass(1_000);
  }
  expect(scene.asked.length - before).toBe(1);

  scene.answer = undefined;
  await scene.pass(30_000);
  expect(scene.asked.length).toBeGreaterThan(before + 1);
  expect(codes(scene)).toEqual([undefined]);
});

test('a Gitea that answers 429 with Retry-After: 120 is told of by each scope whose time comes, also when it was something else that asked it', async () => {
  const scene = await start(2);
  await scene.pass(1_000);
  const before = scene.asked.length;
  scene.answer = limited({ 'retry-after': '120' });
  const target = targetOf(scene.gitea.url, { kind: 'org', org: 'org-0' }, 'scope 0');
  const sweep = ({ deadline, http, url }: GiteaAccess) =>
    http.send({ what: 'sweep', method: 'GET', url: new URL(url) }, deadline);
  await expect(scene.poller.giteas.ask(target, 1_000, sweep)).rejects.toThrow('asks to wait 120 s');
  expect(scene.poller.isWell(target)).toBe(true);

  await scene.pass(30_000);
  expect(codes(scene)).toEqual(['GR-HTTP-10', 'GR-HTTP-10']);
  expect(scene.poller.isWell(target)).toBe(false);
  expect(scene.asked.length - before).toBe(1);

  // The looks come first when it may be asked again: while they fail nothing else asks.
  scene.answer = undefined;
  await scene.pass(110_000);
  expect(codes(scene)).toEqual([undefined, undefined]);
});

test('a Gitea that answers 429 with Retry-After: 120 is asked after an hour even if it says a year', async () => {
  const scene = await start();
  scene.answer = limited({ 'retry-after': '31536000' });
  await scene.pass(50 * MINUTE_MS);
  expect(scene.asked).toHaveLength(1);

  await scene.pass(20 * MINUTE_MS);
  expect(scene.asked).toHaveLength(2);
});

test.each<[string, Answer, string]>([
  ['connections are broken', (response) => response.destroy(), 'GR-HTTP-04'],
  ['503', (response) => json(response, {}, 503), 'GR-GITEA-04'],
  ['429 without Retry-After', limited(), 'GR-GITEA-18'],
  ['429 with Retry-After: 0', limited({ 'retry-after': '0' }), 'GR-GITEA-18'],
  ['401', (response) => json(response, {}, 401), 'GR-GITEA-01'],
])('a Gitea that fails for an hour sees at most 30 requests per scope: %s', async (_, answer, code) => {
  // The most looks that chance allows.
  const scene = await start(2, () => 0.999);
  await scene.pass(1_000);
  const before = scene.asked.length;
  scene.answer = answer;
  await scene.pass(60 * MINUTE_MS);

  const failing = scene.asked.length - before;
  expect(failing / 2).toBeLessThanOrEqual(30);
  expect(failing / 2).toBeGreaterThan(10);
  expect(codes(scene)).toEqual([code, code]);
});

describe('after an outage', () => {
  test('the pauses have grown to five minutes, and the first good look ends those of all scopes', async () => {
    let chance = 0;
    // Scopes fall out of step, as they do by chance.
    const scene = await start(5, () => {
      chance = (chance + 0.37) % 1;
      return chance;
    });
    await scene.pass(1_000);
    scene.answer = (response) => response.destroy();
    await scene.pass(60 * MINUTE_MS);
    scene.answer = undefined;
    let waitedMs = 0;
    while (codes(scene).every((code) => code !== undefined)) {
      await scene.pass(1_000);
      waitedMs += 1_000;
    }

    await scene.pass(1_000);
    expect(codes(scene)).toEqual(Array(5).fill(undefined));
    expect(waitedMs).toBeLessThanOrEqual(5 * MINUTE_MS);
  });

  test.each([
    ['fails for itself is asked within a minute', 502, 19, 27],
    ['Gitea does not know is not asked more often because others are well', 404, 2, 10],
  ])('a scope that %s', async (_, status, least, most) => {
    const scene = await start(2);
    const asked = { 'org-0': 0, 'org-1': 0 };
    scene.answer = (response, { path }) => {
      const org = path.includes('/org-0/') ? 'org-0' : 'org-1';
      asked[org] += 1;
      if (org === 'org-0') json(response, {}, status);
      else if (path.endsWith('/version')) json(response, { version: '1.27.3' });
      else json(response, { jobs: [], total_count: 0 });
    };
    await scene.pass(20 * MINUTE_MS);

    const before = asked['org-0'];
    await scene.pass(20 * MINUTE_MS);
    expect(asked['org-0'] - before).toBeGreaterThanOrEqual(least);
    expect(asked['org-0'] - before).toBeLessThanOrEqual(most);
    expect(asked['org-1']).toBeGreaterThan(400);
  });
});
