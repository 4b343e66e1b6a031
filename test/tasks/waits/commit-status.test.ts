/**
 * Tests commit statuses about why a CI job waits (law V88). `serve` between a simulated Gitea, a small cluster and a
 * small Argo CD, all real HTTP.
 */
import { expect, it } from 'vitest';
import { TRACKING_ID } from '../../../src/shared/marks.ts';
import { type Rig, startRig, until } from '../../serve/rig.ts';
import { refusing, TOKEN } from '../../support/start-acme.ts';

const BUILD = { jobs: [{ key: 'build', runsOn: ['linux'] }] };
const FIELD = '  commitStatusAfterSeconds: 1';

/** @param scopes of the API token besides what looks need */
async function suspendedRig(spec = FIELD, scopes: readonly string[] = ['write:repository']): Promise<Rig> {
  const rig = await startRig(`${spec}\n  suspend: true`);
  rig.simulator.gitea.addToken('anna', ['read:organization', ...scopes], TOKEN);
  return rig;
}

function statuses({ simulator }: Rig) {
  return simulator.gitea.state.commitStatuses;
}

function contexts(rig: Rig): readonly string[] {
  return statuses(rig).map(({ context }) => context);
}

/** Starts with a job whose status says why it waits. */
async function waiting(key = 'build') {
  const rig = await suspendedRig();
  const { run } = rig.simulator.gitea.push('acme/web', { jobs: [{ key, runsOn: ['linux'] }] });
  const replica = await rig.start();
  await until('it is said why', () => statuses(rig).length === 1);
  return { rig, replica, run };
}

/** Changes the group as a sync does. */
function change({ cluster }: Rig, spec: Readonly<Record<string, unknown>>): void {
  const [group] = cluster.all('runnergroups');
  if (!group) throw new Error('no group');
  const generation = Number(group.metadata['generation']) + 1;
  cluster.put('runnergroups', {
    ...group,
    metadata: { ...group.metadata, generation },
    spec: { ...(group['spec'] as object), ...spec },
  });
}

/** Puts a group into another namespace, which serves the same jobs. @param application that its annotation names; `forged`: Argo CD does not list it there */
function neighbour({ cluster, lists }: Rig, application: string, spec: Readonly<Record<string, unknown>>): void {
  const [group] = cluster.all('runnergroups');
  if (!group) throw new Error('no group');
  if (application !== 'forged') lists.push({ namespace: 'zz', name: 'ci' });
  const annotations = { [TRACKING_ID]: `${application}:gitea.bpg.pw/RunnerGroup:zz/ci` };
  const metadata = { ...group.metadata, namespace: 'zz', uid: 'zz', annotations };
  cluster.put('runnergroups', { ...group, metadata, spec: { ...(group['spec'] as object), ...spec } });
}

async function looksMore(replica: Awaited<ReturnType<Rig['start']>>): Promise<void> {
  const looks = await replica.metric('gitea_runners_looks_total');
  await until('more looks', async () => (await replica.metric('gitea_runners_looks_total')) > looks + 20);
}

