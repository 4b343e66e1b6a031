/** `generate` with looks of `serve` (laws F170 to F173, P61, P62). The real program, real HTTP servers. */
import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { keysOf, MOST_AGE_MS, sealed } from '../../src/clients/gitea/kept-look.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { kubeconfigFor, liveJob, newRunnerIn, startCluster } from '../clients/kubernetes/through-cli.ts';
import { openLooks } from '../serve/looks/open-looks.ts';
import { until } from '../serve/rig.ts';
import {
  type FakeOptions,
  fakeGitea,
  type JobRow,
  jobRow,
  type RunnerRow,
  runnerRow,
} from '../support/gitea-stand-in.ts';
import { targetOf } from '../support/looking.ts';
import { folderWith, groupYaml, type Outcome, runCli, runHere } from '../support/run-cli.ts';
import { serve } from '../support/server.ts';
import { slowDown } from '../support/slow-clock.ts';

const TOKEN = 'api-token-of-this-test-0123456789';
const LINUX = { labels: ['linux'] };
const ROW = { labels: [{ id: 1, name: 'linux', type: 'custom' }] };

/** A Gitea with jobs, and Jobs in the cluster. */
async function scene(gitea: FakeOptions = {}, live: readonly object[] = []) {
  const jobs = [jobRow(7, 'queued', LINUX)];
  const fake = await fakeGitea({ jobs, ...gitea });
  const cluster = await startCluster({ jobs: { runners: live } });
  const target = { ...targetOf(fake.url), token: new Token(TOKEN, fake.url) };
  const folder = folderWith({ 'ci.yaml': groupYaml(fake.url) });
  const env = {
    GITEA_URL: fake.url,
    GITEA_TOKEN: TOKEN,
    GITEA_RUNNERS_KUBECONFIG: kubeconfigFor(cluster),
    ARGOCD_APP_NAME: 'ci',
  };
  const generate = (looks?: string, run = runHere): Promise<Outcome> =>
    run(['generate', folder], { ...env, ...(looks !== undefined && { GITEA_RUNNERS_LOOKS: looks }) });
  /** Returns the result and how often Gitea was asked meanwhile. */
  const asked = async <T>(work: () => Promise<T>): Promise<readonly [T, number]> => {
    const before = fake.seen.length;
    const result = await work();
    return [result, fake.seen.length - before];
  };
  return { fake, cluster, target, generate, asked };
}

describe('with a look of serve', () => {
  it.each([1, 5, 20])(
    '%i at once ask Gitea nothing, and print what they print without it, byte for byte',
    async (count) => {
      slowDown();
      const { target, generate, asked } = await scene();
      const { url } = await openLooks([target]);
      const without = await generate();

      const [outcomes, requests] = await asked(() => Promise.all(Array.from({ length: count }, () => generate(url))));

      expect(requests).toBe(0);
      expect(without.stdout).toContain('kind: "Job"');
      expect(outcomes).toHaveLength(count);
      for (const { code, stdout } of outcomes) expect({ code, stdout }).toEqual({ code: 0, stdout: without.stdout });
    },
  );

  it('the built program asks Gitea nothing either', async () => {
    const { target, generate, asked } = await scene();
    const { url } = await openLooks([target]);
    const without = await generate();

    await until('an answer that came in time', async () => {
      const [{ code, stdout, stderr }, requests] = await asked(() => generate(url, runCli));
      expect([code, stdout], stderr).toEqual([0, without.stdout]);
      return requests === 0;
    });
  });

  it('serve is asked at each address, because one replica leads', async () => {
    slowDown();
    const { target, generate, asked } = await scene();
    const { url } = await openLooks([target]);

    const [{ code }, requests] = await asked(() => generate(url.replace('127.0.0.1', 'localhost')));

    expect([code, requests]).toEqual([0, 0]);
  });

  it('-v says that serve was asked, and no id, nonce or token', async () => {
    slowDown();
    const { target, generate } = await scene();
    const { url } = await openLooks([target]);

    const { stderr } = await generate(url, (args, env) => runHere([...args, '-v'], env));

    expect(stderr).toMatch(/GET http:\/\/127\.0\.0\.1:\d+\/look 200 \d+ ms/);
    expect(stderr).not.toMatch(new RegExp(`${TOKEN}|${keysOf(target).id}`));
  });
});

