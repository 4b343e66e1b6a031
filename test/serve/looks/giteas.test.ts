/** One request budget for all requests to one Gitea. Real requests; minutes pass by a clock that the test turns. */

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { GiteaApi } from '../../../src/clients/gitea/api.ts';
import type { GiteaTarget } from '../../../src/clients/gitea/observe-gitea.ts';
import { readLogin } from '../../../src/clients/gitea/shapes.ts';
import { Deadline } from '../../../src/clients/http/request.ts';
import { ServerClocks } from '../../../src/clients/http/server-clocks.ts';
import { type Giteas, openGiteas } from '../../../src/serve/looks/giteas.ts';
import { BACKGROUND } from '../../../src/serve/looks/request-budget.ts';
import { WorkQueue } from '../../../src/serve/queue/work-queue.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { fakeGitea } from '../../support/gitea-stand-in.ts';
import { targetOf } from '../../support/looking.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'hrtime'] }));
afterEach(() => void vi.useRealTimers());

const QUESTION = { what: 'ask', path: '/user', rights: { scope: 'any scope' }, missing: '' };

function open() {
  let waited = 0;
  const queue = new WorkQueue(systemClock);
  const giteas = openGiteas({
    timeoutMs: 20_000,
    pollMs: 5_000,
    env: {},
    clocks: new ServerClocks(),
    giteaRequests: 60,
    queue,
    clock: systemClock,
    tell: (event) => {
      if (event.is === 'visit-waited') waited += event.ms;
    },
  });
  onTestFinished(() => giteas.close());
  return { giteas, queue, waitedMs: () => waited };
}

/** Visits again and again, with so many requests each. Answers how many requests were made so far. */
function visiting(giteas: Giteas, target: GiteaTarget, queue: string, requests: number) {
  const made = { count: 0, underWay: 0 };
  const again = async (): Promise<void> => {
    const { http, versions } = giteas;
    try {
      await giteas.visit(target, queue, async () => {
        made.underWay += 1;
        const { url, token } = target;
        const api = new GiteaApi({ http, versions, url, token, queue, deadline: new Deadline(20_000) });
        for (let request = 0; request < requests; request += 1) await api.get(QUESTION, readLogin);
        made.count += requests;
        made.underWay -= 1;
      });
    } catch {
      return;
    }
    setTimeout(() => void again(), 100);
  };
  void again();
  return made;
}

/** Time passes only while nobody has a visit. */
async function pass(minutes: number, all: readonly { readonly underWay: number }[]): Promise<void> {
  const end = Date.now() + minutes * 60_000;
  while (Date.now() < end) {
    await vi.advanceTimersByTimeAsync(100);
    while (all.some(({ underWay }) => underWay > 0)) await new Promise(setImmediate);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }
}

test('a budget of 60 requests per minute holds for looks and sweeps together, and leaves sweeps a tenth', async () => {
  const gitea = await fakeGitea();
  const { giteas, waitedMs } = open();
  const target = targetOf(gitea.url);
  giteas.share(new Map([[target, new Set(['runners'])]]));

  const looks = visiting(giteas, target, target.key, 3);
  const sweeps = visiting(giteas, target, BACKGROUND, 2);
  await pass(20, [looks, sweeps]);

  // Five seconds may be saved, and two visits may be under way.
  expect(gitea.seen.length).toBeLessThanOrEqual(60 * 20 + 5 + 5);
  expect(gitea.seen.length).toBeGreaterThan(60 * 20 * 0.95);
  expect(sweeps.count).toBeGreaterThan(0.09 * 60 * 20);
  expect(looks.count).toBeGreaterThan(0.5 * 60 * 20);
  expect(waitedMs()).toBeGreaterThan(0);
});

test('a visit that waits for the budget ends when the giteas is closed', async () => {
  const gitea = await fakeGitea();
  const { giteas } = open();
  const target = targetOf(gitea.url);
  giteas.share(new Map([[target, new Set(['runners'])]]));
  // Its cost has been earned after 16 s.
  await pass(0.1, [visiting(giteas, target, BACKGROUND, 20)]);
  const waiting = giteas.visit(target, BACKGROUND, async () => 'asked');

  await Promise.all([expect(waiting).rejects.toThrow(), giteas.close()]);
});
