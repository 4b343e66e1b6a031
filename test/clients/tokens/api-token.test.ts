import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { findToken } from '../../../src/clients/tokens/api-token.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import type { Failure } from '../../../src/shared/failure.ts';
import { failureOf } from '../../support/failure-of.ts';
import { folderWith } from '../../support/run-cli.ts';
import { runnerGroup } from '../../support/runner-group.ts';

const SECRET = 'gitea-token-0123456789abcdef';
const HERE = new URL('https://gitea.example.com/api/v1/version');
let dir = '';

beforeEach(() => {
  dir = folderWith({});
});

function mount(folder: string, keys: Readonly<Record<string, string>>): void {
  mkdirSync(join(dir, folder), { recursive: true });
  for (const [key, value] of Object.entries(keys)) writeFileSync(join(dir, folder, key), value);
}

const group = runnerGroup({ namespace: 'runners', authToken: { name: 'gitea-api', key: 'token' } });
const find = (env: Record<string, string> = {}) => findToken(group, { secretsDir: dir, env });
const failure = async (promise: Promise<unknown>): Promise<Failure> => {
  const error = await failureOf(promise);
  expect(error.message).not.toContain(SECRET);
  return error;
};

it('the API token of a group is read from the folder of its namespace before the shared one', async () => {
  mount('runners/gitea-api', { token: SECRET, url: 'https://gitea.example.com' });
  mount('gitea-api', { token: 'other', url: 'https://gitea.example.com' });

  expect((await find()).headerFor(HERE)).toBe(`token ${SECRET}`);
});

it('the API token of a group is read from the shared folder, with the line end cut off, through the links of a Secret volume', async () => {
  mount('gitea-api/..data', { token: `${SECRET}\n`, url: 'https://gitea.example.com/\n' });
  for (const key of ['token', 'url']) symlinkSync(join('..data', key), join(dir, 'gitea-api', key));

  expect((await find()).headerFor(HERE)).toBe(`token ${SECRET}`);
});

it('the API token of a group is taken from GITEA_TOKEN when a person runs the program', async () => {
  const token = await find({ GITEA_TOKEN: SECRET, GITEA_URL: 'https://gitea.example.com/' });

  expect(token.headerFor(HERE)).toBe(`token ${SECRET}`);
});

it('the API token of a group fails with exit 1 when it is nowhere', async () => {
  expect(await failure(find())).toMatchObject({ exit: 1, code: 'GR-TOKEN-01' });
});

it.each(['', ' ', '\n', 'two words', 'line\nfeed', 'umläut', 'x'.repeat(5000)])(
  'the API token of a group fails with exit 1 when it is %j',
  async (token) => {
    mount('gitea-api', { token, url: 'https://gitea.example.com' });

    expect(await failure(find())).toMatchObject({ exit: 1, code: 'GR-TOKEN-06' });
  },
);

it('the API token of a group is refused with the name of what binds it', async () => {
  const url = 'https://gitea.example.org';
  mount('gitea-api', { token: SECRET, url });

  const byHand = await failure(find({ GITEA_TOKEN: SECRET, GITEA_URL: url }));

  expect(byHand).toMatchObject({ exit: 3, code: 'GR-TOKEN-05' });
  expect((await failure(find())).message).toContain(`it is bound to ${url}, as key url of Secret gitea-api says, but`);
  expect(byHand.message).toContain(`it is bound to ${url}, as the environment variable GITEA_URL says, but`);
});

it('the API token of a group is refused with exit 3 when its Secret binds it to nothing', async () => {
  mount('gitea-api', { token: SECRET });

  expect(await failure(find())).toMatchObject({ exit: 3, code: 'GR-TOKEN-03' });
});

it('the API token of a group is refused with exit 3 when GITEA_TOKEN comes without GITEA_URL', async () => {
  expect(await failure(find({ GITEA_TOKEN: SECRET }))).toMatchObject({ exit: 3, code: 'GR-TOKEN-03' });
});

