/**
 * Tests what a person may see, question by question: Gitea is a table of answers here, and time stands still. In a
 * browser: page.test.ts.
 */
import { expect, it } from 'vitest';
import { Deadline, type HttpAnswer, type HttpRequest } from '../../src/clients/http/request.ts';
import { GiteaIsDown, NotSignedIn, QUEUES, readerRights } from '../../src/page/rights.ts';
import { Failure } from '../../src/shared/failure.ts';
import type { Scope } from '../../src/shared/scope.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const URL_OF_GITEA = 'https://gitea.example.com';
const ANNA = { id: 7, login: 'anna' };
const ADMIN = { id: 1, login: 'carl', is_admin: true };
const NO_ANSWER = new Failure('GR-HTTP-09', 1, 'no answer');

type Answer = number | readonly [status: number, body: unknown] | Failure;

/** A Gitea that answers by path, 404 else. */
async function start(answers: Record<string, Answer>) {
  const clock = new VirtualClock();
  // A cache treats entries of moment 0 as endless.
  await clock.pass(1);
  const asked: string[] = [];
  const queues = new Set<string>();
  const gate: { hold?: Promise<void> } = {};
  let most = 0;
  let open = 0;
  const send = async (request: HttpRequest, queue: string, deadline: Deadline): Promise<HttpAnswer> => {
    expect(deadline).toBeInstanceOf(Deadline);
    expect(request.once).toBe(true);
    const path = request.url.pathname.replace('/api/v1', '') + request.url.search;
    asked.push(path);
    queues.add(queue);
    open += 1;
    most = Math.max(most, open);
    await (gate.hold ?? Promise.resolve());
    open -= 1;
    const found = answers[path] ?? 404;
    if (found instanceof Failure) throw found;
    const [status, body] = typeof found === 'number' ? [found, {}] : found;
    return { status, mediaType: 'application/json', text: JSON.stringify(body), header: () => undefined };
  };
  const rights = readerRights(URL_OF_GITEA, { send }, clock);
  const read = async (
    repositories: readonly string[],
    scopes: Record<string, Scope> = {},
    visitor = { token: 'pat' },
  ) => await rights.readerOf(visitor, { repositories: new Set(repositories), scopes: new Map(Object.entries(scopes)) });
  return { answers, asked, clock, gate, most: () => most, queues, read, rights };
}

const tasks = (repository: string): string => `/repos/${repository}/actions/tasks?limit=1`;
const SIGNED_IN = { token: 'pat', login: 'anna' };

it.each<[string, Answer, typeof NotSignedIn | typeof GiteaIsDown]>([
  ['Gitea does not know it', 401, NotSignedIn],
  ['it may not say whose it is', 403, NotSignedIn],
  ['Gitea fails', 500, GiteaIsDown],
  ['Gitea does not answer', NO_ANSWER, GiteaIsDown],
  ['the answer is no user', [200, { id: 7 }], GiteaIsDown],
  ['the user has no name', [200, { id: 7, login: '' }], GiteaIsDown],
  ['the user has a name of 101 characters', [200, { id: 7, login: 'x'.repeat(101) }], GiteaIsDown],
  ['the answer says nothing, under another status', [404, ANNA], GiteaIsDown],
])('the owner of a token is not known when %s', async (_, answer, error) => {
  const { rights } = await start({ '/user': answer });

  await expect(rights.whoIs('pat', 'signIn')).rejects.toBeInstanceOf(error);
  expect(rights.loginOf('pat')).toBeUndefined();
});

it.each(['', 'a b', 'a\n', 'ü', 'x'.repeat(2_049)])(
  'the owner of a token is not asked of Gitea for what is no token: %j',
  async (text) => {
    const { asked, rights } = await start({ '/user': [200, ANNA] });

    await expect(rights.whoIs(text, 'signIn')).rejects.toBeInstanceOf(NotSignedIn);
    expect(asked).toEqual([]);
  },
);

