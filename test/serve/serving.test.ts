import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { subscriberOf } from '../../src/serve/planning/events.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { freePort } from '../servers/process.ts';
import { TOKEN as CLUSTER_TOKEN } from '../support/api-server.ts';
import { countingClock } from '../support/counting-clock.ts';
import { startQuietServe } from '../support/quiet-serve.ts';
import { folderWith } from '../support/run-cli.ts';
import { TOKEN } from '../support/start-acme.ts';
import { delivery, payload, SECRET } from './deliveries.ts';
import { managedGroup } from './managed-group.ts';
import { startRig, type Tracking, until } from './rig.ts';

const linux = { jobs: [{ key: 'build', runsOn: ['linux'] }] };

/** Sends a signed webhook about a queued job and answers the status. */
async function send(port: number, jobId: number): Promise<number> {
  const { headers, body } = delivery(payload({ id: jobId }));
  return (await fetch(`http://127.0.0.1:${port}/webhook`, { method: 'POST', headers, body })).status;
}

it('serve makes a runner for a queued job, and is content; it writes nothing but status, and logs no token', async () => {
  const rig = await startRig();
  const replica = await rig.start();
  rig.simulator.gitea.push('acme/web', linux);
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  await until('content', () => rig.conditions()['Ready'] === 'True Serving');

  expect(rig.syncs()).toBe(1);
  await until('figures', async () => (await replica.metric('gitea_runners_queued_jobs')) === 1);
  await until('its runner', async () => (await replica.metric('gitea_runners_runners')) === 1);
  expect(new Set(rig.cluster.writes)).toEqual(
    new Set(['PATCH /apis/gitea.bpg.pw/v1alpha1/namespaces/runners/runnergroups/ci/status']),
  );
  const log = JSON.stringify(replica.log);
  expect(log.length).toBeGreaterThan(100);
  for (const secret of [TOKEN, 'argocd-token-0123456789', CLUSTER_TOKEN, SECRET]) expect(log).not.toContain(secret);
});

it('serve asks Gitea for one list per look and Argo CD for nothing while nothing is queued, and writes one status', async () => {
  const rig = await startRig();
  const replica = await rig.start({ pollMs: 20 });
  await until('a status', () => rig.conditions()['Ready'] === 'True Serving');
  const before = rig.cluster.writes.length;
  const first = await replica.metric('gitea_runners_looks_total');
  await until('20 more looks', async () => (await replica.metric('gitea_runners_looks_total')) >= first + 20);
  const looks = await replica.metric('gitea_runners_looks_total');
  const lists = rig.simulator.requests.filter(({ target }) => target.includes('/jobs?')).length;
  const versions = rig.simulator.requests.filter(({ target }) => target.endsWith('/version')).length;

  expect(versions).toBe(1);
  expect(lists + versions).toBe(rig.simulator.requests.length);
  expect(lists).toBeGreaterThanOrEqual(looks);
  expect(lists).toBeLessThanOrEqual(looks + 2);
  expect(rig.argocd.lines()).toEqual([expect.stringMatching(/^GET (?!.*refresh)/)]);
  expect(rig.cluster.writes.length - before).toBeLessThanOrEqual(1);
});

it('serve looks again when Argo CD finds nothing to do, and wakes it no more for what it had seen', async () => {
  const rig = await startRig();
  const { gitea } = rig.simulator;
  const { id } = gitea.push('acme/web', linux).run;
  // Nobody reports the cancelled run before `generate` looks.
  const cancelled = subscriberOf({ looked: () => gitea.cancelRun(id) });
  const replica = await rig.start({ pollMs: 600_000, subscribers: [cancelled] });
  await until('a wake', async () => (await replica.metric('gitea_runners_wakes_total')) === 1);
  await until('nothing waits', async () => (await replica.metric('gitea_runners_queued_jobs')) === 0);

  expect(rig.argocd.lines().filter((line) => line.includes('refresh=hard'))).toHaveLength(1);
  expect(rig.syncs()).toBe(0);
});