describe('the registration Secret', () => {
  beforeEach(() => mount('gitea-api', { token: SECRET, url: 'https://gitea.example.com' }));

  it.each([{ url: 'https://GITEA.example.com:443/' }, { url: 'https://gitea.example.com\n' }, {}])(
    'the registration Secret may be bound to the Gitea of its group, or to none: %j',
    async (keys) => {
      mount('runners/gitea-runner', keys);

      expect((await find()).headerFor(HERE)).toBe(`token ${SECRET}`);
    },
  );

  it.each(['https://gitea.example.org', 'https://gitea.example.com/gitea', 'http://gitea.example.com', '', 'x'])(
    'the registration Secret is refused with exit 3 when it is bound to %j',
    async (url) => {
      mount('runners/gitea-runner', { url });

      expect(await failure(find())).toMatchObject({ exit: 3, code: 'GR-TOKEN-07' });
      expect(await failure(find({ GITEA_TOKEN: SECRET, GITEA_URL: 'https://gitea.example.com' }))).toMatchObject({
        exit: 3,
      });
    },
  );

  it('the registration Secret is looked up in the namespace of its group alone: elsewhere it is another Secret', async () => {
    mount('gitea-runner', { url: 'https://gitea.example.org' });

    expect((await find()).headerFor(HERE)).toBe(`token ${SECRET}`);
  });

  it('the registration Secret is never read itself', async () => {
    // A link in a circle: whoever opens it fails.
    mount('runners/gitea-runner', { url: 'https://gitea.example.com' });
    const file = join(dir, 'runners/gitea-runner/registration-token');
    symlinkSync(file, file);

    expect((await find()).headerFor(HERE)).toBe(`token ${SECRET}`);
  });
});

describe('a token', () => {
  const token = new Token(SECRET, 'https://gitea.example.com/sub');

  it('a token never shows', () => {
    expect([String(token), JSON.stringify({ token }), inspect({ token }), `${token}`].join()).not.toContain(SECRET);
  });

  it.each(['https://gitea.example.org/sub/', 'https://gitea.example.com/', 'https://gitea.example.com/sub/..%2fother'])(
    'a token is not given out for %s',
    (url) => {
      expect(() => token.headerFor(new URL(url))).toThrow('bound to https://gitea.example.com/sub');
    },
  );

  it.each([
    ['0123456789abcdef0123456789abcdef01234567', undefined],
    ['eyJhbGciOiJSUzI1NiJ9.eyJnbnQiOjF9.c2ln-_X', undefined],
    ['"0123456789abcdef0123456789abcdef01234567"', 'It has quotes around it'],
    ["'abc'", 'It has quotes around it'],
    ['MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nw==', 'It is encoded in base64 once more'],
    ['$GITEA_TOKEN', 'It is a placeholder'],
    ['<path:kv/gitea#token>', 'It is a placeholder'],
    ['0123456789abcdef', 'It has 16 characters, and tokens of Gitea have 40'],
  ])('the form of a token tells a fault without showing it: %s', (secret, fault) => {
    expect(new Token(secret, 'https://gitea.example.com').fault).toBe(fault);
  });

  it('a token is bound to a URL, or cannot be made', () => {
    expect(() => new Token(SECRET, 'gitea.example.com')).toThrow('must be bound');
  });
});

const URL_HERE = 'https://gitea.example.com';
const ELSEWHERE = 'https://other.example.com';
const findBound = (url: string | undefined, name = 'gitea-api') =>
  findToken(group, {
    secretsDir: dir,
    env: {},
    boundTo: (namespace, secret) => (namespace === 'runners' && secret === name ? url : undefined),
  });

it('a binding of the policy takes the place of the key url', async () => {
  mount('gitea-api', { token: SECRET });

  expect((await findBound(`${URL_HERE}/`)).headerFor(HERE)).toBe(`token ${SECRET}`);
  expect(await failure(findBound(undefined))).toMatchObject({ exit: 3, code: 'GR-TOKEN-03' });
  expect(await failure(findBound(URL_HERE, 'other'))).toMatchObject({ exit: 3, code: 'GR-TOKEN-03' });
});

it.each([
  ['of another Gitea', undefined, ELSEWHERE],
  ['of another path', undefined, `${URL_HERE}/gitea`],
  ['of another Gitea than the key url', URL_HERE, ELSEWHERE],
  ['of the right Gitea, but the key url is of another one', ELSEWHERE, URL_HERE],
])('a binding %s refuses the group, and nothing is sent', async (_, key, url) => {
  mount('gitea-api', { token: SECRET, ...(key !== undefined && { url: key }) });

  expect(await failure(findBound(url))).toMatchObject({ exit: 3, code: 'GR-TOKEN-05' });
});

it('a binding of the registration Secret holds for its token', async () => {
  mount('gitea-api', { token: SECRET, url: URL_HERE });

  expect(await failure(findBound(ELSEWHERE, 'gitea-runner'))).toMatchObject({
    exit: 3,
    code: 'GR-TOKEN-07',
    message: expect.stringContaining('the policy (tokenBindings), for Secret gitea-runner names another Gitea'),
  });
  expect((await findBound(URL_HERE, 'gitea-runner')).headerFor(HERE)).toBe(`token ${SECRET}`);
});
