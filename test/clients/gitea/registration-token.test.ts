/** The registration token as Gitea gives it, and what every other answer means. */
import { expect, it, onTestFinished } from 'vitest';
import { giteaClient } from '../../../src/clients/gitea/observe.ts';
import { readRegistrationToken, registrationLevel } from '../../../src/clients/gitea/registrations.ts';
import { Deadline } from '../../../src/clients/http/request.ts';
import type { Scope } from '../../../src/shared/scope.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, type Intercept } from '../../support/gitea-stand-in.ts';
import { ACME, SECRET, targetOf } from '../../support/looking.ts';

const TOKEN = 'registration-token-that-nobody-may-see';

async function start(intercept: Intercept) {
  const gitea = await fakeGitea({
    login: 'mia',
    intercept: (seen, response, request) =>
      seen.path.endsWith('/registration-token') && intercept(seen, response, request),
  });
  const http = giteaClient({ deadlineMs: 10_000, env: {} });
  onTestFinished(() => http.close());
  const ask = async (scope: Scope = ACME): Promise<string> => {
    const { url, token } = targetOf(gitea.url);
    const access = { http, url, token, deadline: new Deadline(10_000), versions: new Map() };
    const level = await registrationLevel(access, scope);
    if (!level) throw new Error('no level');
    return await readRegistrationToken(access, level);
  };
  return { gitea, ask };
}

const json =
  (body: unknown, status = 200): Intercept =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    return true;
  };

it.each<[Scope, string]>([
  [{ kind: 'global' }, '/admin/actions/runners/registration-token'],
  [ACME, '/orgs/acme/actions/runners/registration-token'],
  [{ kind: 'user', user: 'mia' }, '/user/actions/runners/registration-token'],
  [{ kind: 'repo', owner: 'acme', repo: 'web' }, '/repos/acme/web/actions/runners/registration-token'],
])('scope %o is asked with one POST', async (scope, path) => {
  const methods: (string | undefined)[] = [];
  const { gitea, ask } = await start((seen, response, request) => {
    methods.push(request.method);
    return json({ token: TOKEN })(seen, response, request);
  });

  expect(await ask(scope)).toBe(TOKEN);

  expect(methods).toEqual(['POST']);
  expect(gitea.lines()).toContain(`/api/v1${path}`);
});

it.each([
  ['no token', json({}), 'GR-GITEA-08'],
  ['an empty token', json({ token: '' }), 'GR-GITEA-08'],
  ['a token with a line break', json({ token: `${TOKEN}\n` }), 'GR-GITEA-08'],
  ['a token that is too long', json({ token: TOKEN.repeat(10) }), 'GR-GITEA-08'],
  ['no JSON', ((_, response) => Boolean(response.writeHead(200).end(TOKEN))) satisfies Intercept, 'GR-GITEA-07'],
  [
    'a refusal',
    json({ message: `token does not have at least one of required scope(s) ${TOKEN}` }, 403),
    'GR-GITEA-02',
  ],
  ['not found', json({ message: TOKEN }, 404), 'GR-GITEA-03'],
  ['an error of the server', json({ message: TOKEN }, 500), 'GR-GITEA-05'],
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