it('serve makes few looks and no wake of 300 events that change nothing, and at most three of 1000 that come with jobs', async () => {
  const rig = await startRig();
  const replica = await rig.start({ pollMs: 60_000 });
  await until('the first look', async () => (await replica.metric('gitea_runners_looks_total')) === 1);
  // A hundred at a time.
  const flood = async (first: number, count: number): Promise<readonly number[]> => {
    const answers: number[] = [];
    for (let at = first; at < first + count; at += 100) {
      const some = Array.from({ length: 100 }, (_, more) => send(replica.webhooks, at + more));
      answers.push(...(await Promise.all(some)));
    }
    return answers;
  };
  const answers = await flood(10_000, 300);
  expect(new Set(answers)).toEqual(new Set([202]));
  expect(await replica.metric('gitea_runners_webhook_deliveries_total')).toBe(300);
  expect(rig.argocd.lines().filter((line) => line.includes('refresh'))).toEqual([]);

  for (let at = 0; at < 5; at += 1) rig.simulator.gitea.push('acme/web', linux);
  await flood(20_000, 1000);
  await until('all Jobs', () => rig.cluster.all('jobs').length === 5);
  expect(rig.argocd.lines().filter((line) => line.includes('refresh')).length).toBeLessThanOrEqual(3);
});

it.each<[string, Tracking]>([
  ['by label', { method: 'label' }],
  ['by a label of its own', { method: 'label', labelKey: 'example.com/app' }],
  ['by annotation and label', { method: 'annotation+label' }],
  ['with an installation id', { installationId: 'https://argocd.acme.example' }],
])('serve wakes the Application of an Argo CD that tracks %s, and knows its Jobs', async (_, tracking) => {
  const rig = await startRig('', {}, tracking);
  const cluster = { ...rig.cluster.config, trackingLabel: tracking.labelKey };
  const replica = await rig.start({ cluster });
  rig.simulator.gitea.push('acme/web', linux);
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  await until('content', () => rig.conditions()['Ready'] === 'True Serving');

  expect(rig.syncs()).toBe(1);
  await until('its runner', async () => (await replica.metric('gitea_runners_runners')) === 1);
  // Its own Job does not differ: no wake follows.
  expect(await replica.metric('gitea_runners_wakes_total')).toBe(1);
});

it('serve says what names no Application: neither the annotation nor the label', async () => {
  const rig = await startRig('', {}, { method: 'label', labelKey: 'example.com/app' });
  await rig.start();
  await until('bad news', () => rig.conditions()['Ready'] === 'False NoApplication');

  expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain('GITEA_RUNNERS_TRACKING_LABEL');
});

it('serve says in the status that Gitea cannot be reached, touches nothing meanwhile, and goes on after it', async () => {
  const rig = await startRig();
  await rig.start();
  rig.simulator.gitea.push('acme/web', linux);
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  rig.fail(500);
  await until('bad news', () => rig.conditions()['GiteaReachable'] === 'False ServerError');
  expect(rig.conditions()['Ready']).toBe('False GiteaFailed');
  expect(rig.cluster.all('jobs')).toHaveLength(1);

  rig.simulator.intercept();
  rig.simulator.gitea.push('acme/web', linux);
  await until('the next Job', () => rig.cluster.all('jobs').length === 2);
  await until('good news', () => rig.conditions()['Ready'] === 'True Serving');
});

it('serve knows the pods of a podTemplate as generate makes them: one wake, one Job, nothing that differs', async () => {
  const rig = await startRig('  podTemplate: {spec: {nodeSelector: {disk: ssd}}}\n');
  await rig.start();
  rig.simulator.gitea.push('acme/web', linux);
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  await until('good news', () => rig.conditions()['Ready'] === 'True Serving');

  expect(JSON.stringify(rig.cluster.all('jobs'))).toContain('"disk":"ssd"');
  expect(rig.syncs()).toBe(1);
});

it('serve says that a podTemplate is not valid, as generate does', async () => {
  const rig = await startRig('  podTemplate: {spec: {hostNetwork: true}}\n');
  await rig.start();
  await until('bad news', () => rig.conditions()['Ready'] === 'False InvalidSpec');

  expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain('spec.podTemplate.spec.hostNetwork is reserved');
  expect(rig.syncs()).toBe(0);
});

