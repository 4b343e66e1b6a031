import { expect, it } from 'vitest';
import { WorkQueue } from '../../../src/serve/queue/work-queue.ts';
import { Failure } from '../../../src/shared/failure.ts';
import {
  type Message,
  MOST_IN_LANE,
  MOST_LANES,
  MOST_LANES_OF_ONE,
  openOutbox,
  type Refusal,
} from '../../../src/tasks/notify/notifier.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const FAILURE = new Failure('GR-NOTIFY-04', 1, 'it failed');

/** An outbox whose addressees answer by `answer`, and what became of its messages. */
function outboxOf(answer: (name: string) => Promise<Refusal | undefined>) {
  const attempts: string[] = [];
  const ended: string[] = [];
  const names = new Map<Message, string>();
  const clock = new VirtualClock();
  const post = openOutbox(
    new WorkQueue(clock),
    (message, result) => {
      if (result !== 'retried') ended.push(`${names.get(message)} ${result}`);
    },
    { gapMs: 10, pausesMs: [10, 10] },
  );
  const add = (addressee: string, namespace: string, name: string): void => {
    const send = (): Promise<Refusal | undefined> => {
      attempts.push(name);
      return answer(name);
    };
    const message: Message = { to: 'webhook', addressee, namespace, send };
    names.set(message, name);
    post(message);
  };
  return { add, attempts, clock, ended };
}

it('the outbox sends the messages of an addressee in their order, one at a time', async () => {
  let underWay = 0;
  let most = 0;
  const { add, clock, ended } = outboxOf(async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise(setImmediate);
    underWay -= 1;
    return undefined;
  });
  for (const message of ['a', 'b', 'c']) add('slack', 'team-a', message);
  await clock.pass(1_000);

  expect(ended).toEqual(['a sent', 'b sent', 'c sent']);
  expect(most).toBe(1);
});

it('tries again until the last pause, and no more when it makes no sense', async () => {
  const { add, attempts, clock, ended } = outboxOf(async (message) => ({
    failure: FAILURE,
    again: message === 'busy',
  }));
  add('one', 'team-a', 'busy');
  add('two', 'team-a', 'wrong');
  await clock.pass(1_000);

  expect(attempts.sort()).toEqual(['busy', 'busy', 'busy', 'wrong']);
  expect(ended.sort()).toEqual(['busy failed', 'wrong failed']);
});

it('drops what a dead addressee has no room for, and serves another one meanwhile', async () => {
  const { add, clock, ended } = outboxOf((message) =>
    message.startsWith('dead') ? new Promise(() => undefined) : Promise.resolve(undefined),
  );
  for (let index = 0; index <= MOST_IN_LANE + 1; index += 1) add('dead', 'team-a', `dead ${index}`);
  add('alive', 'team-a', 'hello');
  await clock.pass(1_000);

  expect(ended).toEqual([`dead ${MOST_IN_LANE + 1} dropped`, 'hello sent']);
});

it('the outbox has so many addressees at a time', () => {
  const { add, ended } = outboxOf(() => new Promise(() => undefined));
  for (let index = 0; index <= MOST_LANES; index += 1) add(`to ${index}`, `team-${index}`, `m${index}`);

  expect(ended).toEqual([`m${MOST_LANES} dropped`]);
});

it('the outbox has room for another namespace when one fills what it may, and for that one when an addressee has answered', async () => {
  const { add, clock, ended } = outboxOf((message) =>
    message === 'm0' ? Promise.resolve(undefined) : new Promise(() => undefined),
  );
  for (let index = 0; index <= MOST_LANES_OF_ONE; index += 1) add(`to ${index}`, 'team-a', `m${index}`);
  expect(ended).toEqual([`m${MOST_LANES_OF_ONE} dropped`]);
  add('to b', 'team-b', 'of b');
  expect(ended).toHaveLength(1);

  await clock.pass(1_000);
  expect(ended).toContain('m0 sent');
  add('to more', 'team-a', 'more');
  expect(ended).toHaveLength(2);
});
