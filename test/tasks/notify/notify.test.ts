/** `serve` tells that CI jobs have ended: from a simulated Gitea to real receivers. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { NotifyOptions } from '../../../src/tasks/notify/notifier.ts';
import { type Replica, type Rig, startRig, until } from '../../serve/rig.ts';
import { json } from '../../support/gitea-stand-in.ts';
import { folderWith } from '../../support/run-cli.ts';
import { notifyOptions, type Receiver, signed, slackArguments, startReceiver } from './receiver.ts';

const SECRET = 'a secret for notifications';
const TOKEN = 'xoxb-token-of-this-test';

interface Notifying {
  readonly rig: Rig;
  readonly replica: Replica;
  readonly receiver: Receiver;
}

/** `serve` and a receiver that it may tell. @param notify of the group, for the origin of the receiver */
async function start(
  notify: (origin: string) => string,
  more: {
    readonly answer?: Parameters<typeof startReceiver>[0];
    readonly defaults?: (origin: string) => NotifyOptions['defaults'];
    readonly secret?: (origin: string) => string;
    readonly slackOrigin?: string;
    readonly pollMs?: number;
  } = {},
): Promise<Notifying> {
  const receiver = await startReceiver(more.answer);
  const { origin } = receiver;
  const folder = folderWith({ secret: more.secret?.(origin) ?? `${SECRET}\n`, token: TOKEN });
  const slack = { tokenFile: join(folder, 'token'), apiUrl: `${more.slackOrigin ?? origin}/api/` };
  const webhook = { allowedUrls: [new URL(`${origin}/hooks/`)], secretFile: join(folder, 'secret') };
  const times = { gapMs: 1, pausesMs: [1] };
  const options = notifyOptions(slack, webhook, { defaults: more.defaults?.(origin) ?? [], times });
  const rig = await startRig(notify(origin));
  const replica = await rig.start({ notify: options, ...(more.pollMs && { pollMs: more.pollMs }) });
  return { rig, replica, receiver };
}

const webhook =
  (path: string, more = '') =>
  (origin: string) =>
    `  notify: [{webhook: {url: "${origin}${path}"}${more}}]`;
const CHANNEL = '  notify: [{slack: {channel: "#ci"}}]';

/** A runner of the group takes the one queued job of the workflow and ends it. `fast`: before anybody sees it at work. */
async function run(
  { rig, replica }: Notifying,
  result: 'success' | 'failure',
  key = 'build',
  fast = false,
): Promise<string> {
  const { gitea } = rig.simulator;
  const before = new Set(rig.cluster.all('jobs').map(({ metadata }) => metadata.name));
  gitea.push('acme/web', { jobs: [{ key, runsOn: ['linux'] }] });
  const newJob = () => rig.cluster.all('jobs').find(({ metadata }) => !before.has(metadata.name));
  await until('a Job', () => newJob() !== undefined);
  const name = newJob()?.metadata.name ?? '';
  const runner = gitea.register({ name, labels: ['linux'], scope: { kind: 'owner', owner: 'acme' } });
  gitea.poll(runner.id);
  if (!fast) await until('it is busy', () => replica.busy().includes(name));
  gitea.finish(runner.id, result);
  return name;
}

it('serve calls a webhook, signed, with everything that is known of a failed job', async () => {
  const serve = await start(webhook('/hooks/ci?team=web'));
  const { receiver, replica } = serve;

  const runner = await run(serve, 'failure');
  await until('a message', () => receiver.received.length > 0);

  const [message] = receiver.received;
  if (!message) throw new Error('no message');
  expect(message.path).toBe('/hooks/ci?team=web');
  expect(JSON.parse(message.body)).toMatchObject({
    event: 'job-ended',
    result: 'failure',
    repository: 'acme/web',
    workflow: expect.stringMatching(/\.ya?ml$/),
    job: 'build',
    namespace: 'runners',
    group: 'ci',
    runner,
    url: expect.stringContaining('/acme/web/actions/runs/'),
  });
  expect(message.headers['x-gitea-runners-signature']).toBe(signed(message, SECRET));
  await until('it is counted', async () => (await replica.metric('gitea_runners_notifications_total')) === 1);
});

it('serve posts to Slack with the bot token', async () => {
  const serve = await start(() => CHANNEL.replace('}}', '}, "on": always}'));
  const { received } = serve.receiver;

  await run(serve, 'success');
  await until('a message', () => received.length > 0);

  expect(received[0]).toMatchObject({ path: '/api/chat.postMessage', headers: { authorization: `Bearer ${TOKEN}` } });
  expect(received[0] && slackArguments(received[0])).toMatchObject({
    channel: '#ci',
    text: expect.stringMatching(/^acme\/web: .*build succeeded$/),
  });
});

