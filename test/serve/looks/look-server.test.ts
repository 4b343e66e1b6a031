/** Which clients get a look, and which do not (laws V177 to V180). Real requests. */
import { request } from 'node:http';
import { expect, it } from 'vitest';
import { keysOf, MOST_AGE_MS, opened } from '../../../src/clients/gitea/kept-look.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import { fakeGitea, jobRows } from '../../support/gitea-stand-in.ts';
import { SECRET, targetOf } from '../../support/looking.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { slowClock } from '../../support/slow-clock.ts';
import { until } from '../rig.ts';
import { NONCE, openLooks } from './open-looks.ts';

it('a look is given as often as it is asked for, and Gitea is asked once', async () => {
  const gitea = await fakeGitea({ jobs: jobRows(1, 3) });
  const target = targetOf(gitea.url);
  const { ask, told } = await openLooks([target], { clock: slowClock() });
  const before = gitea.seen.length;

  for (let nth = 0; nth < 20; nth += 1) {
    const answer = await ask(target);
    const look = opened(Buffer.from(await answer.arrayBuffer()), keysOf(target).secret, NONCE);
    expect(look?.version.text).toBe('1.27.3');
  }

  expect(gitea.seen.length).toBe(before);
  expect(new Set(told)).toEqual(new Set(['given']));
});

it('a look is given to nobody who has another token, another Gitea or another scope, or says no nonce', async () => {
  const gitea = await fakeGitea();
  const target = targetOf(gitea.url);
  const { ask } = await openLooks([target]);

  const asked = [
    ask({ ...target, token: new Token('other', gitea.url) }),
    ask(targetOf('http://gitea.example.com')),
    ask({ ...target, scope: { kind: 'global' } }),
    ask(target, ''),
    ask(target, 'x'.repeat(32)),
  ];
  const answers = await Promise.all(asked.map(async (each) => [(await each).status, await (await each).text()]));

  expect(new Set(answers.map(String))).toEqual(new Set(['404,no such look\n']));
});

it('a look is given only at its one path, to GET', async () => {
  const gitea = await fakeGitea();
  const { url } = await openLooks([targetOf(gitea.url)]);

  expect((await fetch(`${url}/look`, { method: 'POST' })).status).toBe(404);
  expect((await fetch(`${url}/metrics`)).status).toBe(404);
});

it('no more when the process does not lead', async () => {
  const gitea = await fakeGitea();
  const target = targetOf(gitea.url);
  const { ask, looks } = await openLooks([target]);

  looks.watch([], () => undefined);

  expect((await ask(target)).status).toBe(404);
});

it('a look from before the newest news of its scope is not given: the next one is', async () => {
  const gitea = await fakeGitea();
  const target = targetOf(gitea.url);
  const { ask, poller, looked } = await openLooks([target], { clock: slowClock() });

  poller.nudge(() => true);
  const answer = await ask(target);

  expect(answer.status).toBe(200);
  expect(looked()).toBe(2);
});

it('no old look is given when none that is newer comes in time', async () => {
  const held: (() => void)[] = [];
  let isHeld = false;
  const gitea = await fakeGitea({
    intercept: (_, response) => {
      if (isHeld) held.push(() => response.destroy());
      return isHeld;
    },
  });
  const target = targetOf(gitea.url);
  const { ask, poller, told } = await openLooks([target]);
  isHeld = true;
  poller.nudge(() => true);

  expect((await ask(target)).status).toBe(503);
  expect(told).toEqual(['late']);
  for (const end of held) end();
});

it('a look is too old after five seconds: one is made for who asks, but not more often than that', async () => {
  const clock = new SkippingClock(slowClock());
  const gitea = await fakeGitea();
  const target = targetOf(gitea.url);
  const { ask, looked, looks } = await openLooks([target], { clock });

  expect((await ask(target)).status).toBe(200);
  expect(looked()).toBe(1);
  clock.leaveOut(MOST_AGE_MS + 1);
  expect((await ask(target)).status).toBe(200);
  expect(looked()).toBe(2);
  looks.forget(target.key);
  expect((await ask(target)).status).toBe(503);
  expect(looked()).toBe(2);
});

