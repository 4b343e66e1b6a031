/** Looks that are recorded, sealed, opened and played again (law F170). Real requests. */
import { describe, expect, it } from 'vitest';
import { keysOf, type OpenLook, opened, recordingOf, sealed } from '../../../src/clients/gitea/kept-look.ts';
import { type GiteaTarget, giteaClient, observeEach } from '../../../src/clients/gitea/observe-gitea.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { type FakeOptions, fakeGitea, jobRow, jobRows, json, runnerRow } from '../../support/gitea-stand-in.ts';
import { lookAt, OPTIONS, SECRET, targetOf } from '../../support/looking.ts';
import { fc, RUNS } from '../../support/property.ts';

const NONCE = 'ab'.repeat(16);
const VERSION = '1.27.3';

async function recorded(target: GiteaTarget, most = 1_000_000_000) {
  const http = giteaClient({ deadlineMs: 600_000, env: {} });
  let bytes = 0;
  const recording = recordingOf(http, systemClock.steadyMs, (more) => {
    bytes += more;
    return bytes <= most;
  });
  const beganMs = systemClock.steadyMs();
  try {
    const look = (await observeEach([target], { ...OPTIONS, http: recording })).get(target.key);
    return { look, beganMs, version: VERSION, answers: recording.answers() };
  } finally {
    await http.close();
  }
}

function seal(look: Awaited<ReturnType<typeof recorded>>, target: GiteaTarget, nonce = NONCE): Buffer {
  const { answers = [] } = look;
  return Buffer.concat([...sealed({ ...look, answers }, keysOf(target).secret, nonce, systemClock.steadyMs())]);
}

const openAs = (bytes: Buffer, target: GiteaTarget, nonce = NONCE) => opened(bytes, keysOf(target).secret, nonce);

async function play(look: OpenLook | undefined, target: GiteaTarget) {
  if (!look) throw new Error('not opened');
  const versions = new Map([[target.url, Promise.resolve(look.version)]]);
  return (await observeEach([target], { ...OPTIONS, http: look.sender, versions })).get(target.key);
}

/** A Gitea with so many rows of each kind. */
const world = fc.record({
  queued: fc.nat(120),
  running: fc.nat(60),
  completed: fc.nat(200),
  runners: fc.nat(120),
  busy: fc.boolean(),
  maxItems: fc.constantFrom(20, 50),
  name: fc.string({ unit: 'grapheme' }),
});

type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

function rowsOf({ queued, running, completed, runners, busy, name, maxItems }: World): FakeOptions {
  const jobs = [
    ...jobRows(1_000, completed, 'completed'),
    ...Array.from({ length: running }, (_, at) => jobRow(2_000 + at, 'in_progress', { name, runner_name: `r${at}` })),
    ...jobRows(3_000, queued),
  ];
  return { jobs, maxItems, runners: Array.from({ length: runners }, (_, at) => runnerRow(at + 1, `r${at}`, { busy })) };
}

it('a look that is played again is the look that Gitea itself gives, and asks it nothing', {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(world, async (made) => {
      const gitea = await fakeGitea(rowsOf(made));
      const target = targetOf(gitea.url);
      const kept = await recorded(target);
      const direct = await lookAt(gitea.url);
      const before = gitea.seen.length;

      const played = await play(openAs(seal(kept, target), target), target);

      expect(JSON.stringify(played)).toBe(JSON.stringify(direct));
      expect(gitea.seen.length).toBe(before);
      await gitea.close();
    }),
    { numRuns: Math.min(RUNS, 25) },
  );
});

it('a look that is played again fails when something is asked that was not kept', async () => {
  const gitea = await fakeGitea({ jobs: jobRows(1, 3) });
  const target = targetOf(gitea.url);
  const look = openAs(seal(await recorded(target), target), target);

  await expect(
    play(look, { ...target, url: `${gitea.url}/other`, token: new Token(SECRET, `${gitea.url}/other`) }),
  ).rejects.toThrow();
  await expect(play(look, { ...target, scope: { kind: 'global' } })).rejects.toThrow();
});

