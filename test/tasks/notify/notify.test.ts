/** `serve` tells that CI jobs have ended: from a simulated Gitea to real receivers. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { NotifyOptions } from '../../../src/tasks/notify/notifier.ts';
import type { SlackOptions } from '../../../src/tasks/notify/slack.ts';
import type { WebhookOptions } from '../../../src/tasks/notify/webhook.ts';
import { type Replica, type Rig, startRig, until } from '../../serve/rig.ts';
import { folderWith } from '../../support/run-cli.ts';
import { notifyOptions, type Receiver, signed, slackArguments, startReceiver } from './receiver.ts';

const SECRET = 'a secret for notifications';
const TOKEN = 'xoxb-token-of-this-test';

interface More {
  readonly defaults?: NotifyOptions['defaults'];
  readonly slack?: Partial<SlackOptions>;
  readonly webhook?: Partial<WebhookOptions>;
}

function options(receiver: Receiver, more: More = {}): { readonly notify: NotifyOptions } {
  const folder = folderWith({ secret: `${SECRET}\n`, token: TOKEN });
  const slack = { tokenFile: join(folder, 'token'), apiUrl: `${receiver.origin}/api/`, ...more.slack };
  const allowedUrls = [new URL(`${receiver.origin}/hooks/`)];
  const webhook = { allowedUrls, secretFile: join(folder, 'secret'), ...more.webhook };
  const { defaults = [] } = more;
  return { notify: notifyOptions(slack, webhook, { defaults, times: { gapMs: 1, pausesMs: [1] } }) };
}

interface Running {
  readonly rig: Rig;
  readonly replica: Replica;
}

/** A runner of the group takes the one queued job of the workflow and ends it. `fast`: before anybody sees it at work. */
async function run(
  { rig, replica }: Running,
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

describe('serve', () => {
  it('calls a webhook, signed, with everything that is known of a failed job', async () => {
    const receiver = await startReceiver();
    const rig = await startRig(`  notify: [{webhook: {url: "${receiver.origin}/hooks/ci?team=web"}}]`);
    const replica = await rig.start(options(receiver));

    const runner = await run({ rig, replica }, 'failure');
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

  it('posts to Slack with the bot token', async () => {
    const receiver = await startReceiver();
    const rig = await startRig('  notify: [{slack: {channel: "#ci"}, "on": always}]');
    const replica = await rig.start(options(receiver));

    await run({ rig, replica }, 'success');
    await until('a message', () => receiver.received.length > 0);

    const [message] = receiver.received;
    if (!message) throw new Error('no message');
    expect(message.path).toBe('/api/chat.postMessage');
    expect(message.headers['authorization']).toBe(`Bearer ${TOKEN}`);
    expect(slackArguments(message)).toMatchObject({
      channel: '#ci',
      text: expect.stringMatching(/^acme\/web: .*build succeeded$/),
    });
  });

  it('tells each job once, and only what was asked for', async () => {
    const receiver = await startReceiver();
    const rig = await startRig(`  notify: [{webhook: {url: "${receiver.origin}/hooks/ci"}, "on": success}]`);
    const replica = await rig.start({ ...options(receiver), pollMs: 20 });

    await run({ rig, replica }, 'failure', 'first');
    await run({ rig, replica }, 'success', 'second');
    await until('a message', () => receiver.received.length > 0);
    const looks = await replica.metric('gitea_runners_looks_total');
    await until('ten more looks', async () => (await replica.metric('gitea_runners_looks_total')) > looks + 10);

    expect(receiver.received.map(({ body }) => JSON.parse(body).job)).toEqual(['second']);
  });

  it('tells of a job that came and went between two looks', async () => {
    const receiver = await startReceiver();
    const rig = await startRig(`  notify: [{webhook: {url: "${receiver.origin}/hooks/ci"}}]`);
    const replica = await rig.start(options(receiver));

    const runner = await run({ rig, replica }, 'failure', 'build', true);
    await until('a message', () => receiver.received.length > 0);

    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ job: 'build', runner });
  });

  it('does not tell of jobs that had ended before it began', async () => {
    const receiver = await startReceiver();
    const rig = await startRig(`  notify: [{webhook: {url: "${receiver.origin}/hooks/ci"}, "on": always}]`);
    const first = await rig.start(options(receiver));
    await run({ rig, replica: first }, 'failure', 'old');
    await until('a message', () => receiver.received.length === 1);
    await first.end();

    const replica = await rig.start({ ...options(receiver), pollMs: 20 });
    await run({ rig, replica }, 'failure', 'new');
    await until('a message', () => receiver.received.length > 1);

    expect(receiver.received.map(({ body }) => JSON.parse(body).job)).toEqual(['old', 'new']);
  });

  it('has addressees of its own for groups that name none', async () => {
    const receiver = await startReceiver();
    const rig = await startRig();
    const defaults = [{ webhook: { url: `${receiver.origin}/hooks/all` }, on: 'failure' as const }];
    const replica = await rig.start(options(receiver, { defaults }));

    await run({ rig, replica }, 'failure');
    await until('a message', () => receiver.received.length > 0);

    expect(receiver.received[0]?.path).toBe('/hooks/all');
  });
});

describe('a webhook', () => {
  it.each([
    ['of another server', (origin: string) => origin.replace('127.0.0.1', 'localhost'), '/hooks/ci'],
    ['beside the allowed path', (origin: string) => origin, '/hooks-of-others/ci'],
    ['above the allowed path', (origin: string) => origin, '/hooks/../admin'],
    ['with an encoded slash', (origin: string) => origin, '/hooks/..%2fadmin'],
  ])('%s is never called, and the log says why', async (_, change, path) => {
    const receiver = await startReceiver();
    const rig = await startRig(`  notify: [{webhook: {url: "${change(receiver.origin)}${path}"}}]`);
    const replica = await rig.start(options(receiver));

    await run({ rig, replica }, 'failure');
    await until('the log says it', () => replica.log.some(({ code }) => code === 'GR-NOTIFY-03'));

    expect(receiver.received).toEqual([]);
  });

  it('is not signed with an empty secret, which everybody knows', async () => {
    const receiver = await startReceiver();
    const rig = await startRig(`  notify: [{webhook: {url: "${receiver.origin}/hooks/ci"}}]`);
    const secretFile = join(folderWith({ secret: ' \n' }), 'secret');
    const replica = await rig.start(options(receiver, { webhook: { secretFile } }));

    await run({ rig, replica }, 'failure');
    await until('the log says it', () => replica.log.some(({ code }) => code === 'GR-NOTIFY-05'));

    expect(receiver.received).toEqual([]);
  });

  it('is signed with the secret of its receiver, and not at all told where the file has none for it', async () => {
    const receiver = await startReceiver();
    const rig = await startRig(
      `  notify: [{webhook: {url: "${receiver.origin}/hooks/ours/ci"}}, {webhook: {url: "${receiver.origin}/hooks/theirs"}}]`,
    );
    const lines = `${receiver.origin}/hooks/ours of ours\n${receiver.origin}/hooks/our of nobody\n`;
    const secretFile = join(folderWith({ secret: lines }), 'secret');
    const replica = await rig.start(options(receiver, { webhook: { secretFile } }));

    await run({ rig, replica }, 'failure');
    await until('the log says it', () => replica.log.some(({ code }) => code === 'GR-NOTIFY-05'));
    await until('the message', () => receiver.received.length > 0);

    expect(receiver.received.map(({ path }) => path)).toEqual(['/hooks/ours/ci']);
    for (const message of receiver.received) {
      expect(message.headers['x-gitea-runners-signature']).toBe(signed(message, 'of ours'));
    }
  });

  it('that redirects is not followed', async () => {
    const secret = await startReceiver();
    const receiver = await startReceiver((_, response) => {
      response.writeHead(307, { location: `${secret.origin}/hooks/admin` }).end();
    });
    const rig = await startRig(`  notify: [{webhook: {url: "${receiver.origin}/hooks/ci"}}]`);
    const replica = await rig.start(options(receiver));

    await run({ rig, replica }, 'failure');
    await until('the log says it', () => replica.log.some(({ code }) => code === 'GR-NOTIFY-04'));

    expect(receiver.received).toHaveLength(1);
    expect(secret.received).toEqual([]);
  });

  it('that fails is tried again with the same delivery', async () => {
    let answers = 0;
    const receiver = await startReceiver((_, response) => {
      answers += 1;
      response.writeHead(answers === 1 ? 500 : 204).end();
    });
    const rig = await startRig(`  notify: [{webhook: {url: "${receiver.origin}/hooks/ci"}}]`);
    const replica = await rig.start(options(receiver));

    await run({ rig, replica }, 'failure');
    await until('two attempts', () => receiver.received.length === 2);

    const [first, second] = receiver.received.map(({ headers }) => headers['x-gitea-runners-delivery']);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(second).toBe(first);
  });
});

describe('a Slack that is dead', () => {
  it('delays no runner, and another addressee is told', async () => {
    // It takes the request and never answers.
    const slack = await startReceiver(() => undefined);
    const receiver = await startReceiver();
    const webhook = `{webhook: {url: "${receiver.origin}/hooks/ci"}}`;
    const rig = await startRig(`  notify: [{slack: {channel: "#ci"}}, ${webhook}]`);
    const replica = await rig.start(options(receiver, { slack: { apiUrl: `${slack.origin}/api/` } }));

    await run({ rig, replica }, 'failure', 'one');
    await until('Slack was asked', () => slack.received.length === 1);
    await run({ rig, replica }, 'failure', 'two');
    await until('the webhook was told of both', () => receiver.received.length === 2);

    expect(slack.received).toHaveLength(1);
  });

  it('that refuses is told of with its word, and nothing of its answer besides', async () => {
    const receiver = await startReceiver((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ok: false, error: 'channel_not_found', secret: 'do not tell' }));
    });
    const rig = await startRig('  notify: [{slack: {channel: "#ci"}}]');
    const replica = await rig.start(options(receiver));

    await run({ rig, replica }, 'failure');
    const ofSlack = () => replica.log.filter(({ code }) => code === 'GR-NOTIFY-01');
    await until('the log says it', () => ofSlack().length > 0);

    expect(ofSlack()[0]?.['error']).toContain('channel_not_found');
    expect(JSON.stringify(replica.log)).not.toContain('do not tell');
    expect(JSON.stringify(replica.log)).not.toContain(TOKEN);
  });
});
