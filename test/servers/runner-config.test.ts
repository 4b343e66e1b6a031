/** Tests the runner's configuration from RunnerGroups, with the real runner, a real cache server and a real Gitea. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import type { ApiJob } from './account.ts';
import { cacheAction } from './actions-cache.ts';
import { type Pod, startPod } from './pod.ts';
import { freePort, statusOf, tail, waitUntil } from './process.ts';
import { useSite } from './site.ts';

const SECRET = "it's the 'secret' of the cache";

let cacheUrl: string;
const site = useSite('runner-config', { version: '1.27.3' }, async () => {
  cacheUrl = await startCacheServer();
});

const Deployment = z.object({
  kind: z.literal('Deployment'),
  spec: z.object({
    template: z.object({ spec: z.object({ containers: z.tuple([z.object({ command: z.array(z.string()) })]) }) }),
  }),
});

/** Runs the command of install/cache.yaml, with folders, host and port of the test's. */
async function startCacheServer(): Promise<string> {
  const documents = parseAllDocuments(readFileSync('install/cache.yaml', 'utf8'));
  const [found] = documents.map((each) => Deployment.safeParse(each.toJS())).filter(({ success }) => success);
  const [shell = '', flag = '', script = '', name = ''] = found?.data?.spec.template.spec.containers[0].command ?? [];
  const port = await freePort();
  const { playground } = site;
  const config = join(playground.makeFolder('cache-config'), 'config.yaml');
  const words = [name, config, playground.makeFolder('cache'), '127.0.0.1', String(port)];
  const running = playground.start({
    command: shell,
    args: [flag, script.replaceAll('$$', () => '$'), ...words],
    cwd: playground.folder,
    env: { GITEA_RUNNER_CACHE_SECRET: `${SECRET}\n`, HOME: playground.folder },
    binaries: inject('builds').runner,
    logFile: join(playground.folder, 'cache.log'),
  });
  const url = `http://127.0.0.1:${port}`;
  await waitUntil('the cache server answers', () => statusOf(url), { running });
  return url;
}

/** The pod of the one queued job of acme, made by `generate` from a group with `more` in its spec. `before` it starts. */
async function podFor(
  name: string,
  more: Readonly<Record<string, unknown>>,
  before?: () => Promise<unknown>,
): Promise<Pod> {
  site.writeGroups([{ name, labels: [`${name}:host`], cap: 1, more }]);
  const [job] = await site.manifests();
  if (!job) throw new Error('generate printed no Job');
  const world = await site.world({ 'cache/secret': SECRET });
  await before?.();
  return startPod(job, world);
}

/** A private repository with a workflow `ci.yml` of these steps. */
async function repository(label: string, steps: readonly object[]): Promise<`${string}/${string}`> {
  await site.addRepository(label, { 'ci.yml': workflow(label, steps) });
  return `acme/${label}`;
}

/** A workflow of one job, started by hand. */
function workflow(label: string, steps: readonly object[]): string {
  return JSON.stringify({ on: 'workflow_dispatch', jobs: { job: { 'runs-on': label, steps } } });
}

const newest = async (path: `${string}/${string}`): Promise<ApiJob | undefined> =>
  (await site.admin.jobs(`/repos/${path}`)).at(-1);

const logOf = async (job: ApiJob | undefined): Promise<string> => (job ? await site.admin.logOf(job) : '');

/** Starts a workflow and the runner for it, and waits until both have ended. */
async function ran(path: `${string}/${string}`, file: string, label: string, more: Readonly<Record<string, unknown>>) {
  await site.admin.dispatch(path, file);
  const pod = await podFor(label, more);
  await waitUntil(`the runner ${label} ends`, pod.running.hasExited, { timeoutMs: 180_000 });
  const job = await newest(path);
  return { conclusion: job?.conclusion, log: await logOf(job) };
}

it('the schema knows the keys that the runner itself lists', () => {
  const printed = execFileSync(join(inject('builds').runner, 'gitea-runner'), ['generate-config'], {
    encoding: 'utf8',
  });

  expect(printed.trim()).toBe(readFileSync('test/config/runnergroup/runner-1.0.8-config.yaml', 'utf8').trim());
});

it('lets a second runner restore what the first one saved, and no other repository', async () => {
  const clone = {
    run: `git clone -q "$(echo "$GITHUB_SERVER_URL" | sed "s|//|//x:${'$'}{{ github.token }}@|")/$GITHUB_REPOSITORY" .`,
  };
  const use = (what: string) => ({ uses: './cache', with: { do: what, path: 'kept', key: 'k1' } });
  const note = { run: 'mkdir kept && echo "written by the first runner" > kept/note' };
  const show = { run: 'cat kept/note || echo "nothing is kept"' };
  const restore = (label: string) => workflow(label, [clone, use('restore'), show]);
  const save = workflow('saver', [clone, note, use('save')]);
  await site.addRepository('web', { 'save.yml': save, 'restore.yml': restore('restorer') });
  await site.addRepository('other', { 'restore.yml': restore('stranger') });
  for (const [file, text] of Object.entries(cacheAction()))
    for (const path of ['acme/web', 'acme/other']) await site.admin.putFile(path, `cache/${file}`, text);
  const cache = { url: cacheUrl, secretRef: { name: 'cache', key: 'secret' } };

  const first = await ran('acme/web', 'save.yml', 'saver', { cache });
  const second = await ran('acme/web', 'restore.yml', 'restorer', { cache });
  const third = await ran('acme/other', 'restore.yml', 'stranger', { cache });

  expect([first.conclusion, second.conclusion, third.conclusion], first.log + second.log + third.log).toEqual(
    Array(3).fill('success'),
  );
  expect(second.log).toContain('the cache answered: k1');
  expect(second.log).toContain('written by the first runner');
  expect(third.log).toContain('the cache answered: nothing');
  expect(third.log).toContain('nothing is kept');
  expect(first.log + second.log + third.log).not.toContain(SECRET);
});