it('serve tells each job once, and only what was asked for', async () => {
  const serve = await start(webhook('/hooks/ci', ', "on": success'), { pollMs: 20 });
  const { receiver, replica } = serve;

  await run(serve, 'failure', 'first');
  await run(serve, 'success', 'second');
  await until('a message', () => receiver.received.length > 0);
  const looks = await replica.metric('gitea_runners_looks_total');
  await until('ten more looks', async () => (await replica.metric('gitea_runners_looks_total')) > looks + 10);

  expect(receiver.received.map(({ body }) => JSON.parse(body).job)).toEqual(['second']);
});

it('serve tells of a job that came and went between two looks', async () => {
  const serve = await start(webhook('/hooks/ci'));
  const { received } = serve.receiver;

  const runner = await run(serve, 'failure', 'build', true);
  await until('a message', () => received.length > 0);

  expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({ job: 'build', runner });
});

it('serve has addressees of its own for groups that name none', async () => {
  const defaults = (origin: string) => [{ webhook: { url: `${origin}/hooks/all` }, on: 'failure' as const }];
  const serve = await start(() => '', { defaults });

  await run(serve, 'failure');
  await until('a message', () => serve.receiver.received.length > 0);

  expect(serve.receiver.received[0]?.path).toBe('/hooks/all');
});

it.each([
  ['GR-NOTIFY-03', 'beside the allowed path', '/hooks-of-others/ci', SECRET],
  ['GR-NOTIFY-05', 'whose secret is empty, so everybody knows it,', '/hooks/ci', ' \n'],
])('a webhook is never called, and the log says %s: %s', async (errorCode, _, path, secret) => {
  const serve = await start(webhook(path), { secret: () => secret });

  await run(serve, 'failure');
  await until('the log says it', () => serve.replica.log.some(({ code }) => code === errorCode));

  expect(serve.receiver.received).toEqual([]);
});

it('a webhook is signed with the secret of its receiver, and not at all told where the file has none for it', async () => {
  const serve = await start(
    (origin) => `  notify: [{webhook: {url: "${origin}/hooks/ours/ci"}}, {webhook: {url: "${origin}/hooks/theirs"}}]`,
    { secret: (origin) => `${origin}/hooks/ours of ours\n${origin}/hooks/our of nobody\n` },
  );
  const { received } = serve.receiver;

  await run(serve, 'failure');
  await until('the log says it', () => serve.replica.log.some(({ code }) => code === 'GR-NOTIFY-05'));
  await until('the message', () => received.length > 0);

  expect(received.map(({ path }) => path)).toEqual(['/hooks/ours/ci']);
  for (const message of received) expect(message.headers['x-gitea-runners-signature']).toBe(signed(message, 'of ours'));
});

it('a webhook that redirects is not followed', async () => {
  const secret = await startReceiver();
  const serve = await start(webhook('/hooks/ci'), {
    answer: (_, response) => void response.writeHead(307, { location: `${secret.origin}/hooks/admin` }).end(),
  });

  await run(serve, 'failure');
  await until('the log says it', () => serve.replica.log.some(({ code }) => code === 'GR-NOTIFY-04'));

  expect([serve.receiver.received.length, secret.received.length]).toEqual([1, 0]);
});

it('a webhook that fails is tried again with the same delivery', async () => {
  let answers = 0;
  const serve = await start(webhook('/hooks/ci'), {
    answer: (_, response) => {
      answers += 1;
      response.writeHead(answers === 1 ? 500 : 204).end();
    },
  });
  const { received } = serve.receiver;

  await run(serve, 'failure');
  await until('two attempts', () => received.length === 2);

  const [first, second] = received.map(({ headers }) => headers['x-gitea-runners-delivery']);
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect(second).toBe(first);
});

it('a Slack that is dead delays no runner, and another addressee is told', async () => {
  // The server takes the request and never answers.
  const slack = await startReceiver(() => undefined);
  const serve = await start(
    (origin) => `  notify: [{slack: {channel: "#ci"}}, {webhook: {url: "${origin}/hooks/ci"}}]`,
    { slackOrigin: slack.origin },
  );

  await run(serve, 'failure', 'one');
  await until('Slack was asked', () => slack.received.length === 1);
  await run(serve, 'failure', 'two');
  await until('the webhook was told of both', () => serve.receiver.received.length === 2);

  // On a busy machine the first message may be tried again by then.
  expect(new Set(slack.received.map(({ body }) => body)).size).toBe(1);
});

it('a Slack that refuses is told of with its word, and nothing of its answer besides', async () => {
  const serve = await start(() => CHANNEL, {
    answer: (_, response) => json(response, { ok: false, error: 'channel_not_found', secret: 'do not tell' }),
  });
  const { log } = serve.replica;

  await run(serve, 'failure');
  const ofSlack = () => log.filter(({ code }) => code === 'GR-NOTIFY-01');
  await until('the log says it', () => ofSlack().length > 0);

  expect(ofSlack()[0]?.['error']).toContain('channel_not_found');
  expect(JSON.stringify(log)).not.toContain('do not tell');
  expect(JSON.stringify(log)).not.toContain(TOKEN);
});
