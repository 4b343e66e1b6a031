import { expect, it } from 'vitest';
import { WorkQueue } from '../../../src/serve/queue.ts';
import {
  MOST_IN_LANE,
  MOST_LANES,
  MOST_LANES_OF_ONE,
  Outbox,
  type SendResult,
} from '../../../src/tasks/notify/outbox.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** An outbox whose addressee answers by `answer`, and what became of its messages. */
function openOutbox(answer: (message: string) => Promise<SendResult>) {
  const attempts: string[] = [];
  const ended: string[] = [];
  const clock = new VirtualClock();
  const queue = new WorkQueue(clock);
  const outbox = new Outbox<string>({
    queue,
    send: async (message) => {
      attempts.push(message);
      return await answer(message);
    },
    onEnd: (message, result) => void ended.push(`${message} ${result}`),
    times: { gapMs: 10, pausesMs: [10, 10] },
  });
  return { attempts, clock, ended, outbox, queue };
}

const sent: SendResult = { is: 'sent' };

it('sends the messages of an addressee in their order, one at a time', async () => {
  let underWay = 0;
  let most = 0;
  const { clock, ended, outbox } = openOutbox(async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise(setImmediate);
    underWay -= 1;
    return sent;
  });
  for (const message of ['a', 'b', 'c']) outbox.add('slack', 'team-a', message);
  await clock.pass(1_000);

  expect(ended).toEqual(['a sent', 'b sent', 'c sent']);
  expect(most).toBe(1);
});

it('tries again until the last pause, and no more when it makes no sense', async () => {
  const { attempts, clock, ended, outbox } = openOutbox(async (message) => ({
    is: 'failed',
    again: message === 'busy',
  }));
  outbox.add('one', 'team-a', 'busy');
  outbox.add('two', 'team-a', 'wrong');
  await clock.pass(1_000);

  expect(attempts.sort()).toEqual(['busy', 'busy', 'busy', 'wrong']);
  expect(ended.sort()).toEqual(['busy failed', 'wrong failed']);
});

it('drops what a dead addressee has no room for, and serves another one meanwhile', async () => {
  const { clock, ended, outbox } = openOutbox((message) =>
    message.startsWith('dead') ? new Promise(() => undefined) : Promise.resolve(sent),
  );
  for (let index = 0; index <= MOST_IN_LANE + 1; index += 1) outbox.add('dead', 'team-a', `dead ${index}`);
  outbox.add('alive', 'team-a', 'hello');
  await clock.pass(1_000);

  expect(ended).toEqual([`dead ${MOST_IN_LANE + 1} dropped`, 'hello sent']);
});

it('has so many addressees at a time', () => {
  const { ended, outbox } = openOutbox(() => new Promise(() => undefined));
  for (let index = 0; index <= MOST_LANES; index += 1) outbox.add(`to ${index}`, `team-${index}`, `m${index}`);

  expect(ended).toEqual([`m${MOST_LANES} dropped`]);
});

it('has room for another namespace when one fills what it may, and for that one when an addressee has answered', async () => {
  const { clock, ended, outbox } = openOutbox((message) =>
    message === 'm0' ? Promise.resolve(sent) : new Promise(() => undefined),
  );
  for (let index = 0; index <= MOST_LANES_OF_ONE; index += 1) outbox.add(`to ${index}`, 'team-a', `m${index}`);
  expect(ended).toEqual([`m${MOST_LANES_OF_ONE} dropped`]);
  outbox.add('to b', 'team-b', 'of b');
  expect(ended).toHaveLength(1);

  await clock.pass(1_000);
  expect(ended).toContain('m0 sent');
  outbox.add('to more', 'team-a', 'more');
  expect(ended).toHaveLength(2);
});

it('sends nothing after its end', async () => {
  const { attempts, clock, outbox, queue } = openOutbox(async () => ({ is: 'failed', again: true }));
  await queue.close();
  outbox.add('one', 'team-a', 'late');
  await clock.pass(1_000);

  expect(attempts).toEqual([]);
});
