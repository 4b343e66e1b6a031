/** Tests how far the history of a scope is read, and the notes if it is not whole. */
import { describe, expect, it } from 'vitest';
import { GiteaApi } from '../../../src/clients/gitea/api.ts';
import { Shelf } from '../../../src/clients/gitea/bounds.ts';
import { readScopeHistory } from '../../../src/clients/gitea/history.ts';
import type { Scope } from '../../../src/shared/scope.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, type JobRow, jobRow, json } from '../../support/gitea-stand-in.ts';
import { ACME, accessTo, idsOf, SECRET, upTo } from '../../support/looking.ts';

const TO_MS = Date.parse('2026-08-10T00:00:00Z');
const HOUR_MS = 3_600_000;
/** Makes `count` jobs of a minute each. The last one ends one step before the period does, each other a step earlier. */
function past(count: number, stepMs = HOUR_MS): JobRow[] {
  return upTo(count).map((id) => {
    const ms = TO_MS - (count - id + 1) * stepMs;
    const at = (back: number): string => new Date(ms - back).toISOString().replace('.000', '');
    const times = { created_at: at(120_000), started_at: at(60_000), completed_at: at(0) };
    return jobRow(id, 'completed', {
      ...times,
      conclusion: 'success',
      runner_id: id,
      runner_name: `r-${id}`,
      run_id: id,
    });
  });
}

interface More {
  readonly mostPages?: number;
  readonly bytes?: number;
  readonly scope?: Scope;
}

async function read(url: string, days: number, { bytes, mostPages, scope = ACME }: More = {}) {
  const api = new GiteaApi({ ...accessTo(url), shelf: new Shelf(bytes) });
  const period = { fromMs: TO_MS - days * 24 * HOUR_MS, toMs: TO_MS };
  return await readScopeHistory(api, scope, { workflows: false, ...period, ...(mostPages && { mostPages }) });
}

const completedPages = (lines: readonly string[]): number =>
  lines.filter((line) => line.includes('status=completed')).length;

describe.each(['1.26.0', '1.27.3'])('the history of Gitea %s', (version) => {
  it('the history of a Gitea has all jobs of the period, and ends at a page that is two days older', async () => {
    const gitea = await fakeGitea({ version, jobs: past(1000) });

    const history = await read(gitea.url, 7);

    expect(idsOf(history)).toEqual(upTo(1000).slice(-168));
    expect(history.isWhole).toBe(true);
    // 168 hours and 48 more are five pages. After the first page, four are read at a time. 1.26 has no order: all
    // twenty are read.
    expect(completedPages(gitea.lines())).toBeLessThanOrEqual(version === '1.26.0' ? 20 : 9);
  });

  it('the history of a Gitea has jobs that were created up to two days before the period', async () => {
    // The last 199 of 600 jobs in 150 hours ended in the period. The fifth page is older by less than two days.
    const jobs = past(600, HOUR_MS / 4).map((row) =>
      row.id === 321 ? { ...row, completed_at: new Date(TO_MS - 1000).toISOString().replace('.000', '') } : row,
    );
    const gitea = await fakeGitea({ version, jobs });

    expect(idsOf(await read(gitea.url, 199 / 4 / 24))).toEqual([321, ...upTo(600).slice(-199)]);
  });

  it('the history of a Gitea says that it is not whole when the bound of pages is met, and has what was read', async () => {
    const gitea = await fakeGitea({ version, jobs: past(1000) });

    const history = await read(gitea.url, 90, { mostPages: 8 });

    expect(history.isWhole).toBe(false);
    expect(idsOf(history)).toEqual(expect.arrayContaining(upTo(1000).slice(-400)));
    expect(completedPages(gitea.lines())).toBeLessThanOrEqual(9);
  });

  it('the history of a Gitea says that it is not whole when a row cannot be understood', async () => {
    const jobs = past(20).map((row) => (row.id === 7 ? { ...row, started_at: 'soon' } : row));
    const gitea = await fakeGitea({ version, jobs });

    const history = await read(gitea.url, 7);

    expect([history.isWhole, idsOf(history)]).toEqual([false, upTo(20).filter((id) => id !== 7)]);
  });

  it('the history of a Gitea is read again when rows may have moved to a page that was read', async () => {
    const jobs = past(120);
    const gitea = await fakeGitea({
      version,
      jobs,
      intercept: ({ query }) => {
        // Once: 1.27 loses a row of the first page, 1.26 gets one more there.
        const isSecond = query.get('status') === 'completed' && query.get('page') === '2' && jobs.length === 120;
        if (isSecond && version === '1.27.3') jobs.pop();
        if (isSecond && version === '1.26.0') jobs.unshift(...past(1).map((row) => ({ ...row, id: 10_000 })));
        return undefined;
      },
    });

    const history = await read(gitea.url, 30);

    expect(history.isWhole).toBe(true);
    expect(completedPages(gitea.lines())).toBeGreaterThan(4);
  });

  it('the history of a Gitea fails when Gitea refuses', async () => {
    const gitea = await fakeGitea({
      version,
      jobs: past(3),
      intercept: ({ query }, response) => query.get('status') === 'completed' && json(response, { message: 'no' }, 403),
    });

    const failure = await failureOf(read(gitea.url, 7));

    expect(failure).toMatchObject({ code: 'GR-GITEA-02', exit: 1 });
    expect(failure.message).not.toContain(SECRET);
  });
});

it('the history of an old Gitea whose database has no order is read from all pages', async () => {
  // As PostgreSQL may have it: the newest rows where old ones have been.
  const jobs = [...past(400).slice(200), ...past(400).slice(0, 200)];
  const gitea = await fakeGitea({ version: '1.26.0', jobs });

  const history = await read(gitea.url, 2);

  expect([history.isWhole, idsOf(history)]).toEqual([true, upTo(400).slice(-48)]);
});

it('the history is not whole when there is no room for a row', async () => {
  const gitea = await fakeGitea({ jobs: past(40) });

  const history = await read(gitea.url, 7, { bytes: 6_000 });

  expect(history.isWhole).toBe(false);
  expect(history.jobs.length).toBeGreaterThan(5);
  expect(history.jobs.length).toBeLessThan(20);
});

it('the history of a user whose token this is not is that of all his repositories with Actions', async () => {
  const repo = (name: string, has_actions = true) => ({ name, owner: { login: 'mia' }, empty: false, has_actions });
  const gitea = await fakeGitea({ jobs: past(3), repos: [repo('a'), repo('b'), repo('off', false)] });

  const history = await read(gitea.url, 7, { scope: { kind: 'user', user: 'mia' } });

  expect(idsOf(history)).toEqual([1, 2, 3]);
  const asked = gitea.lines().flatMap((line) => /repos\/mia\/(\w+)\/actions\/jobs.*completed/.exec(line)?.[1] ?? []);
  expect(asked).toEqual(['a', 'b']);
});
