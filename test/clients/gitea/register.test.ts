/** Tests the request that makes a runner, the runner's file, and the meaning of every other answer. */
import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { credentialsFile, registerRunner } from '../../../src/clients/gitea/register.ts';
import { HttpClient } from '../../../src/clients/http/http-client.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, type Intercept, json } from '../../support/gitea-stand-in.ts';
import { accessTo, SECRET } from '../../support/looking.ts';
import { serve } from '../../support/server.ts';

const REGISTRATION = 'registration-token-that-nobody-may-see';
const TOKEN = '0123456789abcdef0123456789abcdef01234567';
const UUID = '2f9ff1d4-7f7a-4e2b-8f1f-0a4b4c6d8e10';
const RUNNER = { name: 'ci-7-1-abc', labels: ['linux', 'app:infra'] };
const ROW = { id: '41', uuid: UUID, token: TOKEN, name: RUNNER.name, labels: RUNNER.labels, ephemeral: true };
const SECRETS = [REGISTRATION, TOKEN, UUID, SECRET];

const answer =
  (body: unknown, status = 200, headers = {}): Intercept =>
  (_, response) =>
    json(response, body, status, headers);

/** An error of a handler without a code, as connect-go writes it. */
const refused = (message: string) => answer({ code: 'unknown', message }, 500);

async function start(intercept: Intercept, subPath = '') {
  const gitea = await fakeGitea({ intercept, subPath });
  return { gitea, register: () => registerRunner(accessTo(gitea.url), REGISTRATION, RUNNER) };
}

