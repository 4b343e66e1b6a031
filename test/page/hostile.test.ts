/** Names that people, workflows and servers choose, in every place of the page; and very many jobs. */
import { expect, it } from 'vitest';
import {
  type Frame,
  groupContent,
  groupsContent,
  jobContent,
  jobsContent,
  messageContent,
  pageOf,
  signInContent,
} from '../../src/page/html.ts';
import type { GroupAnswer, JobAnswer, JobRow, JobsPage } from '../../src/page/view.ts';
import { until } from '../serve/rig.ts';
import { startPage } from './start-page.ts';

/** Ends a text, an attribute, a comment and a script, and would then show as a separate element or attribute. */
const HOSTILE = `"'><i id=evil onclick="alert(1)"></title></script><!--&lt;\u202e{}`;
const AT = '2026-01-01T00:00:00.000Z';

const JOB: JobRow = {
  id: 7,
  repository: HOSTILE,
  name: HOSTILE,
  run: { id: 1, name: HOSTILE, text: HOSTILE, actor: HOSTILE },
  branch: HOSTILE,
  state: 'held',
  runsOn: [HOSTILE],
  createdAt: AT,
  what: HOSTILE,
  group: HOSTILE,
  placeInLine: 1,
  estimate: { seconds: 1, from: 1, to: 2 },
  runner: HOSTILE,
  link: `https://gitea.example.com/${HOSTILE}`,
};
const ENDED: JobRow = { ...JOB, state: 'ended', endedAt: AT };
const JOBS: JobsPage = {
  checkedAt: AT,
  counts: { unserved: 0, held: 1, starting: 0, blocked: 0, running: 0 },
  page: 2,
  pages: 3,
  jobs: [JOB],
  ended: [ENDED],
  unknownRepositories: 3,
};
const ANSWER: JobAnswer = { checkedAt: AT, job: JOB, title: HOSTILE, answer: [[HOSTILE, HOSTILE]] };
const GROUP: GroupAnswer = {
  checkedAt: AT,
  group: HOSTILE,
  scope: HOSTILE,
  labels: [HOSTILE],
  isSuspended: true,
  cap: 1,
  busy: 1,
  starting: 1,
  idle: 1,
  debugging: 1,
  queue: 1,
  problem: HOSTILE,
  answer: [[HOSTILE, HOSTILE]],
  waits: [{ from: AT, jobs: 1, median: 1, longest: 2 }],
  runners: [
    {
      runner: HOSTILE,
      what: HOSTILE,
      pod: HOSTILE,
      node: HOSTILE,
      createdAt: AT,
      state: 'running',
      logLink: `https://logs.example.com/${HOSTILE}`,
    },
  ],
  moreRunners: 1,
  jobs: [JOB],
};
const FRAME: Frame = {
  title: HOSTILE,
  login: HOSTILE,
  age: { atMs: 0, nowMs: 60_000, trouble: HOSTILE },
  path: `/${HOSTILE}`,
};

it.each([
  ['my jobs', jobsContent(JOBS, { page: 1, repository: HOSTILE, branch: HOSTILE, state: undefined, mine: true }), 14],
  ['one job', jobContent(ANSWER), 8],
  ['groups', groupsContent({ checkedAt: AT, groups: [GROUP], broken: [{ group: HOSTILE, problem: HOSTILE }] }), 9],
  ['one group', groupContent(GROUP), 18],
  ['sign-in', signInContent(`/${HOSTILE}`, HOSTILE), 4],
  ['a message', messageContent(HOSTILE), 4],
])('a hostile name stays a text in all places of %s', (_, content, places) => {
  const html = pageOf(FRAME, content);

  const shown = html.split('&lt;i id=evil onclick=').length - 1;
  expect(shown).toBeGreaterThanOrEqual(places);
  expect(html).not.toMatch(/<i[\s>]/);
  expect(html).not.toMatch(/<!--/);
  // The page's own scripts and nothing else.
  expect(html.match(/<script/g)).toHaveLength(1);
  expect(html.match(/<title[\s>]/g)?.length).toBeLessThanOrEqual(2);
  // All attributes end where they should: no quote but those of the page is between them.
  expect(html.replace(/<[a-z0-9]+(?:\s[\w-]+="[^"<>]*")*\s*\/?>|<\/[a-z0-9]+>|<!doctype html>/gi, '')).not.toMatch(
    /[<>"]/,
  );
});

it('a hostile name comes through a whole look as a text, from workflow, runner, pod and filter', async () => {
  const { cluster, got, signIn, simulator } = await startPage();
  const { gitea } = simulator;
  const { jobs } = gitea.push('acme/web', { jobs: [{ key: 'evil', name: HOSTILE, runsOn: ['linux', HOSTILE] }] });
  gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  await until('a Job is there', () => cluster.all('jobs').length === 1);
  const browser = await signIn('anna');
  const query = new URLSearchParams({ repository: HOSTILE });

  const pages = await Promise.all(
    ['/', `/jobs/${jobs[0]?.id}`, '/groups/runners/ci', `/?${query}`].map((path) => got(browser, path)),
  );

  for (const { status, text } of pages) {
    expect(status).toBe(200);
    expect(text).not.toMatch(/<i[\s>]|\u202e/);
  }
  expect(pages[0]?.text).toContain('&lt;i id=evil');
  expect(pages[0]?.text).toContain('\\u{202e}');
});

it('5,000 jobs are pages of a hundred, with all of them counted', async () => {
  // A busy machine is not a fault.
  const { page, signIn, simulator } = await startPage({ timeoutMs: 60_000 });
  for (let run = 0; run < 50; run += 1)
    simulator.gitea.push('acme/web', {
      jobs: Array.from({ length: 100 }, (_, index) => ({ key: `part-${index}`, runsOn: ['linux'] })),
    });
  const browser = await signIn('anna');
  const open = async (path: string) => (await browser.open(`${page}${path}`)).text;

  await until('all are seen', async () => (await open('/')).includes('Page 1 of 50'));
  const [first, last] = [await open('/'), await open('/?page=50')];

  expect(first).toMatch(/Jobs: \d unserved, 49\d\d held back, \d starting/);
  expect(first.match(/<li id="job-/g)).toHaveLength(100);
  expect(last.match(/<li id="job-/g)).toHaveLength(100);
  expect(first.length).toBeLessThan(150_000);
  expect(await open('/?page=99999')).toContain('Page 50 of 50');
});
