/** Tests who may read what in the simulated Gitea, and the errors for others. */
import { describe, expect, it } from 'vitest';
import type { GiteaVersion } from '../../simulator/gitea/versions.ts';
import { jobs, startAcme } from './acme.ts';

const JOBS = '/orgs/acme/actions/jobs';
const REPO = '/repos/acme/web/actions';
const NO_USER = 'user redirect does not exist [name: nobody]';

describe('errors', () => {
  it.each<[version: GiteaVersion, token: string, path: string, status: number, message: string]>([
    ['1.25.4', 'nobodys-token', '/version', 401, 'user does not exist [uid: 0, name: ]'],
    ['1.26.0', 'nobodys-token', '/version', 401, 'invalid username, password or token'],
    ['1.27.3', 'nobodys-token', '/version', 401, 'invalid username, password or token'],
    ['1.26.0', 'root-all', '/admin/actions/runners/77', 404, 'Runner not found'],
    ['1.26.0', 'root-all', `${REPO}/jobs/99`, 404, 'not found'],
    ['1.26.0', 'root-all', `${REPO}/runs/99`, 404, 'not found'],
    ['1.26.0', 'root-all', '/users/nobody/repos', 404, NO_USER],
    ['1.27.3', 'root-all', '/admin/actions/runners/77', 404, 'runner with id 77: resource does not exist'],
    ['1.27.3', 'root-all', `${REPO}/jobs/99`, 404, 'not found'],
    ['1.27.3', 'root-all', `${REPO}/runs/99`, 404, 'run with id 99: resource does not exist'],
    ['1.27.3', 'root-all', '/users/nobody/repos', 404, NO_USER],
    ['1.27.3', 'tom-all', '/repos/acme/secret/actions/jobs', 404, 'not found'],
    ['1.27.3', 'olga-all', '/admin/actions/jobs', 403, 'user should be the site admin'],
    ['1.27.3', 'mia-all', '/orgs/acme/actions/runners', 403, 'Must be an organization owner'],
    ['1.27.3', 'root-all', `${JOBS}?sort=id&order=down`, 422, 'Invalid sort order: "down"'],
    ['1.27.3', 'root-all', `${JOBS}?status=queued,waiting`, 400, 'invalid status queued,waiting'],
    ['1.25.4', 'root-all', `${JOBS}?status=running`, 400, 'Invalid status running'],
    ['1.26.0', 'root-all', `${JOBS}?status=running`, 400, 'Invalid status running'],
    ['1.27.3', 'root-all', `${JOBS}?status=running`, 400, 'invalid status running'],
    ['1.27.3', 'root-all', `${JOBS}?status=`, 400, 'invalid status '],
    ['1.27.3', 'root-all', `${JOBS}?status=constructor`, 400, 'invalid status constructor'],
  ])('%s answers %s on %s with %i: %s', async (version, token, path, status, message) => {
    const { get } = await startAcme({ version });

    expect(await get(path, token)).toMatchObject({ status, body: { message } });
  });

  it.each<[version: GiteaVersion, token: string, path: string, body: object]>([
    ['1.26.0', 'root-all', '/orgs/nobody/actions/jobs', { message: 'GetOrgByName', errors: [NO_USER] }],
    ['1.27.3', '', JOBS, { message: 'token is required' }],
  ])('%s: "%s" on %s gets %j, and the address of the API description', async (version, token, path, expected) => {
    const { get, url } = await startAcme({ version });

    const { body } = await get(path, token);

    expect(body).toEqual({ ...expected, url: `${url}/api/swagger` });
  });

  it('answers a page that does not exist in plain text', async () => {
    const { get } = await startAcme();

    const { status, body } = await get('/admin/runners/jobs?labels=x');

    expect([status, body]).toEqual([404, '404 page not found\n']);
  });

  it('answers 404 outside its sub-path', async () => {
    const { url } = await startAcme({ subPath: '/git' });

    const inside = await fetch(`${url}/api/v1/version`);
    const outside = await fetch(new URL('/api/v1/version', url));

    expect([inside.status, outside.status]).toEqual([200, 404]);
  });
});

it.each([
  ['read:admin', JOBS, 'read:organization'],
  ['read:organization', '/admin/actions/jobs', 'read:admin'],
  ['read:organization', `${REPO}/jobs`, 'read:repository'],
  ['read:repository', '/user/actions/jobs', 'read:user'],
  ['read:user', '/users/tom/repos', 'read:repository'],
])('a %s token is refused on %s', async (scope, path, required) => {
  const { gitea, get } = await startAcme();
  gitea.addToken('root', [scope], 'narrow');

  const { status, body } = await get(path, 'narrow');

  expect(status).toBe(403);
  expect(body.message).toBe(
    `token does not have at least one of required scope(s), required=[${required}], token scope=${scope}`,
  );
});

