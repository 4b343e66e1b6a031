/** Laws V117 to V120 and T17 (docs/spec.md): `serve` registers runners ahead, and gives their Jobs the credentials. */
import { expect, it } from 'vitest';
import { CREDENTIALS_TYPE, REGISTERED_AT } from '../../../src/shared/marks.ts';
import { type Replica, type Rig, startRig, until } from '../../serve/rig.ts';
import { TOKEN } from '../../support/start-acme.ts';

const ACME = { kind: 'owner', owner: 'acme' } as const;
const REGISTER = '/api/actions/runner.v1.RunnerService/Register';
const SPEC = '  registration: {by: serve}\n';

async function openRig(spec = SPEC): Promise<Rig> {
  const rig = await startRig(spec);
  rig.simulator.gitea.addToken('anna', ['write:organization', 'write:repository'], TOKEN);
  return rig;
}

function push({ simulator }: Rig, repository = 'acme/web'): void {
  simulator.gitea.push(repository, { jobs: [{ key: 'build', runsOn: ['linux'] }] });
}

const registered = ({ simulator }: Rig): number =>
  simulator.requests.filter(({ target }) => target === REGISTER).length;
const rows = ({ simulator }: Rig) => [...simulator.gitea.state.runners.values()].filter(({ deleted }) => !deleted);
const secrets = ({ cluster }: Rig) => cluster.all('secrets');
const fileIn = (secret: object): Readonly<Record<string, unknown>> => {
  const { data } = secret as { readonly data: Readonly<Record<string, string>> };
  return JSON.parse(Buffer.from(data['.runner'] ?? '', 'base64').toString());
};

/** Expects that nothing but the Secret has a token or the id that goes with it. */
async function expectSilence(rig: Rig, replica: Replica): Promise<void> {
  const { cluster, simulator } = rig;
  const pages = [`http://127.0.0.1:${replica.metrics}/metrics`, `http://127.0.0.1:${replica.probes}/debug/queue`].map(
    async (url) => await (await fetch(url)).text(),
  );
  const others = (['runnergroups', 'jobs', 'events', 'leases'] as const).map((kind) => cluster.all(kind));
  const told = JSON.stringify([replica.log, others, cluster.writes, simulator.requests, await Promise.all(pages)]);
  const files = secrets(rig).map(fileIn);
  const hunted = [TOKEN, simulator.gitea.registrationToken(ACME), ...files.flatMap(({ token, uuid }) => [token, uuid])];
  for (const secret of hunted) expect(told).not.toContain(String(secret));
}

/** Returns name and uid of the only Job. */
function onlyJob({ cluster }: Rig): Readonly<Record<'name' | 'uid', string>> {
  const [job] = cluster.all('jobs');
  if (!job) throw new Error('there is no Job');
  return job.metadata as unknown as Readonly<Record<'name' | 'uid', string>>;
}

const hasSecret = (rig: Rig) => until('a Secret', () => secrets(rig).length === 1);

it('a runner is registered before its Job is there, and its Job gets the credentials', async () => {
  const rig = await openRig();
  const replica = await rig.start();
  push(rig);
  await hasSecret(rig);

  const { name, uid } = onlyJob(rig);
  const [row] = rows(rig);
  expect(rig.cluster.all('jobs')[0]?.metadata['annotations']).toMatchObject({ [REGISTERED_AT]: 'org:acme' });
  expect(row).toMatchObject({ name, scope: ACME, labels: ['linux'], ephemeral: true });
  expect(secrets(rig)[0]).toMatchObject({
    type: CREDENTIALS_TYPE,
    immutable: true,
    metadata: { name, namespace: 'runners', ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid }] },
  });
  expect(secrets(rig).map(fileIn)).toMatchObject([{ id: row?.id, name, address: rig.simulator.url, ephemeral: true }]);
  const secretWrites = rig.cluster.writes.filter((write) => write.includes('/secrets'));
  expect([registered(rig), rows(rig).length, secretWrites]).toEqual([
    1,
    1,
    ['POST /api/v1/namespaces/runners/secrets'],
  ]);
  expect(await replica.metric('gitea_runners_registrations_total')).toBe(2);
  await expectSilence(rig, replica);
});

it('a Job without credentials gets them from the leader that finds it, and one that has some keeps them', async () => {
  const rig = await openRig();
  const first = await rig.start();
  push(rig);
  await hasSecret(rig);
  await first.end();
  const { name } = onlyJob(rig);
  const [before] = secrets(rig).map(fileIn);

  const second = await rig.start();
  await until('a look for the Secret', () => rig.cluster.writes.at(-1)?.includes('dry run') === true);
  expect([registered(rig), secrets(rig).map(fileIn)]).toEqual([1, [before]]);
  await second.end();
  rig.cluster.remove('secrets', 'runners', name);
  const third = await rig.start();
  await hasSecret(rig);

  const [after] = secrets(rig).map(fileIn);
  expect(registered(rig)).toBe(2);
  expect(after?.['id']).not.toBe(before?.['id']);
  await expectSilence(rig, third);
});

