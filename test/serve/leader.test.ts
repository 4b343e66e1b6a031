/** Changes that the leader must not miss. Its tick every 5 s is off here: it would hide a missed one. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { ServerClocks } from '../../src/clients/http/server-clocks.ts';
import { type LeaderOptions, startLeader } from '../../src/serve/leader.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { managedGroup } from './managed-group.ts';
import { startRig, until } from './rig.ts';

// Without the tick.
vi.mock('../../src/serve/planning/reconcile.ts', async (original) => ({
  ...(await original<object>()),
  TICK_MS: 600_000,
}));

it('plays another reconcile for a change that came during a reconcile', async () => {
  let reconciles = 0;
  const cluster = {
    fresh: true,
    readAhead: async () => undefined,
    groups: () => {
      reconciles += 1;
      if (reconciles === 1) queueMicrotask(() => leader.changed());
      return [];
    },
    runners: () => [],
    statusOf: () => undefined,
    hasPod: () => false,
    podsAlive: () => new Map(),
    endToldBy: () => undefined,
    mayRead: () => true,
  };
  const client = { clock: systemClock, origin: 'https://kubernetes' };
  const options = {
    cluster,
    client,
    giteaRequests: 1200,
    clocks: new ServerClocks(),
    pollMs: 60_000,
    timeoutMs: 5_000,
    env: {},
    secretsDir: '/nowhere',
    wakes: 4,
    tasks: [],
    clock: systemClock,
    random: () => 0.5,
    tell: () => undefined,
  };
  const leader = startLeader(options as unknown as LeaderOptions);
  const ending = new AbortController();
  const led = leader.run(ending.signal);
  onTestFinished(async () => {
    ending.abort();
    await led;
  });

  await until('the reconcile for the change', () => reconciles === 2);
});

it('looks at Gitea when somebody asks by annotation, and once for each new value', async () => {
  const rig = await startRig();
  const replica = await rig.start({ pollMs: 600_000 });
  const looks = () => replica.metric('gitea_runners_looks_total');
  await until('the first look', async () => (await looks()) === 1);
  // A value that stands there when the leader begins is not new.
  await until('the leader has judged it', () => rig.conditions()['Ready'] !== undefined);
  const ask = (value: string): void => rig.annotate({ 'gitea.bpg.pw/look-now': value });

  ask('2026-11-25T12:00:00Z');
  await until('another look', async () => (await looks()) === 2);
  ask('2026-11-25T12:00:00Z');
  ask('2026-11-25T12:00:01Z');
  await until('a third look', async () => (await looks()) === 3);
});

it('a leader asks Argo CD for another shard as soon as there is one more', async () => {
  const rig = await startRig();
  const tracking = 'runners-0:gitea.bpg.pw/RunnerGroup:runners/ci';
  rig.annotate({ 'argocd.argoproj.io/tracking-id': tracking, 'gitea.bpg.pw/shards': '2' });
  await rig.start({ pollMs: 600_000 });
  const asked = (name: string): boolean => rig.argocd.lines().some((line) => line.includes(`/applications/${name}`));
  await until('the second one is asked for', () => asked('runners-1'));

  rig.annotate({ 'argocd.argoproj.io/tracking-id': tracking, 'gitea.bpg.pw/shards': '3' });

  await until('the third one is asked for', () => asked('runners-2'));
});

it('a leader starts runners for an Application that a group of others names, and reads of it in that group (law V212)', async () => {
  const rig = await startRig();
  const { metadata, ...more } = managedGroup(rig.simulator.url, {
    labels: ['linux:host'],
    limits: [{ name: 'a', max: 1 }],
  });
  const annotations = {
    'argocd.argoproj.io/tracking-id': 'runners:gitea.bpg.pw/RunnerGroup:team-b/evil',
    'gitea.bpg.pw/shards': '100',
  };
  rig.cluster.put('runnergroups', {
    ...more,
    metadata: { ...metadata, namespace: 'team-b', name: 'evil', annotations },
  });
  await rig.start({ pollMs: 600_000, namespaces: ['runners', 'team-b'] });
  rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });

  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  const foreign = () => JSON.stringify(rig.cluster.all('runnergroups')).match(/"ForeignApplication"/g);
  await until('the status of the other group says so', () => foreign()?.length === 2);
  expect(rig.conditions()['ArgoCDSynced']).toBe('True Synced');
});

it('a leader starts nothing for a group that is suspended by annotation, and says since when', async () => {
  const rig = await startRig();
  rig.annotate({ 'gitea.bpg.pw/suspended': 'since noon' });
  rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });

  await rig.start({ pollMs: 600_000 });
  await until('the group is suspended', () => rig.conditions()['Ready'] === 'True Suspended');
  expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain('not in git: since noon');
  expect(rig.syncs()).toBe(0);
  rig.annotate({ 'gitea.bpg.pw/suspended': undefined });

  await until('a Job', () => rig.cluster.all('jobs').length === 1);
});

it('looks at Gitea when a runner has ended', async () => {
  const rig = await startRig();
  rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const replica = await rig.start({ pollMs: 600_000 });
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  const [job] = rig.cluster.all('jobs');
  const looks = await replica.metric('gitea_runners_looks_total');
  if (!job) throw new Error('no Job');
  const condition = { type: 'Complete', status: 'True', lastTransitionTime: new Date().toISOString() };
  rig.cluster.put('jobs', { ...job, status: { succeeded: 1, conditions: [condition] } });

  await until('another look', async () => (await replica.metric('gitea_runners_looks_total')) > looks);
});

it('a leader counts no runner that had ended before it led', async () => {
  const rig = await startRig();
  rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const first = await rig.start({ pollMs: 600_000 });
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  const [job] = rig.cluster.all('jobs');
  if (!job) throw new Error('no Job');
  const condition = {
    type: 'Complete',
    status: 'True',
    lastTransitionTime: new Date(Date.now() + 60_000).toISOString(),
  };
  const completionTime = condition.lastTransitionTime;
  rig.cluster.put('jobs', { ...job, status: { succeeded: 1, completionTime, conditions: [condition] } });
  const seconds = (replica: typeof first) => replica.metric('gitea_runners_runner_seconds_total');
  await until('its end is counted', async () => (await seconds(first)) > 0);
  await first.end();

  const next = await rig.start({ pollMs: 600_000 });
  await until('the next leader has judged all', () => next.log.some(({ message }) => message === 'leading'));
  await until('it has looked', async () => (await next.metric('gitea_runners_looks_total')) > 0);
  rig.cluster.put('jobs', { ...job, metadata: { ...job.metadata, name: 'another' } });
  await until('it sees the cluster', async () => (await next.metric('gitea_runners_runners')) > 0);

  expect(await seconds(next)).toBe(0);
});