it('write includes read, read does not include write', async () => {
  const { gitea, get } = await startAcme();
  gitea.addToken('root', ['write:admin'], 'writer');
  gitea.addToken('root', ['read:admin'], 'reader');
  const { id } = gitea.register({ name: 'r', scope: { kind: 'global' }, labels: [] });

  const list = await get('/admin/actions/runners', 'writer');
  const refused = await get(`/admin/actions/runners/${id}`, 'reader', { method: 'DELETE' });

  expect([list.status, refused.status, gitea.runners().length]).toEqual([200, 403, 1]);
});

it.each(['token root-all', 'Bearer root-all', 'TOKEN root-all', `Basic ${btoa('root:root-all')}`])(
  'the simulator takes the header form %s',
  async (authorization) => {
    const { get } = await startAcme();

    const { body } = await get('/user', '', { headers: { authorization } });

    expect(body.login).toBe('root');
  },
);

it('1.27 refuses public-only tokens on /user/actions', async () => {
  const { gitea, get } = await startAcme();
  gitea.addToken('tom', ['all', 'public-only'], 'public');

  const { status, body } = await get('/user/actions/jobs', 'public');

  expect([status, body.message]).toEqual([403, 'this endpoint is not available for public-only tokens']);
});

describe('rights', () => {
  // Members may list jobs, but not runners.
  it.each<[version: GiteaVersion, path: string, expected: Readonly<Record<string, number>>]>([
    ['1.25.4', JOBS, { olga: 200, mia: 403, tom: 403 }],
    ['1.26.0', JOBS, { olga: 200, mia: 200, tom: 403 }],
    ['1.27.3', JOBS, { olga: 200, mia: 200, tom: 403 }],
    ['1.25.4', `${REPO}/jobs`, { tom: 403 }],
    ['1.26.0', `${REPO}/jobs`, { tom: 200 }],
  ])('%s lets list %s: %j', async (version, path, expected) => {
    const { get } = await startAcme({ version });

    const answers = await Promise.all(Object.keys(expected).map((user) => get(path, `${user}-all`)));

    expect(answers.map(({ status }) => status)).toEqual(Object.values(expected));
  });

  it.each([
    ['1.26.0', 2],
    ['1.27.3', 1],
  ] as const)('%s shows a plain member %i of 2 org jobs', async (version, seen) => {
    const { gitea, get } = await startAcme({ version });
    gitea.push('acme/web', { jobs: jobs(1) });
    gitea.push('acme/secret', { jobs: jobs(1) });

    const [mia, olga] = await Promise.all([get(JOBS, 'mia-all'), get(JOBS, 'olga-all')]);

    expect([mia.body.total_count, olga.body.total_count]).toEqual([seen, 2]);
  });

  it('the simulator shows each level its own runners, and the admin all of them', async () => {
    const { gitea, get } = await startAcme();
    gitea.register({ name: 'everywhere', scope: { kind: 'global' }, labels: [] });
    gitea.register({ name: 'org', scope: { kind: 'owner', owner: 'acme' }, labels: [] });
    gitea.register({ name: 'user', scope: { kind: 'owner', owner: 'root' }, labels: [] });
    gitea.register({ name: 'repo', scope: { kind: 'repo', repo: 'acme/web' }, labels: [] });

    const levels = ['/admin', '/orgs/acme', '/user', '/repos/acme/web'];
    const lists = await Promise.all(levels.map((level) => get(`${level}/actions/runners`)));

    const names = lists.map(({ body }) => body.runners.map((runner) => runner.name));
    expect(names).toEqual([['everywhere', 'org', 'user', 'repo'], ['org'], ['user'], ['repo']]);
  });

  it('lists the repositories of a user, private ones only for those who may see them', async () => {
    const { gitea, get } = await startAcme();
    gitea.addRepo('tom/diary', { private: true });

    const answers = await Promise.all(['tom-all', 'mia-all'].map((token) => get('/users/tom/repos', token)));

    const names = answers.map(({ body }) => JSON.stringify(body).match(/tom\/\w+(?=","private)/g));
    expect(names).toEqual([['tom/toys', 'tom/diary'], ['tom/toys']]);
  });
});