it('the owner of a token is asked once in two minutes, and told for four when Gitea says nothing', async () => {
  const { answers, asked, clock, queues, rights } = await start({ '/user': [200, ANNA] });
  const person = { login: 'anna', isAdmin: false, id: '7' };

  expect(await Promise.all([rights.whoIs('pat', 'signIn'), rights.whoIs('pat', 'signIn')])).toEqual([person, person]);
  await clock.pass(119_999);
  await rights.whoIs('pat', 'signIn');
  expect([asked, [...queues], rights.loginOf('pat')]).toEqual([['/user'], [QUEUES.signIn], 'anna']);

  answers['/user'] = 500;
  await clock.pass(1);
  expect(await rights.whoIs('pat', 'signIn')).toEqual(person);
  answers['/user'] = 403;
  expect(await rights.whoIs('pat', 'signIn')).toEqual(person);
  expect(asked).toHaveLength(3);
  await clock.pass(120_001);
  await expect(rights.whoIs('pat', 'signIn')).rejects.toBeInstanceOf(NotSignedIn);
});

it('the owner of a token is remembered for 5,000 tokens', async () => {
  const { rights } = await start({ '/user': [200, { id: 7, login: 'a' }] });
  for (let index = 0; index < 5_001; index += 1) await rights.whoIs(`pat${index}`, 'strangers');

  expect([0, 1, 5_000].map((index) => rights.loginOf(`pat${index}`))).toEqual([undefined, 'a', 'a']);
});

it('the owner of a token is asked by one visit of the token after the other', async () => {
  const { clock, gate, most, rights } = await start({ '/user': 500 });
  const held = (ms: number): void => {
    gate.hold = new Promise((done) => clock.after(ms, done));
  };
  held(10);
  const first = rights.whoIs('pat', 'signIn').catch(() => undefined);
  const second = rights.whoIs('pat', 'signIn').catch(() => undefined);
  await clock.pass(1);
  held(20);
  // The first has ended, the second is under way.
  await clock.pass(10);
  const third = rights.whoIs('pat', 'signIn').catch(() => undefined);
  await clock.pass(100);
  await Promise.all([first, second, third]);

  expect(most()).toBe(1);
});

it('the owner of a token is forgotten when Gitea does not know the token any more', async () => {
  const { answers, clock, rights } = await start({ '/user': [200, ANNA] });
  await rights.whoIs('x'.repeat(2_048), 'strangers');
  await rights.whoIs('pat', 'strangers');
  answers['/user'] = 401;
  await clock.pass(120_000);

  await expect(rights.whoIs('pat', 'strangers')).rejects.toBeInstanceOf(NotSignedIn);
  expect(rights.loginOf('pat')).toBeUndefined();
});

it.each<[Answer, mayRead: boolean, unknown: number]>([
  [200, true, 0],
  [403, false, 0],
  [404, false, 0],
  [500, false, 1],
  [NO_ANSWER, false, 1],
])('jobs of a repository may be read after the answer %s: %s', async (answer, mayRead, unknown) => {
  const { asked, read } = await start({ '/user': [200, ANNA], [tasks('Acme/Web')]: answer });

  const reader = await read(['Acme/Web', 'acme', 'acme/web/x', 'acme/..']);

  expect(reader).toMatchObject({ login: 'anna', isAdmin: false });
  expect([reader.mayRead('acme/WEB'), reader.mayRead('acme/other'), reader.mayRead('acme')]).toEqual([
    mayRead,
    false,
    false,
  ]);
  // No repository has the other three names: Gitea is not asked, and says nothing of them.
  expect(reader.unknown).toBe(unknown + 3);
  expect(asked).toEqual(['/user', tasks('Acme/Web')]);
});