/** A sealed look as serve would give it. @param ageMs when it ended */
function sealedFor(
  target: Parameters<typeof keysOf>[0],
  nonce: string,
  answers: Readonly<Record<string, object>>,
  ageMs = 0,
  tookMs = 0,
): Buffer {
  const nowMs = systemClock.steadyMs();
  const look = {
    version: '1.27.3',
    beganMs: nowMs - ageMs - tookMs,
    answers: Object.entries(answers).map(([url, body]) => {
      return {
        url,
        body: Buffer.from(JSON.stringify(body)),
        total: undefined,
        date: undefined,
        sentMs: nowMs - ageMs,
        receivedMs: nowMs - ageMs,
      };
    }),
  };
  return Buffer.concat([...sealed(look, keysOf(target).secret, nonce, nowMs)]);
}

type Target = Awaited<ReturnType<typeof scene>>['target'];

/** Servers that are not `serve`, or not well. */
const BAD: Readonly<Record<string, (target: Target) => RequestListener>> = {
  'who does not lead': () => (_, response) => void response.writeHead(404).end(),
  'who has none in time': () => (_, response) => void response.writeHead(503).end(),
  'who never answers': () => () => undefined,
  'who begins and never ends': () => (_, response) => void response.writeHead(200).write('x'),
  'who breaks off': () => (_, response) => {
    response.writeHead(200, { 'content-length': '100000' }).write('x'.repeat(1_000));
    setTimeout(() => response.destroy(), 20);
  },
  garbage: () => (_, response) => void response.end(randomBytes(10_000)),
  'an answer without end': () => (_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) {}
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  },
  'a redirect': () => (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/look' }).end(),
  'an impostor with another token':
    (target) =>
    ({ headers }, response) => {
      const other = { ...target, token: new Token('other', target.url) };
      response.end(sealedFor(other, String(headers['x-nonce']), EMPTY(target.url)));
    },
  'an answer of before': (target) => (_, response) =>
    void response.end(sealedFor(target, 'ab'.repeat(16), EMPTY(target.url))),
  'a look that is too old':
    (target) =>
    ({ headers }, response) =>
      void response.end(sealedFor(target, String(headers['x-nonce']), EMPTY(target.url), MOST_AGE_MS + 1)),
  'a look without its answers':
    (target) =>
    ({ headers }, response) =>
      void response.end(sealedFor(target, String(headers['x-nonce']), {})),
  'answers that contradict themselves':
    (target) =>
    ({ headers }, response) => {
      const [url = ''] = Object.keys(EMPTY(target.url));
      response.end(sealedFor(target, String(headers['x-nonce']), { [url]: { jobs: [], total_count: 5 } }));
    },
  'answers of another server':
    (target) =>
    ({ headers }, response) =>
      void response.end(sealedFor(target, String(headers['x-nonce']), EMPTY('http://gitea.example.org'))),
};

/** A look with an empty queue: with it, nothing would be printed. */
const EMPTY = (url: string) => ({
  [`${url}/api/v1/orgs/acme/actions/jobs?status=queued&status=in_progress&limit=50&page=1`]: {
    jobs: [],
    total_count: 0,
  },
});

describe.each(Object.entries(BAD))('%s', (_, listener) => {
  it('the answer is no look: Gitea itself is asked', async () => {
    const { target, generate, asked } = await scene();
    const server = await serve(listener(target));
    const [without, direct] = await asked(() => generate());

    const [{ code, stdout, stderr }, requests] = await asked(() => generate(server.origin));

    expect([code, stdout], stderr).toEqual([0, without.stdout]);
    expect(requests).toBe(direct);
  });
});

/** Servers that answer slowly, or whose look was made slowly. Its queue is empty. */
const SLOW: Readonly<Record<string, (target: Target) => RequestListener>> = {
  'an answer that begins at once and goes on for 300 ms':
    (target) =>
    ({ headers }, response) => {
      const look = sealedFor(target, String(headers['x-nonce']), EMPTY(target.url));
      response.write(look.subarray(0, 20));
      systemClock.after(300, () => response.end(look.subarray(20)));
    },
  'a look that took ten seconds':
    (target) =>
    ({ headers }, response) =>
      void response.end(sealedFor(target, String(headers['x-nonce']), EMPTY(target.url), 0, 2 * MOST_AGE_MS)),
};

describe.each(Object.entries(SLOW))('%s', (_, listener) => {
  it('the answer is a look: Gitea is asked nothing', async () => {
    slowDown();
    const { target, generate, asked } = await scene();
    const server = await serve(listener(target));

    const [{ code, stdout, stderr }, requests] = await asked(() => generate(server.origin));

    expect([code, requests], stderr).toEqual([0, 0]);
    expect(stdout).not.toContain('kind: "Job"');
  });
});