it('a Secret that somebody deletes while the pod starts is created again', async () => {
  const rig = await openRig();
  await rig.start();
  push(rig);
  await hasSecret(rig);

  rig.cluster.remove('secrets', 'runners', onlyJob(rig).name);

  await hasSecret(rig);
  expect(registered(rig)).toBe(2);
});

it('credentials of somebody else are left alone', async () => {
  const rig = await openRig();
  const theirs = { data: { '.runner': 'e30=' } };
  rig.simulator.intercept(({ url }) => {
    // Another leader was faster.
    const [job] = rig.cluster.all('jobs');
    if (url === REGISTER && job && registered(rig) === 2)
      rig.cluster.put('secrets', { metadata: { ...job.metadata }, ...theirs });
    return false;
  });
  const replica = await rig.start();
  push(rig);
  await hasSecret(rig);
  rig.cluster.remove('secrets', 'runners', onlyJob(rig).name);

  await until('another one', () => registered(rig) === 2);
  await until('a try', () => rig.cluster.writes.filter((write) => write.endsWith('/secrets')).length === 2);
  expect(secrets(rig)).toMatchObject([theirs]);
  await expectSilence(rig, replica);
});

it('Gitea that refuses is told in status, Event, log and metric, and asked again', async () => {
  const rig = await openRig();
  let isRefusing = true;
  rig.simulator.intercept((request, response) => {
    if (request.url !== REGISTER || !isRefusing) return false;
    response.writeHead(500, { 'content-type': 'application/json' });
    response.end('{"code":"unknown","message":"runner registration token not found"}');
    return true;
  });
  const replica = await rig.start();
  push(rig);
  await until('the status', () => rig.conditions()['Ready'] === 'False RegistrationFailed');

  expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain(
    'Jobs wait for the credentials of their runners: GR-GITEA-',
  );
  await until('the Event', () => rig.cluster.all('events').some((event) => event['reason'] === 'RegistrationFailed'));
  expect(replica.log).toContainEqual(expect.objectContaining({ message: 'cannot register a runner' }));
  await expectSilence(rig, replica);
  isRefusing = false;
  await hasSecret(rig);
  await until('the status', () => rig.conditions()['Ready'] === 'True Serving');
});

it('a repository that gives no token is named, its jobs alone wait, and the group is ready', async () => {
  const rig = await openRig('  registration: {by: serve, for: repository}\n');
  let isRefusing = true;
  rig.simulator.gitea.addRepo('acme/api');
  rig.simulator.intercept(({ url = '' }, response) => {
    if (!isRefusing || !url.includes('/repos/acme/web/actions/runners/registration-token')) return false;
    response.writeHead(403, { 'content-type': 'application/json' });
    response.end('{"message":"token may not"}');
    return true;
  });
  await rig.start();
  push(rig, 'acme/web');
  push(rig, 'acme/api');
  await hasSecret(rig);
  await until('the condition', () => rig.conditions()['Registered'] === 'False RegistrationFailed');

  const [group] = rig.cluster.all('runnergroups');
  expect(rig.conditions()['Ready']).toBe('True Serving');
  expect(JSON.stringify(group)).toContain(
    'Jobs of 1 of 2 repositories wait for the credentials of their runners: repo:acme/web: GR-GITEA-',
  );
  expect(group).toMatchObject({
    status: { unregistered: [{ at: 'repo:acme/web', message: expect.stringMatching(/^GR-GITEA-\d+ /) }] },
  });
  isRefusing = false;
  await until('both', () => secrets(rig).length === 2);
  await until('no condition', () => rig.conditions()['Registered'] === undefined);
  expect(rig.cluster.all('runnergroups')).toMatchObject([{ status: { unregistered: [] } }]);
});

it('a cluster that refuses the Secret is told as that, with what to apply', async () => {
  const rig = await openRig();
  const allow = rig.cluster.refuse('secrets');
  const replica = await rig.start();
  push(rig);
  await until('the status', () => rig.conditions()['Ready'] === 'False RegistrationFailed');
  expect(JSON.stringify(rig.cluster.all('runnergroups'))).toMatch(/GR-REG-01 .*install\/runner-credentials.yaml/);
  allow();

  await hasSecret(rig);
  // The credentials were kept: they were not sent in vain.
  expect(registered(rig)).toBe(1);
  await expectSilence(rig, replica);
});

it('a runner whose Job names a level that its group does not give is not registered', async () => {
  const rig = await openRig();
  const first = await rig.start();
  push(rig);
  await hasSecret(rig);
  await first.end();
  const [job] = rig.cluster.all('jobs');
  const annotations = { ...(job?.metadata['annotations'] as object), [REGISTERED_AT]: 'org:other' };
  rig.cluster.put('jobs', {
    ...job,
    metadata: { namespace: 'runners', ...onlyJob(rig), ...job?.metadata, annotations },
  });
  rig.cluster.remove('secrets', 'runners', onlyJob(rig).name);

  await rig.start();

  await until('the status', () => rig.conditions()['Ready'] === 'False RegistrationFailed');
  expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain('GR-REG-02');
  expect([registered(rig), secrets(rig)]).toEqual([1, []]);
});
