/**
 * Tests where the API token arrives: two applications on one server, and the token is bound to one of them, a Gitea.
 */
import { describe, expect, it } from 'vitest';
import { requestTo } from '../../../src/clients/gitea/api.ts';
import { orgLevel } from '../../../src/clients/gitea/endpoints.ts';
import { deleteRegistration } from '../../../src/clients/gitea/registrations.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, jobRow } from '../../support/gitea-stand-in.ts';
import { accessTo } from '../../support/looking.ts';
import { folderWith, groupYaml, runHere } from '../../support/run-cli.ts';

const SECRET = 'gitea-token-0123456789abcdef';

/** Starts a server with Gitea below `/gitea`, and records all requests. `moved`: target of redirects of Gitea's API. */
async function serverWithTwoApps(moved?: string) {
  const arrived: string[] = [];
  const gitea = await fakeGitea({
    subPath: '/gitea',
    jobs: [jobRow(7, 'queued', { labels: ['linux'] })],
    intercept: ({ authorization }, response, { url = '' }) => {
      const path = url.replace(/\?.*/, '');
      arrived.push(`${path} ${authorization ?? 'no token'}`);
      if (moved === undefined || !path.startsWith('/gitea/')) return false;
      response.writeHead(302, { location: moved }).end();
      return true;
    },
  });
  return { origin: gitea.origin, arrived };
}

/** `generate` in a folder with this group, with a Secret bound to `bound`. */
function generate(bound: string, url: string) {
  const folder = folderWith({ 'ci.yaml': groupYaml(url) });
  return runHere(['generate', '--cluster', 'off'], { GITEA_URL: bound, GITEA_TOKEN: SECRET }, folder);
}

describe('generate with a token that is bound to http://…/gitea', () => {
  it.each(['/gitea', '/gitea/', '/x/%2e%2e/gitea'])('generate asks the Gitea at %s', async (path) => {
    const { origin, arrived } = await serverWithTwoApps();

    const { code, stdout } = await generate(`${origin}/gitea`, `${origin}${path}`);

    expect(code).toBe(0);
    expect(stdout).toContain(`${origin}/gitea`);
    expect(arrived.length).toBeGreaterThan(0);
    for (const line of arrived) expect(line).toMatch(/^\/gitea\/api\/v1\/\S+ token gitea-token/);
  });

  it.each(['', '/other-app', '/gitea/%2e%2e/other-app'])(
    'generate sends nothing at all to %j of the same server',
    async (path) => {
      const { origin, arrived } = await serverWithTwoApps();

      const outcome = await generate(`${origin}/gitea`, `${origin}${path}`);

      expect(outcome).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('error: GR-TOKEN-05 ') });
      expect(outcome.stderr).toContain(`it is bound to ${origin}/gitea,`);
      expect(outcome.stderr).not.toContain(SECRET);
      expect(arrived).toEqual([]);
    },
  );

  it.each(['/other-app/api/v1/version', '/gitea/../other-app', '/gitea/%2e%2e/other-app', '/gitea/..%2fother-app'])(
    'generate does not follow a redirect to %s',
    async (target) => {
      const { origin, arrived } = await serverWithTwoApps(target);

      const outcome = await generate(`${origin}/gitea`, `${origin}/gitea`);

      expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('error: GR-HTTP-11 ') });
      expect(outcome.stderr).toContain('to another path of this server');
      expect(arrived.filter((line) => !line.startsWith('/gitea/api/v1/'))).toEqual([]);
    },
  );

  it('follows a redirect below /gitea', async () => {
    const { origin, arrived } = await serverWithTwoApps('/gitea/again');

    const outcome = await generate(`${origin}/gitea`, `${origin}/gitea`);

    // The request is redirected again and again, each time with its token, up to the limit.
    expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('more than 3 redirects') });
    expect(arrived).toContain(`/gitea/again token ${SECRET}`);
  });
});

const token = new Token(SECRET, 'https://git.example.com/gitea');
const request = (url: string, path = '/version') => requestTo({ url, token }, { what: 'ask', method: 'GET', path });

it('a request to Gitea is made below the base of its token', () => {
  expect(request('https://git.example.com/gitea/').url.href).toBe('https://git.example.com/gitea/api/v1/version');
});

it.each([
  ['https://git.example.com', '/version'],
  ['https://git.example.com/other-app', '/version'],
  ['https://git.example.com/gitea2', '/version'],
  ['http://git.example.com/gitea', '/version'],
  ['https://user@git.example.com/gitea', '/version'],
  ['https://git.example.com/gitea', '/../../../other-app'],
  ['https://git.example.com/gitea', '/orgs/%2e%2e/%2e%2e/%2e%2e/%2e%2e/other-app'],
  ['https://git.example.com/gitea', '/orgs/..%2f..%2f..%2f..%2fother-app'],
  ['https://git.example.com/gitea', '/orgs/..%5cother-app'],
])('a request to Gitea is refused when %s%s leads elsewhere', (url, path) => {
  expect(() => request(url, path)).toThrow(expect.objectContaining({ code: 'GR-GITEA-15', exit: 3 }));
});

it('a request that deletes a registration is refused, too, before it is sent', async () => {
  const { origin, arrived } = await serverWithTwoApps();
  const access = accessTo(`${origin}/other-app`, new Token(SECRET, `${origin}/gitea`));

  const failure = await failureOf(deleteRegistration(access, orgLevel('acme'), 1));

  expect(failure).toMatchObject({ code: 'GR-GITEA-15', exit: 3 });
  expect(arrived).toEqual([]);
});