it('a look that took longer than that is given: its age counts from its end', async () => {
  const clock = new SkippingClock(slowClock());
  const gitea = await fakeGitea({
    intercept: () => {
      clock.leaveOut(MOST_AGE_MS + 1);
      return false;
    },
  });
  const target = targetOf(gitea.url);
  const { ask, looked } = await openLooks([target], { clock });

  expect((await ask(target)).status).toBe(200);
  expect(looked()).toBe(1);
});

it('a look is not given when one has failed since', async () => {
  let status = 200;
  const gitea = await fakeGitea({
    intercept: (_, response) => {
      if (status === 200) return false;
      response.writeHead(status).end();
      return true;
    },
  });
  const target = targetOf(gitea.url);
  const { ask, poller, looked } = await openLooks([target]);
  status = 403;
  poller.nudge(() => true);
  await until('it fails', () => looked() === 2);

  expect((await ask(target)).status).toBe(503);
});

/** Makes so many jobs of 75 KB each. */
const long = (from: number, count: number, status = 'queued') =>
  jobRows(from, count, status).map((row) => ({ ...row, steps: 'x'.repeat(75_000) }));

it('a look above 8 MiB is not kept, and the planner has it all the same', async () => {
  const gitea = await fakeGitea({ jobs: long(1, 120) });
  const target = targetOf(gitea.url);
  const { ask, poller } = await openLooks([target]);

  expect(poller.observations().get(target.key)?.look?.jobs).toHaveLength(120);
  expect((await ask(target)).status).toBe(503);
});

it('all looks have 32 MiB: who comes later is not kept', async () => {
  const gitea = await fakeGitea({ jobs: long(1, 40) });
  const targets = Array.from({ length: 14 }, (_, nth) =>
    targetOf(gitea.url, { kind: 'org', org: `o${nth}` }, `o${nth}`),
  );
  const { ask } = await openLooks(targets, { clock: slowClock() });
  const answers = await Promise.all(targets.map(async (target) => (await ask(target)).status));
  const given = answers.filter((status) => status === 200).length;

  // Each answer has 2.9 MiB.
  expect(given).toBeGreaterThanOrEqual(8);
  expect(given).toBeLessThanOrEqual(11);
});

it('slow readers hold 32 MiB of answers at most, and two seconds: others are told that it is busy', async () => {
  const gitea = await fakeGitea({ jobs: [...long(1, 40), ...long(101, 40, 'completed')] });
  const target = targetOf(gitea.url);
  const clock = new SkippingClock(slowClock());
  const { url, ask, told } = await openLooks([target], { clock });
  const headers = { 'x-look': keysOf(target).id, 'x-nonce': NONCE };
  const readers = Array.from({ length: 12 }, () => request(`${url}/look`, { headers, agent: false }));
  for (const reader of readers)
    reader
      .on('response', (response) => response.pause())
      .on('error', () => undefined)
      .end();
  await until('all have asked', () => told.length === 12);

  // 5.7 MiB for each.
  expect(told.filter((result) => result === 'given').length).toBeLessThanOrEqual(5);
  expect(told.filter((result) => result === 'busy').length).toBeGreaterThanOrEqual(7);
  clock.leaveOut(2_000);
  await until('they are gone', async () => (await ask(target)).status === 200);
  for (const reader of readers) reader.destroy();
});

it('the token is in no answer and in no event', async () => {
  const gitea = await fakeGitea();
  const target = targetOf(gitea.url);
  const { ask, told } = await openLooks([target], { clock: slowClock() });
  const text = Buffer.from(await (await ask(target)).arrayBuffer()).toString('latin1');

  expect(text + JSON.stringify(told)).not.toContain(SECRET);
});
