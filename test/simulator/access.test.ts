import { describe, expect, it } from 'vitest';
import { jobs, startAcme } from './acme.ts';

const JOBS = '/orgs/acme/actions/jobs';

describe('errors', () => {
  it('have a message and the address of the API description', async () => {
    const { get, url } = await startAcme();

    const { status, body } = await get(JOBS, '');

    expect([status, body]).toEqual([401, { message: 'token is required', url: `${url}/api/swagger` }]);
  });

  it.each([
    ['1.25.4', 'user does not exist [uid: 0, name: ]'],
    ['1.26.0', 'invalid username, password or token'],
    ['1.27.3', 'invalid username, password or token'],
  ] as const)('%s refuses an unknown token on every page, also /version', async (version, message) => {
    const { get } = await startAcme({ version });

    const { status, body } = await get('/version', 'nobodys-token');

    expect([status, body.message]).toEqual([401, message]);
  });

  it('up to 1.26 a 404 has a third field', async () => {
    const { get } = await startAcme({ version: '1.26.0' });

    const { status, body } = await get('/orgs/nobody/actions/jobs');

    expect([status, body]).toMatchObject([
      404,
      { message: 'GetOrgByName', errors: ['user redirect does not exist [name: nobody]'] },
    ]);
  });

  it.each([
    ['1.26.0', ['Runner not found', 'not found', 'not found', 'user redirect does not exist [name: nobody]']],
    [
      '1.27.3',
      [
        'runner with id 77: resource does not exist',
        'not found',
        'run with id 99: resource does not exist',
        'user redirect does not exist [name: nobody]',
      ],
    ],
  ] as const)('%s says what was not found: %j', async (version, messages) => {
    const { get } = await startAcme({ version });
    const repo = '/repos/acme/web/actions';

    const paths = ['/admin/actions/runners/77', `${repo}/jobs/99`, `${repo}/runs/99`, '/users/nobody/repos'];
    const answers = await Promise.all(paths.map((path) => get(path)));

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(answers.map(({ body }) => body.message)).toEqual(messages);
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

describe('token scopes', () => {
  it.each([
    ['read:admin', JOBS, 'read:organization'],
    ['read:organization', '/admin/actions/jobs', 'read:admin'],
    ['read:organization', '/repos/acme/web/actions/jobs', 'read:repository'],
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
    const runner = gitea.register({ name: 'r', scope: { kind: 'global' }, labels: [] });
    const path = `/admin/actions/runners/${runner.id}`;

    const list = await get('/admin/actions/runners', 'writer');
    const refused = await get(path, 'reader', { method: 'DELETE', headers: { authorization: 'token reader' } });

    expect([list.status, refused.status, gitea.runners().length]).toEqual([200, 403, 1]);
  });

  it.each(['token root-all', 'Bearer root-all', 'TOKEN root-all', `Basic ${btoa('root:root-all')}`])(
    'takes the header form %s',
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
});

describe('rights', () => {
  it.each([
    ['1.25.4', { olga: 200, mia: 403, tom: 403 }],
    ['1.26.0', { olga: 200, mia: 200, tom: 403 }],
    ['1.27.3', { olga: 200, mia: 200, tom: 403 }],
  ] as const)('%s lets list the org jobs: %j', async (version, expected) => {
    const { get } = await startAcme({ version });

    const answers = await Promise.all(['olga', 'mia', 'tom'].map((user) => get(JOBS, `${user}-all`)));

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

  it('lists runners for owners only, although members may list jobs', async () => {
    const { get } = await startAcme();

    const { status, body } = await get('/orgs/acme/actions/runners', 'mia-all');

    expect([status, body.message]).toEqual([403, 'Must be an organization owner']);
  });

  it.each([
    ['1.25.4', 403],
    ['1.26.0', 200],
  ] as const)('%s answers %i to a stranger who lists the jobs of a public repository', async (version, expected) => {
    const { get } = await startAcme({ version });

    const { status } = await get('/repos/acme/web/actions/jobs', 'tom-all');

    expect(status).toBe(expected);
  });

  it('hides a private repository behind 404', async () => {
    const { get } = await startAcme();

    const { status, body } = await get('/repos/acme/secret/actions/jobs', 'tom-all');

    expect([status, body.message]).toEqual([404, 'not found']);
  });

  it('lets only site admins list the whole instance', async () => {
    const { get } = await startAcme();

    const { status, body } = await get('/admin/actions/jobs', 'olga-all');

    expect([status, body.message]).toEqual([403, 'user should be the site admin']);
  });

  it('shows each level its own runners, and the admin all of them', async () => {
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
    const { gitea, url } = await startAcme();
    gitea.addRepo('tom/diary', { private: true });

    const names = await Promise.all(
      ['tom-all', 'mia-all'].map(async (token) => {
        const response = await fetch(`${url}/api/v1/users/tom/repos`, { headers: { authorization: `token ${token}` } });
        const repos: unknown = await response.json();
        return JSON.stringify(repos).match(/tom\/\w+(?=","private)/g);
      }),
    );

    expect(names).toEqual([['tom/toys', 'tom/diary'], ['tom/toys']]);
  });
});