it('runs setupCommand before it registers; the CI job finds what that left, and the variables of runnerConfig', async () => {
  const path = await repository('prepared', [{ run: 'echo "$(cat "$HOME/note") and $FROM_CONFIG"' }]);

  const { conclusion, log } = await ran(path, 'ci.yml', 'prepared', {
    setupCommand: ['sh', '-c', 'echo "set up, token: $GITEA_RUNNER_REGISTRATION_TOKEN." > note'],
    runnerConfig: { runner: { envs: { FROM_CONFIG: 'configured' } } },
  });

  expect(conclusion, log).toBe('success');
  expect(log).toContain('set up, token: . and configured');
});

it("the pod shows the runner's own metrics when the group switches them on", async () => {
  const addr = `127.0.0.1:${await freePort()}`;
  const path = await repository('metered', [{ run: `curl -sS http://${addr}/metrics` }]);

  const { conclusion, log } = await ran(path, 'ci.yml', 'metered', {
    runnerConfig: { metrics: { enabled: true, addr } },
  });

  expect(conclusion, log).toBe('success');
  expect(log).toMatch(/gitea_runner_job_running 1\b/);
});

describe('gracefulStopSeconds', () => {
  /** A runner at work; its CI job ends when the file `go` is there. */
  async function atWork(label: string, seconds: number) {
    const go = join(site.playground.makeFolder('released', label), 'go');
    const step = {
      run: `echo "the step has begun"; until [ -e '${go}' ]; do sleep 0.1; done; echo "the step has ended"`,
    };
    const path = await repository(label, [step]);
    await site.admin.dispatch(path, 'ci.yml');
    const pod = await podFor(label, { gracefulStopSeconds: seconds });
    const begun = async () => (await logOf(await newest(path))).includes('the step has begun');
    await waitUntil('the step begins', begun, { running: pod.running });
    return { path, pod, go };
  }

  /** Tells the runner to end, and expects that it logs this patience. */
  async function stop({ running }: Pod, patience: string): Promise<void> {
    running.signal('SIGTERM');
    const waits = () => tail(running.logFile).includes(`waiting ${patience} for running jobs`);
    await waitUntil('the runner is asked to end', waits, { running });
  }

  const hasEnded = (log: string) => log.split('\n').some((line) => line.endsWith('Z the step has ended'));

  // The runner 1.0.8 forgets the error of a CI job that it cuts (act/runner/job_executor.go makes a new context for the last steps).
  it.each([
    [0, '1m30s'],
    [1, '1m31s'],
  ])('%i: a CI job that takes longer ends with its pod, and is never a success', async (seconds, patience) => {
    const { path, pod } = await atWork(`cut-${seconds}`, seconds);

    await stop(pod, patience);
    expect(pod.graceSeconds).toBe(seconds + 30);
    // Like the kubelet after `graceSeconds`.
    pod.running.signal('SIGKILL');
    await waitUntil('the runner ends', pod.running.hasExited);

    const job = await newest(path);
    // The log has the command, too.
    expect(hasEnded(await logOf(job))).toBe(false);
    // Gitea shows it as failed after ZOMBIE_TASK_TIMEOUT, 10 minutes.
    expect([job?.status, job?.conclusion ?? '']).toEqual(['in_progress', '']);
  });

  it('30: a stopped runner finishes a CI job that ends within it', async () => {
    const { path, pod, go } = await atWork('kept', 30);

    await stop(pod, '2m0s');
    writeFileSync(go, '');
    await waitUntil('the runner ends', pod.running.hasExited);

    const job = await newest(path);
    expect(job?.conclusion).toBe('success');
    expect(hasEnded(await logOf(job))).toBe(true);
  });

  it('10800: an idle runner ends at once, and its row stays in Gitea, offline or about to be', async () => {
    const path = await repository('idle', [{ run: 'true' }]);
    await site.admin.dispatch(path, 'ci.yml');
    const jobIsGone = () => site.admin.call('DELETE', `/repos/${path}`);
    const pod = await podFor('idle', { gracefulStopSeconds: 10_800 }, jobIsGone);
    const here = async () => (await site.admin.runnerNames('/orgs/acme')).some((name) => name.startsWith('idle-'));
    await waitUntil('it registers', here, { running: pod.running });
    const idles = () => tail(pod.running.logFile).includes('declare successfully');
    await waitUntil('it waits for work', idles, { running: pod.running });

    pod.running.signal('SIGTERM');
    await waitUntil('the runner ends', pod.running.hasExited);

    expect(await pod.running.exited).toBe(0);
    expect(await here()).toBe(true);
  });
});
