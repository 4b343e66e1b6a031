/**
 * Tests that recorded answers of real Giteas (test/servers/record.ts) can be read: the stand-in of other tests could
 * have the same fault as the code.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  readJobPage,
  readLogin,
  readMaxItems,
  readRepos,
  readRunnerPage,
  readVersionText,
} from '../../../src/clients/gitea/shapes.ts';
import { judgeVersion, type VersionFacts } from '../../../src/clients/gitea/version.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, json } from '../../support/gitea-stand-in.ts';
import { lookAt } from '../../support/looking.ts';

const ROOT = join(import.meta.dirname, 'recorded');
const Recording = z.object({
  request: z.object({ path: z.string() }),
  answer: z.object({ status: z.int(), headers: z.record(z.string(), z.string()), body: z.unknown() }),
});

const CODES = new Map([
  [400, 'GR-GITEA-06'],
  [401, 'GR-GITEA-01'],
  [403, 'GR-GITEA-02'],
  [404, 'GR-GITEA-03'],
]);

function recordings(version: string) {
  return readdirSync(join(ROOT, version)).map((file) => ({
    file,
    ...Recording.parse(JSON.parse(readFileSync(join(ROOT, version, file), 'utf8'))),
  }));
}

function versionOf(text: string): VersionFacts {
  const verdict = judgeVersion(text);
  if ('code' in verdict) throw new Error(`${text}: ${verdict.received}`);
  return verdict;
}

describe.each(readdirSync(ROOT))('Gitea %s', (version) => {
  const good = recordings(version).filter(({ answer }) => answer.status === 200);

  test('a recorded Gitea has its answers read', () => {
    for (const { file, request, answer } of good) {
      const path = request.path.split('?', 1).join('');
      const read = () => {
        if (path.endsWith('/actions/jobs')) return readJobPage(answer.body, versionOf(version), Date.now());
        if (path.endsWith('/actions/runners')) return readRunnerPage(answer.body);
        if (path.endsWith('/repos')) return readRepos(answer.body);
        if (path.endsWith('/user')) return readLogin(answer.body);
        if (path.endsWith('/settings/api')) return readMaxItems(answer.body);
        return readVersionText(answer.body);
      };
      expect(read, file).not.toThrow();
    }
    expect(good.length).toBeGreaterThan(20);
  });

  test('says its version', () => {
    const said = good.find(({ request }) => request.path === '/api/v1/version');

    expect(versionOf(readVersionText(said?.answer.body)).text).toBe(version);
  });

  test('shows the states under the words that were asked for', () => {
    const states = (path: string) =>
      good
        .filter(
          ({ request }) =>
            request.path.includes('/actions/jobs') &&
            new URL(request.path, 'http://g').searchParams.getAll('status').join() === path,
        )
        .flatMap(({ answer }) =>
          readJobPage(answer.body, versionOf(version), Date.now()).rows.map(({ status }) => status),
        );

    expect(new Set(states('queued'))).toEqual(new Set(['queued']));
    expect(new Set(states('in_progress'))).toEqual(new Set(['in_progress']));
    expect(new Set(states('waiting'))).toEqual(new Set(['blocked']));
    expect(new Set(states('completed'))).toEqual(new Set(['completed']));
  });

  test.each(recordings(version).filter(({ file }) => file.startsWith('error-')))(
    'a recorded Gitea has its refusal told without its text: $file',
    async ({ answer }) => {
      const gitea = await fakeGitea({
        version,
        intercept: ({ path }, response) => !path.endsWith('/version') && json(response, answer.body, answer.status),
      });

      const failure = await failureOf(lookAt(gitea.url));

      expect(failure.code).toBe(CODES.get(answer.status));
      expect(failure.message).not.toContain('required scope');
      expect(failure.message).not.toContain('swagger');
    },
  );
});
