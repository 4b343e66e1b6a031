/** The button "Keep 1 h longer" over socket mode: `serve` connects to Slack, and Slack needs no way in. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, it, onTestFinished } from 'vitest';
import { startRig, until } from '../../serve/rig.ts';
import { makeCertificates } from '../../support/certificate.ts';
import { json } from '../../support/gitea-stand-in.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { folderWith } from '../../support/run-cli.ts';
import { startTicks } from '../../support/ticks.ts';
import { notifyOptions, slackArguments } from './receiver.ts';
import {
  EXTENDED,
  pressEnvelope,
  pressPayload,
  REPLY,
  startExtender,
  startWorkspace,
  type Workspace,
} from './slack-workspace.ts';

const APP_TOKEN = 'xapp-1-of-this-test';

async function start(prepare: (slack: Workspace) => void | Promise<void> = () => undefined) {
  const slack = await startWorkspace();
  await prepare(slack);
  const folder = folderWith({ token: 'xoxb-1', app: `${APP_TOKEN}\n` });
  const { extend, extended } = startExtender();
  const rig = await startRig();
  const replica = await rig.start({
    notify: notifyOptions({
      tokenFile: join(folder, 'token'),
      appTokenFile: join(folder, 'app'),
      times: { pauseMs: 10, pingMs: 100 },
      apiUrl: slack.apiUrl,
      extend,
    }),
  });
  const failures = () => replica.log.filter(({ result }) => result === 'unconnected');
  return { ...replica, extended, failures, folder, slack };
}

const connected = (slack: Workspace, times = 1) =>
  until(`connection ${times}`, () => slack.opened.length >= times && slack.socket().readyState === 1);

it("socket mode keeps the runner an hour longer, says in the thread until when, and gives the token to Slack's API alone", async () => {
  const { extended, log, slack } = await start();
  await connected(slack);
  expect(slack.calls).toMatchObject([
    { path: '/api/apps.connections.open', headers: { authorization: `Bearer ${APP_TOKEN}` } },
  ]);
  expect(JSON.stringify([slack.opened, log, slack.calls[0]?.body])).not.toContain(APP_TOKEN);

  slack.socket().send(pressEnvelope('e-1'));
  await until('a reply', () => slack.calls.some(({ path }) => path === '/api/chat.postMessage'));

  expect(extended).toEqual(EXTENDED);
  expect(slack.said).toMatchObject([{ envelope_id: 'e-1' }]);
  const reply = slack.calls.find(({ path }) => path === '/api/chat.postMessage');
  expect(reply && slackArguments(reply)).toMatchObject(REPLY);
});

it('socket mode takes what is no press of our button for nothing, and goes on', async () => {
  const { extended, slack } = await start();
  await connected(slack);

  for (const text of [
    'no JSON',
    'null',
    '[]',
    '{"type": "events_api"}',
    '{"type": "error"}',
    '{"type": "interactive"}',
    pressEnvelope('e-1', { type: 'view_submission' }),
    pressEnvelope('e-2', pressPayload({ actions: [{}, {}] })),
  ])
    slack.socket().send(text);
  slack.socket().send(Buffer.from(pressEnvelope('e-4')));
  slack.socket().send(pressEnvelope('e-5'));
  await until('the good one', () => extended.length > 0);

  expect(extended).toEqual(EXTENDED);
  expect(slack.opened).toHaveLength(1);
});

it('socket mode connects again when Slack renews the connection, and when it breaks', async () => {
  const { extended, slack } = await start();
  await connected(slack);

  slack.socket().send(JSON.stringify({ type: 'disconnect', reason: 'refresh_requested' }));
  await connected(slack, 2);
  slack.socket().terminate();
  await connected(slack, 3);
  slack.socket().send(pressEnvelope('e-1'));
  await until('the press', () => extended.length > 0);

  expect(extended).toEqual(EXTENDED);
});

it('socket mode tries again with the token of the moment when Slack refuses', async () => {
  const { failures, folder, slack } = await start((workspace) => {
    workspace.refuseWith = (response) => json(response, { ok: false, error: 'invalid_auth' });
  });
  await until('it is told', () => failures().length > 0);

  writeFileSync(join(folder, 'app'), 'xapp-2');
  slack.refuseWith = undefined;
  await connected(slack);

  expect(failures()).toMatchObject([
    {
      to: 'slack',
      code: 'GR-NOTIFY-08',
      error:
        'connect to Slack: invalid_auth. Check the app-level token, its scope connections:write, and that socket mode is on.',
      message: 'no connection to slack: its button does not work',
    },
  ]);
  expect(slack.calls.at(-1)?.headers).toMatchObject({ authorization: 'Bearer xapp-2' });
});

it.each([
  ['status 500', refusing((response) => json(response, {}, 500))],
  ['too many messages (429)', refusing(answer429)],
  ['no JSON', refusing((response) => response.end('<html>'))],
  ['no address', refusing((response) => json(response, { ok: true }))],
  ['it is gone', (slack: Workspace) => slack.close()],
  ['it greets nobody', greetingNobody],
] as const)('a Slack that is not well delays nothing: %s', async (what, makeBad) => {
  const { end, failures, metric, probes, slack } = await start(makeBad);

  await until('it is ready', async () => (await fetch(`http://127.0.0.1:${probes}/readyz`)).ok);
  if (what === 'it greets nobody') await until('it has connected', () => slack.opened.length > 0);
  else await until('it is told', () => failures().length > 0);

  const told = failures().length;
  expect(await metric('gitea_runners_notifications_total')).toBeGreaterThanOrEqual(told);
  const ticks = startTicks();
  await end();
  ticks.end();
  // A hang would take 10 s.
  expect(ticks.seconds()).toBeLessThan(5);
});

it('socket mode gives a connection up that does not answer any more', async () => {
  const { failures, slack } = await start((workspace) => {
    workspace.answersPings = false;
  });
  await connected(slack, 2);

  expect(failures().length).toBeGreaterThan(0);
});

it('socket mode goes through the proxy, with TLS', async () => {
  const { ca, cert, key } = makeCertificates();
  const slack = await startWorkspace({ key, cert });
  const proxy = await proxyServer();
  const folder = folderWith({ app: APP_TOKEN, 'ca.pem': ca });
  const contents = `
      import { systemClock as clock } from './src/shared/clock.ts';
      import { HttpClient } from './src/clients/http/http-client.ts';
      import { openSlack } from './src/tasks/notify/slack.ts';
      const [appTokenFile, apiUrl] = process.argv.slice(2);
      const { env } = process;
      const ending = new AbortController();
      const http = new HttpClient({ clock, env });
      const tell = (to, result, failure) => console.log(failure?.message);
      const context = { clock, env, http, random: Math.random, watchSecrets: async () => () => [], post: () => undefined, tell };
      const extend = async ({ name }) => { console.log(name); ending.abort(); return ''; };
      void openSlack(context, { appTokenFile, apiUrl, extend })
        .then(({ run }) => run(ending.signal))
        .then(() => http.close());`;
  const program = join(folder, 'program.cjs');
  const stdin = { contents, resolveDir: process.cwd() };
  await build({ stdin, outfile: program, bundle: true, platform: 'node', format: 'cjs', logLevel: 'error' });
  const child = spawn(process.execPath, [program, join(folder, 'app'), slack.apiUrl], {
    env: { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'), HTTPS_PROXY: proxy.origin },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      printed += String(text);
    });
  await connected(slack);
  slack.socket().send(pressEnvelope('e-1'));
  const [code] = await once(child, 'close');

  expect({ code, printed }).toEqual({ code: 0, printed: 'ci-7-1-9c31e0aa\n' });
  const port = new URL(slack.origin).port;
  expect(proxy.lines).toEqual([`CONNECT localhost:${port}`, `CONNECT localhost:${port}`]);
});

function answer429(response: Parameters<typeof json>[0]): void {
  response.setHeader('retry-after', '30');
  json(response, { ok: false, error: 'ratelimited' }, 429);
}

function refusing(answer: NonNullable<Workspace['refuseWith']>) {
  return (slack: Workspace): void => {
    slack.refuseWith = answer;
  };
}

function greetingNobody(slack: Workspace): void {
  slack.greets = false;
}
