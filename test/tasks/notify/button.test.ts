/** The button "Keep 1 h longer": signed requests as Slack sends them, and hostile ones. */
import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXTEND_ACTION } from '../../../src/tasks/notify/slack-presses.ts';
import { startRig, until } from '../../serve/rig.ts';
import { folderWith } from '../../support/run-cli.ts';
import { notifyOptions, slackArguments, startReceiver } from './receiver.ts';
import { pressPayload } from './slack-workspace.ts';

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
  const extended: string[] = [];
  const rig = await startRig();
  const { webhooks: port } = await rig.start({
    notify: notifyOptions({
      tokenFile: join(folder, 'token'),
      signingSecretFile: join(folder, 'signing'),
      apiUrl: `${slack.origin}/api/`,
      extend: async ({ namespace, name }) => {
        extended.push(`${namespace}/${name}`);
        return `job/${name} stays until 2026-11-23T12:00:00Z.`;
      },
    }),
  });
  const send = async (body: string, headers: Readonly<Record<string, string>>): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/slack/interactive`, { method: 'POST', body, headers })).status;
  const sendSigned = (body: string, time = nowSeconds(), secret = SIGNING) =>
    send(body, { 'x-slack-request-timestamp': String(time), 'x-slack-signature': signature(body, time, secret) });
  return { extended, port, send, sendSigned, slack };
}

describe('the button', () => {
  it('keeps the runner an hour longer, and says in the thread until when', async () => {
    const { extended, sendSigned, slack } = await start();

    expect(await sendSigned(press())).toBe(200);
    await until('a reply', () => slack.received.length === 1);

    expect(extended).toEqual(['runners/ci-7-1-9c31e0aa']);
    const [reply] = slack.received;
    expect(reply && slackArguments(reply)).toMatchObject({
      channel: 'CBR2V3XEX',
      thread_ts: '1548261231.000200',
      text: '<@U024BE7LH> job/ci-7-1-9c31e0aa stays until 2026-11-23T12:00:00Z.',
    });
  });

  it('refuses what Slack did not sign, what is old, what comes again and what is no press', async () => {
    const { extended, port, send, sendSigned } = await start();
    const body = press();
    const time = nowSeconds();
    const stamp = { 'x-slack-request-timestamp': String(time) };

    const answers = {
      'without headers': await send(body, {}),
      'without a signature': await send(body, stamp),
      'another secret': await sendSigned(body, time, 'guessed'),
      'a signature of another body': await send(`${body}&x=1`, {
        ...stamp,
        'x-slack-signature': signature(body, time),
      }),
      'a signature of another time': await send(body, { ...stamp, 'x-slack-signature': signature(body, time - 1) }),
      'half a signature': await send(body, { ...stamp, 'x-slack-signature': signature(body, time).slice(0, 40) }),
      'six minutes old': await sendSigned(body, time - 360),
      'six minutes ahead': await sendSigned(body, time + 360),
      'another button': await sendSigned(press({ actions: [{ action_id: 'other', value: 'runners/ci-7' }] })),
      'two buttons': await sendSigned(press({ actions: [{}, {}] })),
      'a path as a name': await sendSigned(press({ actions: [{ action_id: EXTEND_ACTION, value: 'runners/../x' }] })),
      'no JSON': await sendSigned('payload=%7B'),
      nothing: await sendSigned(''),
      'too long': await sendSigned(press({ text: 'x'.repeat(70_000) })),
      'a good one': await sendSigned(body, time),
      'the same again': await sendSigned(body, time),
    };

    expect(answers).toEqual({
      'without headers': 401,
      'without a signature': 401,
      'another secret': 401,
      'a signature of another body': 401,
      'a signature of another time': 401,
      'half a signature': 401,
      'six minutes old': 401,
      'six minutes ahead': 401,
      'another button': 422,
      'two buttons': 422,
      'a path as a name': 422,
      'no JSON': 422,
      nothing: 422,
      'too long': 413,
      'a good one': 200,
      'the same again': 409,
    });
    expect(extended).toEqual(['runners/ci-7-1-9c31e0aa']);
    expect((await fetch(`http://127.0.0.1:${port}/slack/interactive`)).status).toBe(405);
  });

  it('reads no endless body', async () => {
    const { extended, port } = await start();
    const socket = connect(port, '127.0.0.1');
    let answered = '';
    socket.on('data', (text) => {
      answered += text.toString();
    });
    socket.on('error', () => undefined);
    socket.write('POST /slack/interactive HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
    const piece = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
    for (let index = 0; index < 20; index += 1) socket.write(piece);
    await until('it is refused', () => answered.startsWith('HTTP/1.1 413'));
    socket.destroy();

    expect(extended).toEqual([]);
  });
});

it('without a signing secret nothing is taken', async () => {
  const rig = await startRig();
  const { webhooks } = await rig.start({ notify: notifyOptions({}) });
  const body = press();
  const time = nowSeconds();
  const headers = { 'x-slack-request-timestamp': String(time), 'x-slack-signature': signature(body, time, '') };

  const { status } = await fetch(`http://127.0.0.1:${webhooks}/slack/interactive`, { method: 'POST', body, headers });

  expect(status).toBe(404);
});