it('jobs of a repository are not shown to a site administrator whose token may not read them', async () => {
  const { read } = await start({ '/user': [200, ADMIN], '/user/orgs?limit=1': 200, [tasks('acme/web')]: 403 });

  const reader = await read(['acme/web']);

  expect([reader.isAdmin, reader.mayRead('acme/web')]).toEqual([true, false]);
});

it('jobs of a repository are asked again after two minutes, and forgotten after four', async () => {
  const { answers, asked, clock, queues, read } = await start({ '/user': [200, ANNA], [tasks('acme/web')]: 200 });
  await read(['acme/web']);
  await clock.pass(119_999);
  const before = await read(['acme/web']);
  expect([before.mayRead('acme/web'), asked.length, [...queues]]).toEqual([true, 2, [QUEUES.rights]]);

  answers[tasks('acme/web')] = 500;
  await clock.pass(1);
  expect((await read(['acme/web'])).mayRead('acme/web')).toBe(true);
  await clock.pass(120_001);
  const late = await read(['acme/web']);
  expect([late.mayRead('acme/web'), late.unknown, late.rights === before.rights]).toEqual([false, 1, false]);
});

it('jobs of a repository are those of the token, unless its person has signed in', async () => {
  const { asked, read } = await start({ '/user': [200, ANNA], [tasks('acme/web')]: 200 });
  await read(['acme/web'], {}, SIGNED_IN);
  await read(['acme/web'], {}, { ...SIGNED_IN, token: 'of-another-session' });
  expect(asked.filter((path) => path !== '/user')).toHaveLength(1);

  await read(['acme/web']);
  await read(['acme/web'], {}, { token: 'for-less' });
  expect(asked.filter((path) => path !== '/user')).toHaveLength(3);
});

it('jobs of a repository ask eight questions at once, and 300 in one visit', async () => {
  const { asked, most, read } = await start({ '/user': [200, ANNA] });
  const many = Array.from({ length: 302 }, (_, index) => `acme/r${index}`);

  const first = await read(many);
  expect([asked.length - 1, most(), first.unknown]).toEqual([300, 8, 2]);
  expect((await read(many)).unknown).toBe(0);
  expect(asked.length - 1).toBe(302);
});

it('jobs of a repository ask on for five seconds', async () => {
  const { asked, clock, gate, read } = await start({ '/user': [200, ANNA] });
  await read([]);
  gate.hold = new Promise((done) => clock.after(5_000, done));
  const reading = read(Array.from({ length: 20 }, (_, index) => `acme/r${index}`));
  await clock.pass(5_000);

  expect((await reading).unknown).toBe(12);
  expect(asked).toHaveLength(1 + 8);
});

it('jobs of a repository end the visit when Gitea does not know the token any more', async () => {
  const { read, rights } = await start({ '/user': [200, ANNA], [tasks('acme/web')]: 401 });

  await expect(read(['acme/web'])).rejects.toBeInstanceOf(NotSignedIn);
  expect(rights.loginOf('pat')).toBeUndefined();
});

const ORG: Scope = { kind: 'org', org: 'acme' };
const REPO: Scope = { kind: 'repo', owner: 'acme', repo: 'web' };
const OF_ANNA = '/users/anna/orgs/acme/permissions';

