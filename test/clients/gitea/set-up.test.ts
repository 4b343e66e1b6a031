/** Tests the requests of `doctor` to Gitea besides jobs and runners, and how it reads the answers. */

import { expect, it } from 'vitest';
import { GiteaApi } from '../../../src/clients/gitea/api.ts';
import { GLOBAL_LEVEL, orgLevel, ownUserLevel, repoLevel } from '../../../src/clients/gitea/endpoints.ts';
import { isRegistrationToken, readActions, readHooks } from '../../../src/clients/gitea/set-up.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import { orFailure } from '../../../src/shared/failure.ts';
import { json } from '../../support/gitea-stand-in.ts';
import { accessTo } from '../../support/looking.ts';
import { startAcme, TOKEN } from '../../support/start-acme.ts';

/** Rows, or status and text of an error, by path and page. */
type Answers = (path: string, page: number) => unknown;

async function open(answers: Answers) {
  const { simulator } = await startAcme();
  simulator.intercept(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://gitea');
    const found = answers(pathname.replace('/api/v1', ''), Number(searchParams.get('page')));
    if (found === undefined) return false;
    const refusal = { message: 'token does not have at least one of required scope(s)' };
    return typeof found === 'number' ? json(response, refusal, found) : json(response, found);
  });
  const access = accessTo(simulator.url, new Token(TOKEN, simulator.url));
  return { access, requests: simulator.requests };
}

const LEVELS = [GLOBAL_LEVEL, orgLevel('acme'), ownUserLevel('anna'), repoLevel('acme', 'web')];
const HOOK = {
  active: true,
  events: ['push', 'workflow_job'],
  config: { url: 'http://x/webhook', content_type: 'json' },
};

it.each([
  ['/admin/hooks', LEVELS[0]],
  ['/orgs/acme/hooks', LEVELS[1]],
  ['/user/hooks', LEVELS[2]],
  ['/repos/acme/web/hooks', LEVELS[3]],
] as const)('webhooks are listed at %s, page by page', async (path, level) => {
  const { access } = await open((asked, page) => (asked === path ? [[HOOK], [HOOK], []][page - 1] : undefined));

  const hooks = await readHooks(new GiteaApi(access), level ?? GLOBAL_LEVEL);

  expect(hooks).toHaveLength(2);
  expect(hooks[0]).toEqual({ url: 'http://x/webhook', isActive: true, hasJobEvents: true, contentType: 'json' });
});

it('webhooks are read up to the fourth page', async () => {
  const { access, requests } = await open((path) => (path.endsWith('/hooks') ? [HOOK] : undefined));

  expect(await readHooks(new GiteaApi(access), orgLevel('acme'))).toHaveLength(4);
  expect(requests.filter(({ target }) => target.includes('/hooks'))).toHaveLength(4);
});

it('webhooks that the token may not see are a failure that names the right', async () => {
  const { access } = await open((path) => (path.endsWith('/hooks') ? 403 : undefined));

  const failure = await orFailure(readHooks(new GiteaApi(access), repoLevel('acme', 'web')));

  expect(failure).toMatchObject({ code: 'GR-GITEA-02', message: expect.stringContaining('scope read:repository') });
});

it('webhooks of another form are a failure', async () => {
  const { access } = await open((path) => (path.endsWith('/hooks') ? [{ active: 'yes' }] : undefined));

  expect(await orFailure(readHooks(new GiteaApi(access), orgLevel('acme')))).toMatchObject({ code: 'GR-GITEA-08' });
});

it('Actions are told of each repository of an org, and of one repository', async () => {
  const row = (name: string, has_actions: boolean) => ({ full_name: `acme/${name}`, has_actions });
  const { access } = await open((path, page) => {
    if (path === '/orgs/acme/repos') return [[row('web', true), row('docs', false)], []][page - 1];
    return path === '/repos/acme/docs' ? row('docs', false) : undefined;
  });
  const api = new GiteaApi(access);

  expect(await readActions(api, orgLevel('acme'))).toEqual({ repositories: 2, off: ['acme/docs'] });
  expect(await readActions(api, repoLevel('acme', 'docs'))).toEqual({ repositories: 1, off: ['acme/docs'] });
});

it.each([GLOBAL_LEVEL, ownUserLevel('anna')])('Actions are not told of $name, and nothing is asked', async (level) => {
  const { access, requests } = await open(() => undefined);

  expect(await readActions(new GiteaApi(access), level)).toBeUndefined();
  expect(requests).toEqual([]);
});

const PATH = '/orgs/acme/actions/runners/registration-token';

it('the registration token is compared with that of the scope, which a POST gives', async () => {
  const { access, requests } = await open((path) => (path === PATH ? { token: 'token-of-acme' } : undefined));

  expect(await isRegistrationToken(access, orgLevel('acme'), 'token-of-acme')).toBe(true);
  expect(await isRegistrationToken(access, orgLevel('acme'), 'token-of-ops')).toBe(false);
  expect(requests.flatMap(({ method, target }) => (target.endsWith(PATH) ? method : []))).toEqual(['POST', 'POST']);
});

it.each([
  ['a token that only reads', 403, 'GR-GITEA-02', 'scope write:organization'],
  ['an answer without a token', {}, 'GR-GITEA-08', 'it has no usable "token"'],
] as const)('the registration token cannot be compared by %s', async (_, answer, code, text) => {
  const { access } = await open((path) => (path === PATH ? answer : undefined));

  const failure = await orFailure(isRegistrationToken(access, orgLevel('acme'), 'token-of-acme'));

  expect(failure).toMatchObject({ code, message: expect.stringContaining(text) });
});