it('a commit status says why a job waits, where it leads, and that it has its runner', async () => {
  const { replica, rig, run } = await waiting();
  const { gitea } = rig.simulator;
  expect(statuses(rig)[0]).toMatchObject({
    sha: run.sha,
    state: 'success',
    context: 'runner / build',
    description: 'held back: group runners/ci is suspended',
    targetUrl: expect.stringMatching(/\/acme\/web\/actions\/runs\/1\/jobs\//),
  });

  const name = 'ci-1-1-00000000';
  const scope = { kind: 'owner', owner: 'acme' } as const;
  gitea.poll(gitea.register({ name, labels: ['linux'], scope, ephemeral: true }).id);
  expect(gitea.job(1).status).toBe('running');
  await until('it is said that it waits no more', () => statuses(rig).length === 2);

  expect(statuses(rig)[1]).toMatchObject({ sha: run.sha, state: 'success', context: 'runner / build' });
  expect(statuses(rig)[1]?.description).toMatch(/^(?:has a runner, after \d+s|waits no more)$/);
  expect(await replica.metric('gitea_runners_commit_statuses_total')).toBe(2);
});

it('a commit status changes no word before two minutes, and ends at once when its job is cancelled', async () => {
  const { rig } = await waiting();
  change(rig, { suspend: false, maxActiveRunners: 0 });
  await until('the group is planned so', () => rig.conditions()['Ready'] === 'True Serving');

  rig.simulator.gitea.cancelRun(1);
  await until('it is said that it is over', () => statuses(rig).length > 1);

  expect(statuses(rig).map(({ description }) => description)).toEqual([
    'held back: group runners/ci is suspended',
    'waits no more',
  ]);
});

it('a commit status is one line of printable characters, however a job is called', async () => {
  const { rig } = await waiting(`\u001b[2J\u202e${'x'.repeat(5_000)}`);

  expect(statuses(rig)[0]?.context).toMatch(/^runner \/ [\x20-\x7e]{1,100}$/);
});

it("a commit status never has the context of Gitea's own", async () => {
  const { rig } = await waiting('build (push)');

  expect(statuses(rig)[0]?.context).toBe('runner / build (push) (runner)');
});

it('a commit status does not say that a job waits no more while Gitea hides its jobs', async () => {
  const { replica, rig } = await waiting();
  rig.simulator.intercept(refusing(/\/orgs\/acme\/actions\/jobs/, 500));
  await until('bad news', () => rig.conditions()['GiteaReachable'] === 'False ServerError');
  const looks = await replica.metric('gitea_runners_looks_total');
  // Later and later: long enough for a word.
  await until('more looks that fail', async () => (await replica.metric('gitea_runners_looks_total')) > looks + 4);
  expect(statuses(rig)).toHaveLength(1);
  rig.simulator.intercept();
  await until('good news', () => rig.conditions()['Ready'] === 'True Suspended');

  expect(statuses(rig)).toHaveLength(1);
});

it('a commit status names no other repository, although the place in question is for its job', async () => {
  const rig = await startRig(`${FIELD}\n  fairness: per-repository\n  maxActiveRunners: 1`);
  const { gitea } = rig.simulator;
  gitea.addToken('anna', ['read:organization', 'write:repository'], TOKEN);
  for (const name of ['acme/other', 'acme/canary']) {
    gitea.addRepo(name, { private: true });
    gitea.push(name, BUILD);
  }
  gitea.push('acme/web', BUILD);
  await rig.start();
  const ofWeb = () => statuses(rig).filter(({ targetUrl }) => targetUrl.includes('/acme/web/'));
  await until('it is said why', () => ofWeb().length > 0);

  expect(ofWeb()[0]?.description).toMatch(/^held back by the cap of group runners\/ci; \d\w\w in line/);
  expect(JSON.stringify(ofWeb())).not.toContain('canary');
});

it('a commit status is one of 200 at most, by turns of the namespaces: the others wait in silence', async () => {
  const rig = await suspendedRig();
  const jobs = Array.from({ length: 260 }, (_, nth) => ({ key: `build-${nth}`, runsOn: ['linux'] }));
  rig.simulator.gitea.push('acme/web', { jobs });
  const last = rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'last', runsOn: ['gpu'] }] });
  neighbour(rig, 'runners', { labels: ['gpu:host'] });
  const replica = await rig.start();
  const waiting = async (): Promise<number> => {
    const page = await (await fetch(`http://127.0.0.1:${replica.probes}/debug/queue`)).text();
    return page.match(/^commit-status /gm)?.length ?? 0;
  };
  await until('they are to be said', async () => (await waiting()) > 0);

  const left = (await waiting()) + statuses(rig).length;
  expect(left).toBeGreaterThan(190);
  // A status that is being written may be counted twice.
  expect(left).toBeLessThanOrEqual(201);
  await until('the job of another namespace is among them', () =>
    statuses(rig).some(({ sha }) => sha === last.run.sha),
  );
});

it('a commit status is not set by a group that Argo CD does not list', async () => {
  const rig = await suspendedRig();
  neighbour(rig, 'forged', { labels: ['gpu:host'] });
  rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'its', runsOn: ['gpu'] }, ...BUILD.jobs] });
  await rig.start();
  await until('it is said why the other one waits', () => contexts(rig).includes('runner / build'));

  expect(contexts(rig)).toEqual(['runner / build']);
});

it.each([1, 86_400])('a commit status has the words of one Application: another has its own after %i s', async (s) => {
  const rig = await suspendedRig();
  neighbour(rig, 'zz', { commitStatusAfterSeconds: s, suspend: false, maxActiveRunners: 0 });
  rig.simulator.gitea.push('acme/web', BUILD);
  await rig.start();
  await until('it is said why', () => statuses(rig).length > 0);
  // One after the other.
  rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'last', runsOn: ['linux'] }] });
  await until('it is said why the next one waits', () => contexts(rig).includes('runner / last'));

  expect(contexts(rig)).toEqual(['runner / build', 'runner / last']);
});

it('a commit status is not set for a group that does not ask for it, nor before its time', async () => {
  const rig = await suspendedRig('  commitStatusAfterSeconds: 3600');
  rig.simulator.gitea.push('acme/web', BUILD);
  await looksMore(await rig.start());

  expect(statuses(rig)).toEqual([]);
});

it('a commit status that the token may not set is told once, without the token, and the looks go on', async () => {
  const rig = await suspendedRig(FIELD, []);
  rig.simulator.gitea.push('acme/web', BUILD);
  const replica = await rig.start();
  const told = () => replica.log.filter(({ message }) => String(message).startsWith('cannot say beside a commit'));
  await until('it is told', () => told().length > 0);
  await looksMore(replica);

  expect(told()).toHaveLength(1);
  expect(JSON.stringify(told())).toContain('write:repository');
  expect(JSON.stringify(replica.log)).not.toContain(TOKEN);
  expect(statuses(rig)).toEqual([]);
  expect(rig.conditions()['Ready']).toBe('True Suspended');
});