it.each<[string, Scope, Record<string, Answer>, boolean]>([
  ['of an organization she owns', ORG, { [OF_ANNA]: [200, { is_owner: true }] }, true],
  ['of one that she administrates only', ORG, { [OF_ANNA]: [200, { is_owner: false, is_admin: true }] }, false],
  ['of one that Gitea does not tell', ORG, { [OF_ANNA]: [403, { is_owner: true }] }, false],
  [
    'of one that has another name now',
    { ...ORG, now: 'acme-inc' },
    { '/users/anna/orgs/acme-inc/permissions': [200, { is_owner: true }] },
    true,
  ],
  ['of one whose old name she has', { ...ORG, now: 'acme-inc' }, { [OF_ANNA]: [200, { is_owner: true }] }, false],
  ['of an odd organization', { kind: 'org', org: '..' }, {}, false],
  ['of an odd name of now', { ...ORG, now: '..' }, { [OF_ANNA]: [200, { is_owner: true }] }, false],
  ['of her repository', REPO, { '/repos/acme/web': [200, { permissions: { admin: true } }] }, true],
  ['of one that she may write', REPO, { '/repos/acme/web': [200, { permissions: { admin: false } }] }, false],
  ['of an odd repository', { ...REPO, repo: '..' }, {}, false],
  ['of an odd owner', { ...REPO, owner: '..' }, {}, false],
  ['of her own', { kind: 'user', user: 'Anna' }, {}, true],
  ['of her own, by the name of now', { kind: 'user', user: 'old', now: 'anna' }, {}, true],
  ['of her old name', { kind: 'user', user: 'anna', now: 'other' }, {}, false],
  ['of another', { kind: 'user', user: 'bert' }, {}, false],
  ['of all', { kind: 'global' }, {}, false],
])('a group %s shows whether she owns it', async (_, scope, answers, owns) => {
  const { asked, read } = await start({ '/user': [200, ANNA], ...answers });

  const reader = await read([], { 'runners/ci': scope });
  // Gitea is not asked about a name that no user can have.
  if (JSON.stringify(scope).includes('..')) expect(asked).toEqual(['/user']);

  expect(reader.owns('runners/ci')).toBe(owns);
  // A group with an invalid spec has no owner.
  expect(reader.owns('runners/broken')).toBe(false);
});

it.each<[string, Scope, Record<string, Answer>, boolean]>([
  ['of an organization', ORG, { '/orgs/acme': 200 }, true],
  ['of one that is no more', ORG, {}, false],
  ['of one that has another name now', { ...ORG, now: 'acme-inc' }, { '/orgs/acme-inc': 200 }, true],
  ['of a repository', REPO, { '/repos/acme/web': [200, { permissions: { admin: true } }] }, true],
  ['of a repository that the token may not read', REPO, {}, false],
  ['of a user', { kind: 'user', user: 'bert' }, {}, true],
  ['of all', { kind: 'global' }, {}, true],
])('a group is seen by a site administrator: %s', async (_, scope, answers, owns) => {
  const { read } = await start({ '/user': [200, ADMIN], '/user/orgs?limit=1': 200, ...answers });

  const reader = await read([], { 'runners/ci': scope });

  expect([reader.owns('runners/ci'), reader.owns('runners/broken'), reader.isAdmin]).toEqual([owns, true, true]);
});

it('a group is not asked for one whose name cannot be written in a path', async () => {
  const { asked, read } = await start({ '/user': [200, { id: 7, login: '..' }] });

  expect((await read([], { 'runners/ci': ORG })).owns('runners/ci')).toBe(false);
  expect(asked).toEqual(['/user']);
});

it('a group is not seen any more by one who administrated Gitea two minutes ago, though organizations were readable then', async () => {
  const { answers, clock, read } = await start({ '/user': [200, ADMIN], '/user/orgs?limit=1': 200 });
  const wanted = { 'runners/ci': { kind: 'global' } } as const;
  expect((await read([], wanted)).owns('runners/ci')).toBe(true);
  answers['/user'] = [200, { ...ADMIN, is_admin: false }];
  await clock.pass(120_000);

  const reader = await read([], wanted);

  expect([reader.isAdmin, reader.owns('runners/ci'), reader.owns('runners/broken')]).toEqual([false, false, false]);
});

it('a group is not seen by a site administrator whose token may not read organizations', async () => {
  const { read } = await start({ '/user': [200, ADMIN], '/user/orgs?limit=1': 403 });

  const reader = await read([], { 'runners/ci': { kind: 'global' } });

  expect([reader.owns('runners/ci'), reader.owns('runners/broken'), reader.isAdmin]).toEqual([false, false, false]);
});
