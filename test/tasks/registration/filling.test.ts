/** Law V55 (docs/spec.md): `serve --registration-secrets` keeps the registration tokens in Secrets as Gitea gives them. */

import { describe, expect, it, onTestFinished } from 'vitest';
import type { GiteaVersion } from '../../../simulator/gitea/versions.ts';
import { secretsClient } from '../../../src/clients/kubernetes/cluster-secrets.ts';
import { fillSecrets, REGISTRATION_MARK } from '../../../src/tasks/registration/filling.ts';
import { managedGroup } from '../../serve/managed-group.ts';
import { type Replica, type Rig, startRig, until } from '../../serve/rig.ts';
import { secretObject } from '../../support/kube-objects.ts';
import { SECRET as API_TOKEN, targetOf } from '../../support/looking.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { serve } from '../../support/server.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { TOKEN } from '../../support/start-acme.ts';
import { taskContext } from '../../support/task-context.ts';

const ACME = { kind: 'owner', owner: 'acme' } as const;
const SECRET = 'gitea-runner';
const KEY = 'token';
const POST = 'POST /api/v1/orgs/acme/actions/runners/registration-token';
const PATCH = `PATCH /api/v1/namespaces/runners/secrets/${SECRET}`;

type Keys = Readonly<Record<string, string>>;

/** A rig whose API token has these scopes. */
async function openRig(scopes: readonly string[] = ['write:organization'], version: GiteaVersion = '1.27.3') {
  const rig = await startRig('', { version });
  rig.simulator.gitea.addToken('anna', scopes, TOKEN);
  return rig;
}

function putSecret({ cluster }: Rig, keys: Keys, holder?: string): void {
  const annotations = holder === undefined ? {} : { [REGISTRATION_MARK]: JSON.stringify({ [KEY]: holder }) };
  cluster.put('secrets', { metadata: { namespace: 'runners', name: SECRET, annotations }, ...secretObject(keys) });
}

/** Returns the owner that the Secret's annotation names. */
function noteOf({ cluster }: Rig): string | undefined {
  const annotations = (cluster.all('secrets')[0]?.metadata['annotations'] ?? {}) as Keys;
  return JSON.parse(annotations[REGISTRATION_MARK] ?? '{}')[KEY];
}