describe('a sealed look', () => {
  const target = targetOf('http://gitea.example.com');
  const some = {
    beganMs: 0,
    version: VERSION,
    look: undefined,
    answers: [
      {
        url: 'http://a/',
        body: Buffer.from('{"jobs":[]}'),
        total: undefined,
        date: undefined,
        sentMs: 0,
        receivedMs: 0,
      },
    ],
  };
  const bytes = seal(some, target);

  it('a sealed look opens for the same token, Gitea, scope and nonce', () => {
    expect(openAs(bytes, target)?.version.text).toBe(VERSION);
  });

  it.each<[string, GiteaTarget, string]>([
    ['another token', { ...target, token: new Token('other', target.url) }, NONCE],
    ['another Gitea', targetOf('http://gitea.example.org'), NONCE],
    ['another scope', targetOf(target.url, { kind: 'org', org: 'acme2' }), NONCE],
    ['an answer of before', target, 'cd'.repeat(16)],
  ])('a sealed look does not open for %s', (_, asked, nonce) => {
    expect(openAs(bytes, asked, nonce)).toBeUndefined();
  });

  it('a sealed look does not open when a bit of it has changed, or anything is missing or added', () => {
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const other = Buffer.from(bytes);
        other[at] = (other[at] ?? 0) ^ change;
        expect(openAs(other, target)).toBeUndefined();
        expect(openAs(bytes.subarray(0, at), target)).toBeUndefined();
        expect(openAs(Buffer.concat([bytes, other.subarray(at)]), target)).toBeUndefined();
      }),
    );
  });

  it('a sealed look does not open when its list is not that of its answers, or its version is none', () => {
    const head = (answers: unknown, version = VERSION) => ({
      ...some,
      version,
      answers: answers as (typeof some)['answers'],
    });
    const lying = [{ ...some.answers[0], url: 5 }];

    expect(openAs(seal(head(lying), target), target)).toBeUndefined();
    expect(openAs(seal(head(some.answers, 'new'), target), target)).toBeUndefined();
  });

  it('a sealed look shows neither token nor answers, and is another one each time', () => {
    const { id } = keysOf(target);

    expect(id + bytes.toString('latin1')).not.toMatch(new RegExp(`${SECRET}|jobs`));
    expect(seal(some, target).equals(bytes)).toBe(false);
    expect(id).toMatch(/^[0-9a-f]{64}$/);
  });
});

it.each<[string, FakeOptions['intercept']]>([
  [
    'that was led elsewhere',
    ({ path, query }, response) => {
      if (path.startsWith('/api/v1/orgs/acme/')) {
        response
          .writeHead(307, { location: `/api/v1/orgs/acme-now${path.slice('/api/v1/orgs/acme'.length)}?${query}` })
          .end();
        return true;
      }
      return path.includes('/acme-now/') && json(response, { jobs: [], runners: [], total_count: 0 });
    },
  ],
  ['that was refused', ({ path }, response) => path.endsWith('/jobs') && json(response, {}, 403)],
  [
    'that met a portal',
    ({ path }, response) => {
      if (!path.endsWith('/jobs')) return false;
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      return true;
    },
  ],
])('nothing is kept of a look %s', async (_, intercept) => {
  const gitea = await fakeGitea({ ...(intercept && { intercept }) });

  expect((await recorded(targetOf(gitea.url))).answers).toBeUndefined();
});

it('nothing is kept of a look for which there is no memory', async () => {
  const gitea = await fakeGitea({ jobs: jobRows(1, 30) });

  expect((await recorded(targetOf(gitea.url), 1_000)).answers).toBeUndefined();
  expect((await recorded(targetOf(gitea.url))).answers).toBeDefined();
});
