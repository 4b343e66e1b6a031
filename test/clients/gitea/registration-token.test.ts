/** The registration token as Gitea gives it, and what every other answer means. */
import { expect, it } from 'vitest';
import { readRegistrationToken } from '../../../src/clients/gitea/registrations.ts';
import type { Scope } from '../../../src/shared/scope.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, type Intercept, json } from '../../support/gitea-stand-in.ts';
import { ACME, accessTo, SECRET } from '../../support/looking.ts';

const TOKEN = 'registration-token-that-nobody-may-see';

async function start(intercept: Intercept) {
  const gitea = await fakeGitea({
    login: 'mia',
    intercept: (seen, response, request) =>
      seen.path.endsWith('/registration-token') && intercept(seen, response, request),
  });
  const access = accessTo(gitea.url);
  const ask = async (scope: Scope = ACME): Promise<string | undefined> => {
    return (await readRegistrationToken(access, scope))?.token;
  };
  return { gitea, ask };
}

const answer =
  (body: unknown, status = 200): Intercept =>
  (_, response) =>
    json(response, body, status);

it.each<[Scope, string]>([
  [{ kind: 'global' }, '/admin/actions/runners/registration-token'],
  [ACME, '/orgs/acme/actions/runners/registration-token'],
  [{ kind: 'user', user: 'mia' }, '/user/actions/runners/registration-token'],
  [{ kind: 'repo', owner: 'acme', repo: 'web' }, '/repos/acme/web/actions/runners/registration-token'],
])('scope %o is asked with one POST', async (scope, path) => {
  const methods: (string | undefined)[] = [];
  const { gitea, ask } = await start((_, response, request) => {
    methods.push(request.method);
    return json(response, { token: TOKEN });
  });

  expect(await ask(scope)).toBe(TOKEN);

  expect(methods).toEqual(['POST']);
  expect(gitea.lines()).toContain(`/api/v1${path}`);
});

it.each([
  ['no token', answer({}), 'GR-GITEA-08'],
  ['an empty token', answer({ token: '' }), 'GR-GITEA-08'],
  ['a token with a line break', answer({ token: `${TOKEN}\n` }), 'GR-GITEA-08'],
  ['a token that is too long', answer({ token: TOKEN.repeat(10) }), 'GR-GITEA-08'],
  ['no JSON', ((_, response) => Boolean(response.writeHead(200).end(TOKEN))) satisfies Intercept, 'GR-GITEA-07'],
  [
    'a refusal',
    answer({ message: `token does not have at least one of required scope(s) ${TOKEN}` }, 403),
    'GR-GITEA-02',
  ],
  ['not found', answer({ message: TOKEN }, 404), 'GR-GITEA-03'],
  ['an error of the server', answer({ message: TOKEN }, 500), 'GR-GITEA-05'],
])('%s is a failure without the text', async (_, intercept, code) => {
  const { ask } = await start(intercept);

  const failure = await failureOf(ask());

  expect(failure.code).toBe(code);
  expect(failure.message).toContain('ask for the registration token of org acme');
  for (const secret of [TOKEN, SECRET]) expect(failure.message).not.toContain(secret);
  if (code === 'GR-GITEA-02') expect(failure.message).toContain('lacks scope write:organization');
});

it('a redirect to another server gets neither the API token nor the answer', async () => {
  const elsewhere = await fakeGitea();
  const { ask } = await start((_, response) =>
    Boolean(response.writeHead(307, { location: `${elsewhere.url}/api/v1/registration-token` }).end()),
  );

  await failureOf(ask());

  expect(elsewhere.seen).toEqual([]);
});