it('serve lets one of two replicas lead; the other one sends webhooks on and takes over', async () => {
  const rig = await startRig();
  const lease = { namespace: 'argocd', name: 'gitea-runners-serve' };
  const ports = await Promise.all([freePort(), freePort()]);
  const listen = ports.map((port) => ({ host: '127.0.0.1', port }));
  const one = await rig.start({ lease, identity: 'one', pollMs: 60_000, listen: listen[0] ?? { port: 0 } });
  await until('a leader', async () => (await one.metric('gitea_runners_leader')) === 1);
  const two = await rig.start({ lease, identity: 'two', pollMs: 60_000, listen: listen[1] ?? { port: 0 } });
  await until('the first look', async () => (await one.metric('gitea_runners_looks_total')) === 1);
  rig.simulator.gitea.push('acme/web', linux);
  await until('sent on', async () => (await send(two.webhooks, 1)) !== 503);
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  expect(await two.metric('gitea_runners_leader')).toBe(0);
  expect(await two.metric('gitea_runners_looks_total')).toBe(0);

  await one.end();
  await until('another leader', async () => (await two.metric('gitea_runners_leader')) === 1);
  const [next] = rig.simulator.gitea.push('acme/web', linux).jobs;
  // Its first look may have been before that.
  expect(await send(two.webhooks, next?.id ?? 0)).toBe(202);
  await until('the next Job', () => rig.cluster.all('jobs').length === 2);
});

it('serve is ready when its first looks have ended, and not as soon as it leads', async () => {
  const rig = await startRig();
  const held: (() => void)[] = [];
  rig.simulator.intercept(({ url = '' }, response) => {
    held.push(() => response.writeHead(url.endsWith('/version') ? 500 : 503).end());
    return true;
  });
  const replica = await rig.start({ pollMs: 600_000 });
  const status = async () => (await fetch(`http://127.0.0.1:${replica.probes}/readyz`)).status;
  // It looks after it has seen the cluster.
  await until('its first look is under way', () => held.length > 0);
  expect(await status()).toBe(503);

  rig.simulator.intercept();
  for (const answer of held) answer();
  await until('it is ready', async () => (await status()) === 200);
});

it('serve counts a webhook as forwarded when the leader has it, and not when no leader can be reached', async () => {
  const rig = await startRig();
  // No process listens there.
  const holder = { holderIdentity: 'gone', leaseDurationSeconds: 3600 };
  const annotations = { 'gitea.bpg.pw/address': `http://127.0.0.1:${await freePort()}` };
  const lease = { namespace: 'argocd', name: 'gitea-runners-serve' };
  rig.cluster.put('leases', { metadata: { ...lease, annotations }, spec: holder });
  const replica = await rig.start({ lease, identity: 'two' });

  // Both before and after it knows the leader.
  for (let nth = 1; nth <= 3; nth += 1) expect(await send(replica.webhooks, nth)).toBe(503);
  expect(await replica.metric('gitea_runners_webhook_deliveries_total')).toBe(0);
});

it('serve stays ready while a new group waits for its first look', async () => {
  const rig = await startRig();
  const replica = await rig.start();
  const isReady = async () => (await fetch(`http://127.0.0.1:${replica.probes}/readyz`)).ok;
  await until('it is ready', isReady);
  let asked = false;
  rig.simulator.intercept(({ url = '' }) => {
    const hangs = url.startsWith('/api/v1/repos/acme/web/');
    asked ||= hangs;
    return hangs;
  });
  const { org: _, ...spec } = managedGroup(rig.simulator.url).spec;
  rig.cluster.put('runnergroups', {
    ...managedGroup(rig.simulator.url),
    metadata: { namespace: 'runners', name: 'slow' },
    spec: { ...spec, scope: 'repo', repo: 'acme/web' },
  });
  await until('its look has begun', () => asked);

  expect(await isReady()).toBe(true);
});

