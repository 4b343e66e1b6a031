/**
 * Tests names of Secrets, keys and namespaces, which become a path. None may lead out of the folder of the Secrets, nor
 * to another kind of file in it.
 */
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { findToken } from '../../../src/clients/tokens/api-token.ts';
import { InputProblems } from '../../../src/config/runnergroup/problems.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { groupOf } from '../../support/group-files.ts';
import { folderWith } from '../../support/run-cli.ts';
import { runnerGroup } from '../../support/runner-group.ts';

const BAIT = 'bait-that-no-group-may-find';
const URL_OF_GITEA = 'https://gitea.example.com';
let secretsDir = '';

/**
 *     etc/passwd, etc/url, url           outside: bait
 *     secrets/gitea-api/token, url       what a group may use
 *     secrets/gitea-api/..data/token     where Kubernetes keeps the files themselves: bait
 *     secrets/team-b/gitea-api/token     of another namespace: bait
 */
beforeEach(() => {
  const baits = [
    'etc/passwd',
    'token',
    'secrets/token',
    'secrets/gitea-api/..data/token',
    'secrets/team-b/gitea-api/token',
  ];
  const files = Object.fromEntries(baits.map((bait) => [bait, BAIT]));
  const urls = [...baits, 'secrets/gitea-api/token'].map((file) => [join(file, '..', 'url'), URL_OF_GITEA]);
  const folder = folderWith({ ...files, 'secrets/gitea-api/token': 'good-token', ...Object.fromEntries(urls) });
  secretsDir = join(folder, 'secrets');
});

interface Names {
  readonly namespace?: string;
  readonly name?: string;
  readonly key?: string;
}

const HOSTILE: readonly Names[] = [
  { namespace: '.' },
  { namespace: '../../etc' },
  { namespace: '/etc' },
  { namespace: 'team-b/gitea-api' },
  { namespace: 'team-b/../gitea-api' },
  { namespace: 'team-b\n' },
  { namespace: '%2e%2e' },
  { namespace: 'a'.repeat(300) },
  { name: '.', key: 'token' },
  { name: '', key: 'token' },
  { name: '../etc', key: 'passwd' },
  { name: '/etc', key: 'passwd' },
  { name: 'gitea-api/..data' },
  { name: 'gitea-api/' },
  { name: 'team-b/gitea-api' },
  { name: 'gitea-api..' },
  { name: '-gitea-api' },
  { name: 'ｇitea-api' },
  { key: '.' },
  { key: '..data' },
  { key: '..data/token' },
  { key: '../../etc/passwd' },
  { key: '../team-b/gitea-api/token' },
  { key: 'token\u0000' },
  { key: 'token/' },
  { key: '$TOKEN' },
  { key: 'token ' },
  { key: '' },
];

describe('a RunnerGroup with', () => {
  it.each(HOSTILE)('%j is wrong input', async ({ namespace = 'runners', name = 'gitea-api', key = 'token' }) => {
    const read = groupOf({ authToken: { secretRef: { name, key } } }, { namespace });

    await expect(read).rejects.toBeInstanceOf(InputProblems);
  });

  // The reader is the first wall. This is the second: what becomes a path is checked where it does.
  it.each(HOSTILE)('%j finds no token, had it come so far', async (names) => {
    const { namespace = 'runners', name = 'gitea-api', key = 'token' } = names;
    const group = runnerGroup({ namespace, authToken: { name, key } });

    const found = await findToken(group, { secretsDir, env: {} }).catch((error: unknown) => error);

    expect(found).toBeInstanceOf(Failure);
    expect(found).toMatchObject({ code: 'GR-TOKEN-01', exit: 1, message: expect.not.stringContaining(BAIT) });
  });

  it.each([
    ['token', 'good-token'],
    ['url', URL_OF_GITEA],
  ])('ordinary names and the key "%s" for its token has what stands there', async (key, text) => {
    const token = await findToken(runnerGroup({ authToken: { name: 'gitea-api', key } }), { secretsDir, env: {} });

    expect(token.headerFor(new URL(URL_OF_GITEA))).toBe(`token ${text}`);
  });
});