describe('nobody who listens', () => {
  it.each(['http://127.0.0.1:1', 'http://no-such-name.invalid:8083'])(
    'the address %s, where nobody listens, gives no look',
    async (url) => {
      const { generate, asked } = await scene();

      const [{ code, stdout }, requests] = await asked(() => generate(url));

      expect(code).toBe(0);
      expect(stdout).toContain('kind: "Job"');
      expect(requests).toBeGreaterThan(1);
    },
  );

  it('a Gitea that fails then is an error with nothing on stdout', async () => {
    const { generate } = await scene({
      intercept: (_, response) => {
        response.writeHead(500).end();
        return true;
      },
    });

    const { code, stdout } = await generate('http://127.0.0.1:1');

    expect(stdout).toBe('');
    expect(code).not.toBe(0);
  });

  it.each(['https://gitea-runners-looks.argocd.svc:8083', 'http://looks:8083/path', 'looks:8083', 'http://a:b@looks'])(
    '%s is no place to ask',
    async (url) => {
      const { generate } = await scene();

      const { code, stdout, stderr } = await generate(url);

      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('GR-FLAG-25 read GITEA_RUNNERS_LOOKS: ');
    },
  );
});

it('what is asked holds no token, and each time another nonce', async () => {
  const { target, generate } = await scene();
  const asked: string[] = [];
  const server = await serve((request, response) => {
    asked.push(`${request.url} ${JSON.stringify(request.headers)}`);
    request.on('data', (bytes) => asked.push(String(bytes)));
    response.writeHead(404).end();
  });

  await generate(server.origin);
  await generate(server.origin);

  expect(asked).toHaveLength(2);
  expect(new Set(asked).size).toBe(2);
  expect(asked.join()).not.toContain(TOKEN);
  expect(asked.join()).not.toContain('authorization');
  expect(asked[0]).toContain(keysOf(target).id);
});

/** Gitea as it was at the look, and then as it is. */
async function changing(
  rows: { jobs: JobRow[]; runners?: RunnerRow[] },
  liveOf: (name: string, url: string) => readonly object[],
) {
  const { jobs, runners = [] } = rows;
  const live: object[] = [];
  const staged = await scene({ jobs, runners }, live);
  const name = newRunnerIn((await staged.generate()).stdout);
  live.push(...liveOf(name, staged.fake.url));
  return { ...staged, name, jobs, runners, live };
}
const old = Date.now() - 60_000;
const running = (name: string) => liveJob(name, old, { active: 1, ready: 1, startTime: new Date(old).toISOString() });

it('a look of before lets no runner go that works by now: Gitea is asked first', async () => {
  slowDown();
  const { fake, target, generate, asked, name, jobs, runners } = await changing(
    { jobs: [jobRow(7, 'queued', LINUX)] },
    (made) => [running(made)],
  );
  // At the time of the look, the CI job is cancelled and the runner idle: no job needs it.
  jobs.length = 0;
  runners.push(runnerRow(1, name, ROW));
  const { url } = await openLooks([target]);
  // A new job has come since, and the runner has taken it.
  jobs.push(jobRow(8, 'in_progress', { ...LINUX, runner_name: name, runner_id: 1 }));
  runners[0] = runnerRow(1, name, { ...ROW, busy: true });

  const [{ code, stdout, stderr }, requests] = await asked(() => generate(url));

  expect(code, stderr).toBe(0);
  expect(stdout).toContain(name);
  expect(stdout).toContain('Prune=false');
  expect(requests).toBeGreaterThan(0);
  expect(fake.seen.length).toBeGreaterThan(0);
});

it('a look of before makes no second runner for a CI job whose runner has ended since', async () => {
  slowDown();
  const { target, generate, asked, name, jobs, runners, live } = await changing(
    { jobs: [jobRow(7, 'queued', LINUX)] },
    (made) => [running(made)],
  );
  runners.push(runnerRow(1, name, ROW));
  const { url } = await openLooks([target]);
  jobs[0] = jobRow(7, 'completed', { ...LINUX, runner_name: name, runner_id: 1 });
  const now = new Date().toISOString();
  live[0] = liveJob(name, old, {
    startTime: new Date(old).toISOString(),
    completionTime: now,
    succeeded: 1,
    conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: now }],
  });

  const [{ code, stdout, stderr }, requests] = await asked(() => generate(url));

  expect(code, stderr).toBe(0);
  expect(newRunnerIn(stdout)).toBe(name);
  expect(stdout.match(/kind: "Job"/g)).toHaveLength(1);
  expect(requests).toBe(0);
});
