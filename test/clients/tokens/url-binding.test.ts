/**
 * The red team's list of URLs: what the Secret's key `url` says, what the group's `gitea.url` says, and whether the token may go there.
 * Two spellings of one URL are one Gitea. Everything else is another one, however alike it looks.
 */
import { describe, expect, it } from 'vitest';
import { findToken } from '../../../src/clients/tokens/api-token.ts';
import { InputProblems } from '../../../src/config/runnergroup/problems.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { normalBase } from '../../../src/shared/url.ts';
import { groupOf } from '../../support/group-files.ts';
import { folderWith } from '../../support/run-cli.ts';
import { runnerGroup } from '../../support/runner-group.ts';

const SECRET = 'gitea-token-0123456789abcdef';
/** `sent`: the token goes to the group's Gitea. `refused`: exit 3. `invalid`: no RunnerGroup can have this URL, exit 2. */
type Verdict = 'sent' | 'refused' | 'invalid';

const PAIRS: readonly (readonly [bound: string, group: string, verdict: Verdict])[] = [
  // Several spellings of one Gitea.
  ['https://git.example.com', 'https://git.example.com', 'sent'],
  ['https://git.example.com/', 'https://git.example.com', 'sent'],
  ['https://git.example.com', 'https://git.example.com///', 'sent'],
  ['https://GIT.Example.com', 'https://git.example.com', 'sent'],
  ['https://git.example.com:443', 'https://git.example.com', 'sent'],
  ['http://git.example.com', 'http://git.example.com:80/', 'sent'],
  ['http://git.example.com:3000', 'http://git.example.com:03000', 'sent'],
  ['https://git.example.com/gitea', 'https://git.example.com/gitea/', 'sent'],
  ['https://git.example.com/gitea/', 'https://git.example.com/./gitea', 'sent'],
  ['https://git.example.com/gitea', 'https://git.example.com/other/../gitea', 'sent'],
  ['https://git.example.com/gitea', 'https://git.example.com/other/%2e%2E/gitea', 'sent'],
  ['https://git.example.com/gitea', 'https://git.example.com/%67ite%61', 'sent'],
  ['https://git.example.com/%67itea', 'https://git.example.com/gitea', 'sent'],
  ['https://git.example.com/a%c3%a9', 'https://git.example.com/a%C3%A9', 'sent'],
  ['https://git.example.com/aé', 'https://git.example.com/a%C3%A9', 'sent'],
  ['https://bücher.example', 'https://xn--bcher-kva.example', 'sent'],
  ['http://127.0.0.1:3000', 'http://0x7f000001:3000', 'sent'],
  ['http://127.0.0.1:3000', 'http://2130706433:3000', 'sent'],
  ['http://127.0.0.1:3000', 'http://127.1:3000', 'sent'],
  ['http://[::1]:3000', 'http://[0:0:0:0:0:0:0:1]:3000', 'sent'],
  // Another path of the same server is another application.
  ['https://git.example.com/gitea', 'https://git.example.com', 'refused'],
  ['https://git.example.com', 'https://git.example.com/gitea', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/other-app', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/gitea/other-app', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/gitea2', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/Gitea', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com//gitea', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/gitea/../other-app', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/gitea/.%2E/other-app', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/gitea%2F..%2Fother-app', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/gitea%5C..%5Cother-app', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/gitea/%252e%252e/other-app', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/gitea;/../other-app', 'refused'],
  ['https://git.example.com/gitea', 'https://git.example.com/gitea%00', 'refused'],
  // Another server.
  ['https://git.example.com', 'http://git.example.com', 'refused'],
  ['https://git.example.com', 'https://git.example.com:8443', 'refused'],
  ['https://git.example.com', 'https://git.example.com:80', 'refused'],
  ['https://git.example.com', 'https://git.example.com.', 'refused'],
  ['https://git.example.com', 'https://git.example.com.evil.example', 'refused'],
  ['https://git.example.com', 'https://evil.example/git.example.com', 'refused'],
  ['https://git.example.com', 'https://git.example.com//evil.example/', 'refused'],
  ['https://git.example.com', 'https://git.exаmple.com', 'refused'], // a Cyrillic letter
  ['https://git.example.com', 'https:/evil.example', 'invalid'],
  ['https://git.example.com', 'https:evil.example', 'invalid'],
  ['https://git.example.com', '//evil.example', 'invalid'],
  ['http://127.0.0.1:3000', 'http://[::ffff:127.0.0.1]:3000', 'refused'],
  ['http://127.0.0.1:3000', 'http://localhost:3000', 'refused'],
  ['http://127.0.0.1:3000', 'http://127.0.0.1:3001', 'refused'],
  // URLs that no group may have.
  ['https://git.example.com', 'https://git.example.com@evil.example', 'invalid'],
  ['https://git.example.com', 'https://evil.example@git.example.com', 'invalid'],
  ['https://git.example.com', 'https://evil.example#@git.example.com', 'invalid'],
  ['https://git.example.com', 'https://evil.example?@git.example.com', 'invalid'],
  ['https://git.example.com', 'https://git.example.com/x?y=evil.example', 'invalid'],
  ['https://git.example.com', 'https://evil.example\\@git.example.com', 'invalid'],
  ['https://git.example.com', 'https:\\\\evil.example', 'invalid'],
  ['https://git.example.com', 'https://git.example.com\t', 'invalid'],
  ['https://git.example.com', 'https://git.example.com\n', 'invalid'],
  ['https://git.example.com', ' https://git.example.com', 'invalid'],
  ['https://git.example.com', 'HTTPS://git.example.com', 'invalid'],
  ['https://git.example.com', 'https://git.example.com#', 'invalid'],
  ['https://git.example.com', 'git.example.com', 'invalid'],
  ['https://git.example.com', 'https://git.example.com\u0000.evil.example', 'invalid'],
  ['https://git.example.com', 'https://git.example.com%00.evil.example', 'invalid'],
  ['https://git.example.com', 'https://git.example.com%40evil.example', 'invalid'],
  ['https://git.example.com', 'https://\u202eevil.example', 'invalid'],
  ['https://git.example.com', 'https://git.example.com:65536', 'invalid'],
  ['https://git.example.com', 'https://', 'invalid'],
  ['https://git.example.com', 'ftp://git.example.com', 'invalid'],
  ['https://git.example.com', 'file:///etc/passwd', 'invalid'],
  ['https://git.example.com', 'javascript:alert(1)', 'invalid'],
];

/** Returns the program's verdict on this pair, from the group's YAML to the header of a request. */
async function verdictOf(bound: string, url: string): Promise<Verdict> {
  const read = await readGroup(url);
  if (read === undefined) return 'invalid';
  try {
    const token = await findToken(read, { secretsDir: secretBoundTo(bound), env: {} });
    // The token answers for the very URL that the group is asked at.
    return token.headerFor(new URL(`${read.giteaUrl}/api/v1/version`)) === `token ${SECRET}` ? 'sent' : 'refused';
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    expect(error).toMatchObject({ exit: 3, code: 'GR-TOKEN-05' });
    expect(error.message).not.toContain(SECRET);
    return 'refused';
  }
}

/** The group as a file brings it; undefined when its URL is refused there. */
async function readGroup(url: string): Promise<RunnerGroup | undefined> {
  try {
    return await groupOf({ gitea: { url } });
  } catch (error) {
    if (error instanceof InputProblems) return undefined;
    throw error;
  }
}

function secretBoundTo(url: string): string {
  return folderWith({ 'gitea-api/token': SECRET, 'gitea-api/url': url });
}

describe('a token bound to', () => {
  it.each(PAIRS)('%j and a group with %j: %s', async (bound, group, verdict) => {
    expect(await verdictOf(bound, group)).toBe(verdict);
  });

  it.each(['', 'git.example.com', 'file:///etc/passwd'])('what is no Gitea, %j, goes nowhere', async (bound) => {
    const promise = findToken(runnerGroup(), { secretsDir: secretBoundTo(bound), env: {} });

    await expect(promise).rejects.toMatchObject({ exit: 3 });
  });

  it.each(['https://user:password@gitea.example.com', 'https://gitea.example.com?x=1', 'https://gitea.example.com#x'])(
    'a URL that says more than where Gitea is, %j, goes nowhere, and the message does not repeat it',
    async (bound) => {
      const promise = findToken(runnerGroup(), { secretsDir: secretBoundTo(bound), env: {} });

      await expect(promise).rejects.toMatchObject({
        exit: 3,
        code: 'GR-TOKEN-04',
        message: expect.not.stringMatching(/password|x=1|#x/),
      });
    },
  );
});

it('the normal form of a base URL is its own normal form', () => {
  const forms = PAIRS.flatMap(([bound, group]) => [normalBase(bound), normalBase(group)]).filter(
    (form) => form !== undefined,
  );

  expect(forms.length).toBeGreaterThan(80);
  expect(forms.map(normalBase)).toEqual(forms);
});

// Node 20 was wrong after some thousand calls of URL.canParse.
it('a host with a letter like ü has a normal form, also at the hundred thousandth call', () => {
  // The first hundred are remembered.
  for (let at = 0; at < 100; at += 1) normalBase(`https://${at}.example`);
  let right = 0;
  for (let at = 0; at < 100_000; at += 1) if (normalBase('https://zürich.example') !== undefined) right += 1;

  expect(right).toBe(100_000);
});
