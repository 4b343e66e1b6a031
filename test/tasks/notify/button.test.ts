/** The button "Keep 1 h longer": signed requests as Slack sends them, and hostile ones. */
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EXTEND_ACTION } from '../../../src/tasks/notify/slack-presses.ts';
import { startRig, until } from '../../serve/rig.ts';
import { folderWith } from '../../support/run-cli.ts';
import { notifyOptions, slackArguments, startReceiver } from './receiver.ts';
import { EXTENDED, pressPayload, REPLY, startExtender } from './slack-workspace.ts';

const SIGNING = 'signing secret of this test';
const nowSeconds = () => Math.floor(Date.now() / 1000);

/** A press as Slack sends it. */
function press(more: object = {}): string {
  return new URLSearchParams({ payload: JSON.stringify(pressPayload(more)) }).toString();
}

function signature(body: string, time: number, secret = SIGNING): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')}`;
}

async function start() {
  const slack = await startReceiver();
  const folder = folderWith({ token: 'xoxb-1', signing: `${SIGNING}\n` });
  const { extend, extended } = startExtender();
  const rig = await startRig();
  const { webhooks: port } = await rig.start({
    notify: notifyOptions({
      tokenFile: join(folder, 'token'),
      signingSecretFile: join(folder, 'signing'),
      apiUrl: `${slack.origin}/api/`,
      extend,
    }),
  });
  const send = async (body: string, headers: Readonly<Record<string, string>>): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/slack/interactive`, { method: 'POST', body, headers })).status;
  const sendSigned = (body: string, time = nowSeconds(), secret = SIGNING) =>
    send(body, { 'x-slack-request-timestamp': String(time), 'x-slack-signature': signature(body, time, secret) });
  return { extended, port, send, sendSigned, slack };
}

it('the button keeps the runner an hour longer, and says in the thread until when', async () => {
  const { extended, sendSigned, slack } = await start();

  expect(await sendSigned(press())).toBe(200);
  await until('a reply', () => slack.received.length === 1);

  expect(extended).toEqual(EXTENDED);
  const [reply] = slack.received;
  expect(reply && slackArguments(reply)).toMatchObject(REPLY);
});

it('the button refuses what Slack did not sign, what is old, what comes again and what is no press', async () => {
  const { extended, port, send, sendSigned } = await start();
  const body = press();
  const time = nowSeconds();
  const sendWith = (signed: string, text = body) =>
    send(text, { 'x-slack-request-timestamp': String(time), 'x-slack-signature': signed });

  const answers: readonly [string, number, Promise<number>][] = [
    ['without headers', 401, send(body, {})],
    ['without a signature', 401, send(body, { 'x-slack-request-timestamp': String(time) })],
    ['another secret', 401, sendSigned(body, time, 'guessed')],
    ['a signature of another body', 401, sendWith(signature(body, time), `${body}&x=1`)],
    ['a signature of another time', 401, sendWith(signature(body, time - 1))],
    ['half a signature', 401, sendWith(signature(body, time).slice(0, 40))],
    ['six minutes old', 401, sendSigned(body, time - 360)],
    ['six minutes ahead', 401, sendSigned(body, time + 360)],
    ['another button', 422, sendSigned(press({ actions: [{ action_id: 'other', value: 'runners/ci-7' }] }))],
    ['two buttons', 422, sendSigned(press({ actions: [{}, {}] }))],
    ['a path as a name', 422, sendSigned(press({ actions: [{ action_id: EXTEND_ACTION, value: 'runners/../x' }] }))],
    ['no JSON', 422, sendSigned('payload=%7B')],
    ['nothing', 422, sendSigned('')],
    ['too long', 413, sendSigned(press({ text: 'x'.repeat(70_000) }))],
  ];
  for (const [what, expected, answer] of answers) expect([what, await answer]).toEqual([what, expected]);

  expect([await sendSigned(body, time), await sendSigned(body, time)]).toEqual([200, 409]);
  expect(extended).toEqual(EXTENDED);
  expect((await fetch(`http://127.0.0.1:${port}/slack/interactive`)).status).toBe(405);
});

it('no press of a button is taken without a signing secret', async () => {
  const rig = await startRig();
  const { webhooks } = await rig.start({ notify: notifyOptions({}) });
  const body = press();
  const time = nowSeconds();
  const headers = { 'x-slack-request-timestamp': String(time), 'x-slack-signature': signature(body, time, '') };

  const { status } = await fetch(`http://127.0.0.1:${webhooks}/slack/interactive`, { method: 'POST', body, headers });

  expect(status).toBe(404);
});
