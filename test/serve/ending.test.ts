/**
 * SIGTERM ends `serve`, as a real process, within two seconds, whatever its peers do. The limit is the law itself, so these tests
 * look at the clock.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Simulator } from '../../simulator/gitea/simulator.ts';
import { freePort } from '../servers/process.ts';
import { startOtlpServer } from '../support/otlp-server.ts';
import { folderWith } from '../support/run-cli.ts';
import { type ServeProcess, startServeProcess } from '../support/serve-process.ts';
import { listen } from '../support/server.ts';
import { startAcme } from '../support/start-acme.ts';
import { managedGroup } from './managed-group.ts';
import { until } from './rig.ts';
import { talk } from './talk.ts';

/** A peer's answer to a request; true: answered, or left without an answer. */
type Bend = (request: IncomingMessage, response: ServerResponse) => boolean;

interface World extends Pick<Parameters<typeof startServeProcess>[0], 'kubernetes' | 'argocd' | 'args' | 'env'> {
  readonly gitea?: Bend;
}

interface Running extends ServeProcess {
  readonly simulator: Simulator;
  /** Port of webhooks, once it listens. */
  readonly port: () => number;
}

async function start({ gitea, ...world }: World): Promise<Running> {
  const { simulator, env } = await startAcme();
  const apiToken = 'api-token-that-may-write-0123456789';
  simulator.gitea.addToken('anna', ['write:organization'], apiToken);
  if (gitea) simulator.intercept(gitea);
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const running = await startServeProcess({
    ...world,
    env: { ...env, GITEA_TOKEN: apiToken, ...world.env },
    fill: (cluster) => {
      cluster.put('runnergroups', managedGroup(simulator.url));
      cluster.put('secrets', { metadata: { namespace: 'runners', name: 'gitea-runner' } });
    },
  });
  const { log } = running;
  await until('serve listens', () => log().includes('"serving"') || world.args?.includes('--once') === true);
  return { ...running, simulator, port: () => Number(/"webhooks":(\d+)/.exec(log())?.[1]) };
}

/** Sends SIGTERM. Answers how the process ended: with 1 when it has not done so by itself in time (`LAST_MS` in src/cli/commands/serve.ts). */
async function end({ child }: Running): Promise<string> {
  child.kill('SIGTERM');
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return String(code ?? signal);
}

/** A bend that leaves fitting requests without an answer, and whether one came. */
function hang(method: string, path: RegExp): { readonly bend: Bend; readonly came: () => boolean } {
  let came = false;
  return {
    bend: (request) => {
      if (request.method !== method || !path.test(request.url ?? '')) return false;
      came = true;
      return true;
    },
    came: () => came,
  };
}

it('SIGTERM gives the Lease back', async () => {
  const running = await start({});
  await until('it leads', () => running.log().includes('"leading"'));

  expect(await end(running)).toBe('0');
  expect(running.cluster.all('leases')[0]?.['spec']).toMatchObject({ holderIdentity: '' });
});