it('a new leader goes on from the status that the one before has written last', async () => {
  const rig = await startRig();
  const lease = { namespace: 'argocd', name: 'gitea-runners-serve' };
  const one = await rig.start({ lease, identity: 'one' });
  await until('a status', () => rig.conditions()['Ready'] === 'True Serving');
  const two = await rig.start({ lease, identity: 'two' });
  await until('the other one follows', async () => (await fetch(`http://127.0.0.1:${two.probes}/readyz`)).ok);
  const status = () => rig.cluster.all('runnergroups')[0]?.['status'] as Record<string, unknown>;
  // Times have whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  rig.fail(500);
  await until('Gitea fails', () => rig.conditions()['GiteaReachable'] === 'False ServerError');
  const written = status();
  await one.end();
  const [group] = rig.cluster.all('runnergroups');
  const kept = { debuggingRunners: 1, debugging: [{ runner: 'ci-1-1-00000000', until: '2026-11-21T12:00:00Z' }] };
  if (group) rig.cluster.put('runnergroups', { ...group, status: { ...written, ...kept } });
  await until('the other one leads', () => two.log.some(({ message }) => message === 'leading'));
  await until('it has looked', async () => (await two.metric('gitea_runners_looks_total')) >= 2);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(status()['conditions']).toEqual(written['conditions']);

  rig.simulator.intercept(() => false);
  await until('Gitea is well', () => rig.conditions()['Ready'] === 'True Serving');
  expect(status()).toMatchObject({ debuggingRunners: 0, debugging: [] });
});

it('serve lets the event loop turn between the plans of two Applications', async () => {
  const APPLICATIONS = 60;
  const rig = await startRig();
  const [first] = rig.cluster.all('runnergroups');
  for (let nth = 0; first && nth < APPLICATIONS; nth += 1) {
    const name = `ci-${nth}`;
    const tracked = { 'argocd.argoproj.io/tracking-id': `app-${nth}:gitea.bpg.pw/RunnerGroup:runners/${name}` };
    rig.cluster.put('runnergroups', { ...first, metadata: { namespace: 'runners', name, annotations: tracked } });
  }
  // Counts how often a turn of the event loop reads the time: the steps after a plan do so a few times.
  let asked = 0;
  let most = 0;
  let turning = true;
  const turn = (): void => {
    most = Math.max(most, asked);
    asked = 0;
    if (turning) setImmediate(turn);
  };
  onTestFinished(() => {
    turning = false;
  });
  turn();
  await rig.start({
    pollMs: 60_000,
    clock: {
      ...systemClock,
      now: () => {
        asked += 1;
        return Date.now();
      },
    },
  });
  await until('all are looked at', () => {
    return rig.cluster.all('runnergroups').every((group) => JSON.stringify(group['status'] ?? '').includes('"Seen"'));
  });

  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(2 * APPLICATIONS);
});

it('serve shows its queue: what is due, and no secret of it', async () => {
  const rig = await startRig();
  let tellQueue = (): void => undefined;
  const onAskedForQueue = (tell: () => void): void => {
    tellQueue = tell;
  };
  const { log, probes } = await rig.start({ pollMs: 600_000, onAskedForQueue });
  const page = async () => await (await fetch(`http://127.0.0.1:${probes}/debug/queue`)).text();
  await until('a look is due again', async () => /^look +due in \d+/m.test(await page()));
  tellQueue();

  const text = await page();
  expect(text).toContain('This process leads.');
  expect(text).toMatch(/^reconcile .* all Applications$/m);
  expect(text).toMatch(/^ask .* argocd\/runners$/m);
  const logged = log.filter(({ message }) => message === 'queue');
  expect(logged.map(({ of }) => of)).toEqual(expect.arrayContaining(['look', 'ask', 'reconcile']));
  for (const secret of [TOKEN, SECRET]) expect(text + JSON.stringify(logged)).not.toContain(secret);
});

it('serve leaves nothing due when it cannot begin', async () => {
  const taken = await takenPort();
  const { clock, due } = countingClock(systemClock);
  const webhookSecretFile = join(folderWith({ secret: SECRET }), 'secret');
  const listen = { host: '127.0.0.1', port: taken };
  const cluster = { url: 'http://127.0.0.1:1' };

  const { end } = startQuietServe({ cluster, env: {}, clock, listen, webhookSecretFile });
  await expect(end()).rejects.toMatchObject({ code: 'GR-LISTEN-01' });
  expect(due.size).toBe(0);
});

it('serve with --once does what is to be done and ends', async () => {
  const rig = await startRig();
  rig.simulator.gitea.push('acme/web', linux);

  expect(await rig.once()).toEqual([]);
  expect(rig.cluster.all('jobs')).toHaveLength(1);
});

/** A port at which somebody listens until the test ends. */
async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}
