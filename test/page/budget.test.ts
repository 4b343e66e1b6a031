/** Questions about rights, and what they cost Gitea. Minutes pass by a clock that the test turns; nothing leaves the process. */
import { expect, it, onTestFinished } from 'vitest';
import { ServerClocks } from '../../src/clients/http/server-clocks.ts';
import type { Wire, WireAnswer } from '../../src/clients/http/wire.ts';
import { ownGiteas } from '../../src/page/page.ts';
import { readerRights } from '../../src/page/rights.ts';
import { WorkQueue } from '../../src/serve/queue/work-queue.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const URL_OF_GITEA = 'http://gitea.example.com';
const GITEA_REQUESTS = 1_200;
const QUARTER = GITEA_REQUESTS / 4;
/** Unused budget of five seconds, and one request of each queue. */
const SAVED = QUARTER / 12 + 4;

/** A Gitea where the person whom a token names may read everything: `anna-7` is one of anna's. */
function startRights() {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const wire: Wire = {
    send: ({ headers, url }) => {
      const [, login = ''] = /token (\w+)-/.exec(headers['authorization'] ?? '') ?? [];
      asked.push(login);
      const body = Buffer.from(JSON.stringify(url.pathname.endsWith('/user') ? { login, id: 1 } : {}));
      const answer: WireAnswer = {
        status: 200,
        headers: { 'content-type': 'application/json' },
        read: async () => body,
      };
      return { answer: Promise.resolve(answer), cancel: () => undefined };
    },
    close: async () => undefined,
  };
  const giteas = ownGiteas(URL_OF_GITEA, {
    ...{ timeoutMs: 20_000, env: {}, clocks: new ServerClocks(), giteaRequests: GITEA_REQUESTS, clock },
    queue: new WorkQueue(clock),
    tell: () => undefined,
    wireTo: () => wire,
  });
  onTestFinished(() => giteas.close());
  const rights = readerRights(URL_OF_GITEA, giteas, clock);
  const wanted = {
    repositories: new Set(Array.from({ length: 300 }, (_, index) => `acme/r${index}`)),
    scopes: new Map(),
  };
  /** Returns how many repositories are still unknown after each visit. */
  const visiting = (token: string, login?: string): number[] => {
    const unknown: number[] = [];
    const again = async (): Promise<void> => {
      const reader = await rights.readerOf({ token, ...(login !== undefined && { login }) }, wanted);
      unknown.push(reader.unknown);
      clock.after(5_000, () => void again());
    };
    void again();
    return unknown;
  };
  return { asked, clock, visiting };
}

it('questions about one person with twelve tokens stay within the quarter of the page', async () => {
  const { asked, clock, visiting } = startRights();
  for (let token = 0; token < 12; token += 1) visiting(`mallory-${token}`);

  await clock.pass(10 * 60_000);

  expect(asked.length).toBeGreaterThan(QUARTER);
  expect(asked.length).toBeLessThanOrEqual(10 * QUARTER + SAVED);
});

it('questions about one person with twelve tokens leave others their part', async () => {
  const { asked, clock, visiting } = startRights();
  for (let token = 0; token < 12; token += 1) visiting(`mallory-${token}`);
  await clock.pass(60_000);
  asked.length = 0;

  const unknown = visiting('anna-1', 'anna');
  await clock.pass(2 * 60_000);

  // Half of the time of two people. By tokens, she would have one of thirteen: 8 %.
  expect(asked.filter((login) => login === 'anna').length).toBeGreaterThan(asked.length * 0.25);
  expect(unknown.at(-1)).toBeLessThan(150);
});

it('questions about rights are asked once for all sessions of a person', async () => {
  const { asked, clock, visiting } = startRights();
  const all = Array.from({ length: 12 }, (_, session) => visiting(`anna-${session}`, 'anna'));

  await clock.pass(110_000);

  expect(all.map((unknown) => unknown.at(-1))).toEqual(all.map(() => 0));
  // One request per session for the person, and one for each repository.
  expect(asked.length).toBe(12 + 300);
});