/** Returns the keys of the Secret. Undefined: it does not exist. */
function secret({ cluster }: Rig): Keys | undefined {
  const [found] = cluster.all('secrets');
  if (!found) return undefined;
  const data = Object.entries((found['data'] ?? {}) as Keys);
  return Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

/** `serve`, whose clock can be put forward. */
async function startFilling(rig: Rig) {
  const clock = new SkippingClock();
  const replica = await rig.start({ registrationSecrets: [SECRET], clock });
  return { clock, replica };
}

const asked = ({ simulator }: Rig): number =>
  simulator.requests.filter(({ method, target }) => `${method} ${target}` === POST).length;
const written = ({ cluster }: Rig): number => cluster.writes.filter((write) => write === PATCH).length;
const failed = (replica: Replica) =>
  replica.log.filter(({ message }) => message === 'cannot fill a Secret with the registration token');
const eventsOf = ({ cluster }: Rig, reason: string) =>
  cluster.all('events').filter((event) => event['reason'] === reason);

function expectSilence(rig: Rig, replica: Replica): void {
  const told = JSON.stringify([replica.log, rig.cluster.all('runnergroups'), rig.cluster.all('events')]);
  for (const token of [TOKEN, rig.simulator.gitea.registrationToken(ACME)]) expect(told).not.toContain(token);
}

describe.each(['1.26.0', '1.27.3'] as const)('with Gitea %s', (version) => {
  it('an empty Secret gets the token and the Gitea that it is for, and is written once', async () => {
    const rig = await openRig(undefined, version);
    putSecret(rig, {});
    const { clock, replica } = await startFilling(rig);
    await until('the token', () => secret(rig)?.[KEY] !== undefined);

    expect(secret(rig)).toEqual({ [KEY]: rig.simulator.gitea.registrationToken(ACME), url: rig.simulator.url });
    await until('the Event', () => eventsOf(rig, 'RegistrationTokenWritten').length === 1);
    clock.leaveOut(301_000);
    await until('another question', () => asked(rig) === 2);
    expect(written(rig)).toBe(1);
    expect(await replica.metric('gitea_runners_registration_tokens_total')).toBe(1);
    expectSilence(rig, replica);
  });
});

it('a token that was replaced in Gitea is replaced within five minutes, and the other keys stay', async () => {
  const rig = await openRig();
  const { gitea } = rig.simulator;
  putSecret(rig, { [KEY]: gitea.registrationToken(ACME), url: `${rig.simulator.url}/`, mine: 'stays' });
  const { clock } = await startFilling(rig);
  await until('the first question', () => asked(rig) === 1);
  const next = gitea.resetRegistrationToken(ACME);
  expect(secret(rig)?.[KEY]).not.toBe(next);

  await until('the new token', async () => {
    // In steps: the first request may not be over.
    clock.leaveOut(100_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    return secret(rig)?.[KEY] === next;
  });

  expect(secret(rig)).toEqual({ [KEY]: next, url: `${rig.simulator.url}/`, mine: 'stays' });
});

it('a Secret that somebody else writes meanwhile is filled soon after', async () => {
  const rig = await openRig();
  putSecret(rig, {});
  rig.simulator.intercept(({ method }) => {
    if (method === 'POST' && asked(rig) === 1) putSecret(rig, { mine: 'stays' });
    return false;
  });
  const { clock } = await startFilling(rig);
  await until('the write that came too late', () => written(rig) === 1);
  expect(secret(rig)).toEqual({ mine: 'stays' });
  await new Promise((resolve) => setTimeout(resolve, 100));
  clock.leaveOut(20_000);

  await until('the token', () => secret(rig)?.[KEY] !== undefined);
  expect(secret(rig)).toMatchObject({ mine: 'stays' });
});

it('a Secret that does not exist is not made: Event and log say how, and it is filled once it is there', async () => {
  const rig = await openRig();
  const { clock, replica } = await startFilling(rig);
  await until('the failure', () => failed(replica).length === 1);
  expect(failed(replica)[0]).toMatchObject({
    code: 'GR-TOKEN-10',
    secret: 'runners/gitea-runner',
    groups: ['runners/ci'],
    error: expect.stringContaining('kubectl create secret generic gitea-runner --namespace runners'),
  });
  await until('the Event', () => eventsOf(rig, 'RegistrationTokenFailed').length === 1);
  expect([asked(rig), secret(rig)]).toEqual([0, undefined]);

  putSecret(rig, {});
  clock.leaveOut(16_000);

  await until('the token', () => secret(rig)?.[KEY] === rig.simulator.gitea.registrationToken(ACME));
});

it('an API token that may only read is told with the scope that is missing, rarely; a better one is used at once', async () => {
  const rig = await openRig(['read:organization']);
  putSecret(rig, {});
  const { clock, replica } = await startFilling(rig);
  await until('the failure', () => failed(replica).length === 1);
  expect(failed(replica)[0]).toMatchObject({
    code: 'GR-GITEA-02',
    error: expect.stringContaining('scope write:organization'),
  });
  clock.leaveOut(10_000);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(failed(replica)).toHaveLength(1);
  clock.leaveOut(7_000);
  await until('the second failure', () => failed(replica).length === 2);

  rig.simulator.gitea.addToken('anna', ['write:organization'], TOKEN);
  clock.leaveOut(31_000);

  await until('the token', () => secret(rig)?.[KEY] !== undefined);
  expectSilence(rig, replica);
});

it('the token of an organization that was renamed is noted under its new name, also once the spec has it', async () => {
  const rig = await openRig();
  const { gitea } = rig.simulator;
  const token = gitea.registrationToken(ACME);
  gitea.renameOwner('acme', 'acme-inc');
  putSecret(rig, { [KEY]: token }, `org:acme at ${rig.simulator.url}`);

  const { clock, replica } = await startFilling(rig);

  await until('the note', () => noteOf(rig) === `org:acme-inc at ${rig.simulator.url}`);
  expect([secret(rig)?.[KEY], failed(replica)]).toEqual([token, []]);

  // Somebody else takes the old name, and an administrator's token may see both.
  gitea.addOrg('acme', { owners: ['anna'] });

  const refused = () => failed(replica).filter(({ code }) => code === 'GR-TOKEN-11');
  await until('the failure', async () => {
    // In steps: the first request may not be over. Then its time ends, which is another failure.
    clock.leaveOut(100_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    return refused().length > 0;
  });
  expect(refused()[0]).toMatchObject({
    error: expect.stringContaining(`it holds the token of org:acme-inc at ${rig.simulator.url}, not of org:acme at`),
  });
  expect([secret(rig)?.[KEY], noteOf(rig)]).toEqual([token, `org:acme-inc at ${rig.simulator.url}`]);
});

/** A group whose spec `generate` has found wrong. */
function putBrokenGroup(rig: Rig): void {
  const { metadata } = managedGroup(rig.simulator.url);
  const annotations = { ...metadata.annotations, 'gitea.bpg.pw/problem': 'spec.sucpend: unknown field' };
  rig.cluster.put('runnergroups', { metadata: { ...metadata, name: 'broken', annotations }, spec: {} });
}

it.each<[string, string, (rig: Rig) => void, (rig: Rig) => void, asks?: number]>([
  [
    'a Secret of another Gitea',
    'its key url names another Gitea than',
    (rig) => putSecret(rig, { url: 'https://elsewhere.example.com' }),
    (rig) => putSecret(rig, {}),
  ],
  [
    'a key that holds the token of another scope',
    'it holds the token of org:evil at',
    (rig) => putSecret(rig, { [KEY]: 'of-evil' }, `org:evil at ${rig.simulator.url}`),
    (rig) => putSecret(rig, {}, `org:evil at ${rig.simulator.url}`),
    // Its own token could be there under another name of its scope.
    1,
  ],
  [
    'a key that may be of another scope, because a group is invalid,',
    'RunnerGroup broken of this namespace is not valid',
    (rig) => {
      putSecret(rig, { [KEY]: 'of-whom' });
      putBrokenGroup(rig);
    },
    (rig) => putSecret(rig, { [KEY]: 'old' }, `org:acme at ${rig.simulator.url}`),
  ],
])('%s is not written, until that is mended', async (_, why, prepare, mend, asks = 0) => {
  const rig = await openRig();
  prepare(rig);
  const before = secret(rig);
  const { clock, replica } = await startFilling(rig);
  await until('the failure', () => failed(replica).length === 1);
  expect(failed(replica)[0]).toMatchObject({ code: 'GR-TOKEN-11', error: expect.stringContaining(why) });
  expect([asked(rig), secret(rig)]).toEqual([asks, before]);

  mend(rig);
  clock.leaveOut(16_000);

  await until('the token', () => secret(rig)?.[KEY] === rig.simulator.gitea.registrationToken(ACME));
});

it('two groups of different scopes that share a key get nothing and are both told', async () => {
  const rig = await openRig(['write:organization', 'write:repository']);
  putSecret(rig, {});
  const other = managedGroup(rig.simulator.url, {
    scope: 'repo',
    repo: 'acme/web',
    org: undefined,
    registrationToken: { secretRef: { name: SECRET, key: KEY } },
  });
  rig.cluster.put('runnergroups', { ...other, metadata: { ...other.metadata, name: 'web' } });
  const { replica } = await startFilling(rig);
  await until('the failure', () => failed(replica).some(({ groups }) => (groups as string[]).length === 2));

  expect(failed(replica).at(-1)).toMatchObject({
    code: 'GR-TOKEN-11',
    groups: ['runners/ci', 'runners/web'],
    error: expect.stringContaining('org:acme at'),
  });
  await until('an Event for each', () => eventsOf(rig, 'RegistrationTokenFailed').length === 2);
  expect(secret(rig)).toEqual({});
});

it('a replica that does not lead writes nothing', async () => {
  const rig = await openRig();
  putSecret(rig, {});
  const lease = { namespace: 'argocd', name: 'gitea-runners-serve' };
  const first = await rig.start({ lease, identity: 'first' });
  await until('a leader', () => first.log.some(({ message }) => message === 'leading'));
  await rig.start({ lease, identity: 'second', registrationSecrets: [SECRET] });
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(secret(rig)).toEqual({});

  await first.end();

  await until('the token', () => secret(rig)?.[KEY] !== undefined);
});

it('a Gitea that never answers does not hold up the keys of another one', async () => {
  const { simulator, cluster } = await openRig();
  simulator.gitea.addToken('anna', ['write:organization'], API_TOKEN);
  const { origin: deaf } = await serve(() => undefined);
  const groups = ['a', 'b', 'c', 'deaf'].map((namespace) => {
    const giteaUrl = namespace === 'deaf' ? deaf : simulator.url;
    const group = runnerGroup({ namespace, registrationToken: { name: SECRET, key: KEY }, giteaUrl });
    cluster.put('secrets', { metadata: { namespace, name: SECRET }, data: {} });
    const live = { key: `${namespace}/ci`, object: { metadata: { name: 'ci', namespace, uid: namespace } }, group };
    return { live, group, target: targetOf(giteaUrl, undefined, namespace) };
  });
  const client = secretsClient(cluster.config);
  onTestFinished(() => client.close());
  const { context, told } = taskContext({
    secretsClient: client,
    cluster: { groups: () => groups.map(({ live }) => live) },
    targetOf: () => new Map(groups.map(({ group, target }) => [group, target])),
  });
  const hear = fillSecrets(new Set([SECRET]), 20_000)(context);
  hear({ is: 'reconciled', verdicts: [], skews: new Map() });

  await until(
    'all three keys',
    () => cluster.all('secrets').filter(({ data }) => KEY in (data as object)).length === 3,
  );
  // The fourth has not been given up yet.
  expect(told.filter((event) => event.is === 'registration-token' && event.failure)).toEqual([]);
});