describe('registering', () => {
  it('a registration is one POST of what the runner would say, below the path of Gitea, without the API token', async () => {
    const told: unknown[] = [];
    const { gitea, register } = await start((_, response, request) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        told.push([request.method, request.headers['content-type'], JSON.parse(Buffer.concat(parts).toString())]);
        json(response, { runner: ROW });
      });
      return true;
    }, '/git');

    expect(await register()).toEqual({ id: 41, uuid: UUID, token: TOKEN });

    const body = { ...RUNNER, token: REGISTRATION, version: 'registered ahead', ephemeral: true };
    expect(told).toEqual([['POST', 'application/json', body]]);
    expect(gitea.seen.map(({ path, authorization }) => [path, authorization])).toEqual([
      ['/git/api/actions/runner.v1.RunnerService/Register', undefined],
    ]);
  });

  it.each([
    'runner registration token not found',
    'runner registration token has been invalidated, please use the latest one',
    'owner of the token not found',
    'repository of the token not found',
  ])('a registration says by its kind that another registration token is needed: %s', async (message) => {
    const { gitea, register } = await start(refused(`${message} ${REGISTRATION}`));

    const { code, kind, message: said } = await failureOf(register());

    expect([code, kind, gitea.seen.length]).toEqual(['GR-GITEA-20', 'unauthorized', 1]);
    expect(said).toBe(
      `register runner ${RUNNER.name}: POST ${gitea.url}/api/actions/runner.v1.RunnerService/Register: Gitea does not accept the registration token. It was reset in Gitea, or its repository or owner was deleted. The next try asks for a new one. If this stays, check that the repository exists.`,
    );
  });

  it.each<[string, Intercept, string]>([
    ['a database that fails', refused("can't create new runner"), 'GR-GITEA-05'],
    [
      'the same words with another status',
      answer({ message: 'runner registration token not found' }, 502),
      'GR-GITEA-05',
    ],
    ['a login before Gitea', answer({ message: TOKEN }, 401), 'GR-GITEA-21'],
    ['a guard before Gitea', answer({ message: TOKEN }, 403), 'GR-GITEA-21'],
    ['a Gitea without Actions', answer({ message: TOKEN }, 404), 'GR-GITEA-21'],
    ['too many requests', answer({ message: TOKEN }, 429), 'GR-GITEA-18'],
    ['a busy Gitea', answer({ message: TOKEN }, 503, { 'retry-after': '0' }), 'GR-GITEA-04'],
    ['a redirect, which is not followed with the token', answer({}, 307, { location: '/elsewhere' }), 'GR-GITEA-06'],
    ['no JSON', ((_, response) => Boolean(response.writeHead(200).end(TOKEN))) satisfies Intercept, 'GR-GITEA-07'],
    ['an endless answer', answer({ runner: { ...ROW, version: 'x'.repeat(65 * 1024) } }), 'GR-HTTP-12'],
    ['no runner', answer({}), 'GR-GITEA-08'],
    ['a number as id, which protobuf never writes', answer({ runner: { ...ROW, id: 41 } }), 'GR-GITEA-08'],
    ['an id of zero', answer({ runner: { ...ROW, id: '0' } }), 'GR-GITEA-08'],
    ['an id that would be rounded', answer({ runner: { ...ROW, id: '9007199254740993' } }), 'GR-GITEA-08'],
    ['no uuid', answer({ runner: { ...ROW, uuid: TOKEN } }), 'GR-GITEA-08'],
    ['a token with a line break', answer({ runner: { ...ROW, token: `${TOKEN}\n` } }), 'GR-GITEA-08'],
    ['a token without an end', answer({ runner: { ...ROW, token: TOKEN.repeat(7) } }), 'GR-GITEA-08'],
    ['no token', answer({ runner: { ...ROW, token: '' } }), 'GR-GITEA-08'],
    ['a runner that stays', answer({ runner: { ...ROW, ephemeral: undefined } }), 'GR-GITEA-08'],
  ])('%s is a failure of one request, without a secret', async (_, intercept, code) => {
    const { gitea, register } = await start(intercept);

    const failure = await failureOf(register());

    expect([failure.code, gitea.seen.length]).toEqual([code, 1]);
    expect(failure.kind).not.toBe('unauthorized');
    expect(failure.message).toContain(`register runner ${RUNNER.name}: POST ${gitea.url}/api/actions/`);
    for (const secret of SECRETS) expect(failure.message).not.toContain(secret);
  });

  it('a registration is not sent again when the connection breaks: the row may be there', async () => {
    let asked = 0;
    const drop: RequestListener = (request) => {
      asked += 1;
      request.socket.destroy();
    };
    const { origin } = await serve(drop);

    const { code } = await failureOf(registerRunner(accessTo(origin), REGISTRATION, RUNNER));

    expect([code, asked]).toEqual(['GR-HTTP-04', 1]);
  });

  it('a registration sends a registration token only where the API token may go', async () => {
    const { gitea } = await start(answer({ runner: ROW }));
    const access = accessTo(gitea.url, new Token(SECRET, 'https://gitea.example.com'));

    const { code, exit } = await failureOf(registerRunner(access, REGISTRATION, RUNNER));

    expect([code, exit, gitea.seen]).toEqual(['GR-GITEA-15', 3, []]);
  });

  it('a registration shows its address and nothing else to who watches requests', async () => {
    const { gitea } = await start(answer({ runner: ROW }));
    const lines: unknown[] = [];
    const http = new HttpClient({ env: {}, onRequest: (line) => lines.push(line) });

    await registerRunner({ ...accessTo(gitea.url), http, queue: 'background' }, REGISTRATION, RUNNER);
    await http.close();

    expect(lines).toMatchObject([{ method: 'POST', status: 200, queue: 'background' }]);
    for (const secret of SECRETS) expect(JSON.stringify(lines)).not.toContain(secret);
  });
});

it('the file of a runner holds what the runner would have written, every label with its schema', () => {
  const labels = ['plain', 'linux:host', 'node:docker://node:20', 'app:infra'];

  const text = credentialsFile(
    { id: 41, uuid: UUID, token: TOKEN },
    { name: RUNNER.name, labels, address: 'https://gitea.example.com/git' },
  );

  expect(JSON.parse(text)).toEqual({
    id: 41,
    uuid: UUID,
    name: RUNNER.name,
    token: TOKEN,
    address: 'https://gitea.example.com/git',
    labels: ['plain:host', 'linux:host', 'node:docker://node:20', 'app:infra'],
    ephemeral: true,
  });
  expect(text.endsWith('}\n')).toBe(true);
});