it.each([
  ['lists hang', 'GET', /\/pods\?(?!.*watch)/],
  ['watches hang', 'GET', /watch=true/],
  ['the Lease cannot be read', 'GET', /\/leases\//],
  ['the Lease cannot be taken', 'POST', /\/leases/],
  ['the Lease cannot be renewed', 'PUT', /\/leases/],
  ['a status cannot be written', 'PATCH', /\/status/],
  ['Secrets hang', 'GET', /\/secrets\//],
])('SIGTERM ends serve while %s', async (_, method, path) => {
  const { bend, came } = hang(method, path);
  const running = await start({ kubernetes: bend, args: ['--secrets', 'api'] });
  await until('a request hangs', came);

  expect(await end(running)).toBe('0');
});

it.each([
  ['Gitea hangs', /\/jobs/, []],
  ['Gitea hangs in a sweep', /\/runners/, ['--sweep']],
])('SIGTERM ends serve while %s', async (_, path, args) => {
  const { bend, came } = hang('GET', path);
  const running = await start({ gitea: bend, args });
  await until('a request hangs', came);

  expect(await end(running)).toBe('0');
});

it.each([
  ['the Secret for it cannot be read', 'GET', 'kubernetes', /\/secrets\/gitea-runner$/],
  ['Gitea does not give it', 'POST', 'gitea', /\/registration-token$/],
  ['the Secret for it cannot be written', 'PATCH', 'kubernetes', /\/secrets\/gitea-runner\?/],
] as const)('SIGTERM ends serve while a registration token hangs: %s', async (_, method, peer, path) => {
  const { bend, came } = hang(method, path);
  const running = await start({ [peer]: bend, args: ['--registration-secrets', 'gitea-runner'] });
  await until('a request hangs', came);

  expect(await end(running)).toBe('0');
});

it('SIGTERM ends serve while Argo CD hangs', async () => {
  let came = false;
  const running = await start({
    argocd: () => {
      came = true;
      return true;
    },
  });
  await until('a request hangs', () => came);

  expect(await end(running)).toBe('0');
});

it('SIGTERM ends serve while a watch never stops to talk', async () => {
  const bookmark = `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '7' } } })}\n`;
  let sent = 0;
  const running = await start({
    kubernetes: (request, response) => {
      if (!request.url?.includes('watch=true')) return false;
      const talking = setInterval(() => {
        for (let nth = 0; nth < 500; nth += 1) response.write(bookmark);
        sent += 500;
      }, 10);
      response.on('close', () => clearInterval(talking));
      return true;
    },
  });
  await until('it has talked a lot', () => sent >= 50_000);

  expect(await end(running)).toBe('0');
});

it('SIGTERM ends serve while clients hold connections and half a webhook', async () => {
  const running = await start({});
  await talk(running.port());
  await talk(
    running.port(),
    'POST /webhook HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
  );

  expect(await end(running)).toBe('0');
});

it.each(['refuses', 'never answers'])(
  'SIGTERM ends serve within two seconds while spans wait for a collector that %s',
  async (how) => {
    const hanging: unknown[] = [];
    const collector = await startOtlpServer({ answer: (response) => void hanging.push(response) });
    onTestFinished(collector.close);
    const endpoint = how === 'refuses' ? `127.0.0.1:${await freePort()}` : `127.0.0.1:${collector.port}`;
    const running = await start({ args: ['--tracing-endpoint', endpoint, '--tracing-insecure'] });
    await until('it leads', () => running.log().includes('"leading"'));
    await until('it has asked Argo CD to make a runner', () => running.log().includes('woke Argo CD'));
    running.simulator.gitea.cancelRun(1);
    await until('the trace of the CI job has ended', () => hanging.length > 0 || running.log().includes('lost spans'));

    expect(await end(running)).toBe('0');
  },
);

it('SIGTERM ends serve while Slack never answers', async () => {
  let asked = 0;
  const proxy = createServer((socket) => {
    asked += 1;
    socket.on('error', () => undefined);
  });
  const { origin } = await listen(proxy);
  const appToken = join(folderWith({ app: 'xapp-1' }), 'app');
  const running = await start({
    args: ['--slack-app-token-file', appToken],
    env: { HTTPS_PROXY: origin, NO_PROXY: '127.0.0.1,localhost' },
  });
  await until('Slack is asked', () => asked > 0);

  expect(await end(running)).toBe('0');
  expect(running.log()).not.toContain('xapp-1');
});

it('SIGTERM ends serve --once, which fails: it was not done', async () => {
  const { bend, came } = hang('GET', /\/pods\?/);
  const running = await start({ kubernetes: bend, args: ['--once'] });
  await until('a request hangs', came);

  expect(await end(running)).toBe('1');
  expect(running.log()).toContain('error: serve --once: stopped before it was done\n');
});
