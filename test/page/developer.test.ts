/** Tests what a developer looks for: the push of a job, one's own jobs, whom to ask, and a way back. */
import { expect, it } from 'vitest';
import type { ExplainedGroup, ExplainedJob, Explanation } from '../../src/answers/model.ts';
import type { Run } from '../../src/clients/gitea/runs.ts';
import { jobContent, jobsContent } from '../../src/page/html.ts';
import { FRESH_MS } from '../../src/page/look.ts';
import { type Figures, groupFor, jobFor, jobsFor, type Reader } from '../../src/page/view.ts';
import type { Job } from '../../src/planner/evidence.ts';
import { until } from '../serve/rig.ts';
import { job } from '../support/scenario.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { Browser } from './browser.ts';
import { startPage } from './start-page.ts';

const GROUP = { namespace: 'runners', name: 'ci' };
const LINUX = { runsOn: ['linux'] };
const ALL = { repository: '', branch: '', state: undefined, mine: false, page: 1 };
const RUN: Run = {
  id: 7,
  number: 128,
  repository: 'acme/web',
  workflow: 'ci.yml',
  event: 'push',
  branch: 'feature/x',
  status: 'queued',
  title: 'Mend the cart',
  actor: 'ann',
  url: '',
};

function held(of: Job, more: object = { because: 'cap', group: GROUP, cap: 1, position: 1 }): ExplainedJob {
  return { job: of, origin: 'https://gitea.example.com', verdict: 'held', state: 'held', ...more } as ExplainedJob;
}

function figures(jobs: readonly ExplainedJob[], runs: readonly Run[] = [RUN], begun: readonly Job[] = []): Figures {
  const counts = { cap: 1, busy: 1, waiting: 0, debugging: 0, spare: 0, warm: 0, minIdle: 0, held: 1, cannotStart: 0 };
  const written = { file: 'f', gitea: 'https://gitea.example.com', scope: 'org acme', labels: ['linux'] };
  const group: ExplainedGroup = { ...GROUP, ...written, ...counts, suspended: false };
  const checkedAt = '2026-11-25T12:30:00.000Z';
  const explanation: Explanation = { checkedAt, groups: [group], jobs, runners: [] };
  return {
    explanation,
    details: () => (of) => of,
    repositories: new Set(),
    scopes: new Map([['runners/ci', { kind: 'org', org: 'acme' }]]),
    begun,
    runOf: (id) => runs.find((run) => run.id === id),
    pods: new Map(),
    instance: '',
  };
}

function reader(owns = false, login = 'ann'): Reader {
  const mayRead = (repository: string): boolean => repository === 'acme/web';
  return { login, isAdmin: false, mayRead, owns: () => owns, unknown: 0, rights: '' };
}

const PUSHED = { runId: 7, branch: 'feature/x', commit: '3f2a91c' };

it('a job names its push: run, title, branch, commit, workflow, event and person', () => {
  const shown = jobsFor(figures([held(job(1, PUSHED))]), reader());

  expect(shown.jobs[0]?.run).toEqual({
    id: 7,
    name: 'acme/web #128',
    text: 'Mend the cart · feature/x · 3f2a91c · ci.yml · push by ann',
    actor: 'ann',
  });
});

it('a job names what its own row tells while Gitea has not told of its run, and nothing of a run that nobody may read', () => {
  const hidden = { ...RUN, id: 8, title: 'hush', actor: 'hush-hush' };
  const shown = jobsFor(
    figures([held(job(1, { ...PUSHED, runId: 9 })), held(job(2, { repository: 'acme/secret', runId: 8 }))], [hidden]),
    reader(),
  );

  expect(shown.jobs.map(({ run }) => [run.name, run.text])).toEqual([['acme/web', 'feature/x · 3f2a91c']]);
  expect(JSON.stringify(shown)).not.toContain('hush');
});

it('a job shows hostile branches, titles and workflows as short printable texts', () => {
  const evil = `<i>\u202e${'x'.repeat(300)}`;
  const shown = jobsFor(
    figures(
      [held(job(1, { ...PUSHED, branch: evil }))],
      [{ ...RUN, title: evil.slice(0, 100), workflow: evil, event: evil.slice(0, 9) }],
    ),
    reader(),
  );
  const html = String(jobsContent(shown, { ...ALL, branch: evil }));

  expect(shown.jobs[0]?.run.text.length).toBeLessThan(300);
  expect(html).not.toMatch(/<i>|\u202e/);
  expect(html).toContain('&lt;i&gt;\\u{202e}xxx');
});

it('a job stands under its run, and the run with the worst job comes first', () => {
  const jobs = [held(job(1, { runId: 7 }), { because: 'labels-not-covered', state: 'unserved' })];
  const more = [held(job(2, { runId: 8 })), held(job(3, { runId: 7 }))];
  const shown = jobsFor(figures([...jobs, ...more]), reader());

  expect(shown.jobs.map(({ id }) => id)).toEqual([1, 3, 2]);
  const html = String(jobsContent(shown, ALL));
  expect(html.match(/<h3>/g)).toHaveLength(2);
  expect(html.match(/<h4><a href="\/jobs\/\d">/g)).toHaveLength(3);
});

it('filters leave the jobs of one person, of a branch, and of a state; counts are of all states', () => {
  const jobs = [
    held(job(1, { runId: 7, branch: 'feature/x' })),
    held(job(2, { runId: 8, branch: 'main' })),
    held(job(3, { runId: 9, branch: 'main' }), { because: 'blocked', state: 'blocked' }),
  ];
  const ended = ['ann', 'ben'].map((_, index) =>
    job(10 + index, { runId: 7 + index, status: 'completed', completedAtMs: 1 }),
  );
  const shown = figures(jobs, [RUN, { ...RUN, id: 8, actor: 'Ben' }], ended);
  const ids = (wanted: object, login = 'ann') => {
    const { jobs: open, ended: over } = jobsFor(shown, reader(false, login), { ...ALL, ...wanted });
    return [...open, ...over].map(({ id }) => id);
  };

  expect(ids({})).toEqual([1, 2, 3, 10, 11]);
  expect(ids({ mine: true })).toEqual([1, 10]);
  expect(ids({ mine: true }, 'ben')).toEqual([2, 11]);
  expect(ids({ mine: true }, 'carl')).toEqual([]);
  expect(ids({ branch: 'MAI' })).toEqual([2, 3]);
  expect(ids({ state: 'blocked', branch: 'main' })).toEqual([3]);
  expect(jobsFor(shown, reader(), { ...ALL, state: 'blocked' }).counts).toMatchObject({ held: 2, blocked: 1 });
});

it.each([
  ['cap', { cap: 1, position: 1 }, 'wait, or ask an owner of group runners/ci to raise the cap'],
  ['limit', { limit: { most: 2 }, position: 1 }, 'wait, or ask an owner of group runners/ci to raise the limit'],
  ['suspended', {}, 'ask an owner of group runners/ci when it goes on'],
  ['backing-off', {}, 'ask an owner of group runners/ci why its runners fail'],
  ['no-labels', { group: undefined }, 'give it a runs-on in the workflow; the call of a reusable workflow needs none'],
])('advice for a person who owns no group says whom to ask: %s', (because, more, next) => {
  const shown = figures([held(job(1), { because, group: GROUP, ...more })]);
  const nextOf = (owns: boolean) =>
    jobFor(shown, reader(owns), 1)?.answer.flatMap(([name, text]) => (name === 'Next' ? text : []));

  expect(nextOf(false)).toEqual([next]);
  expect(nextOf(false)?.join()).not.toMatch(/spec\.|kubectl/);
  if (because === 'cap') expect(nextOf(true)?.join()).toContain('raise spec.maxActiveRunners');
});

it('explains what Gitea says itself of a job that waits, and of no other', () => {
  const jobs = [held(job(1)), held(job(2, { status: 'blocked' }), { because: 'blocked', state: 'blocked' })];
  const told = [1, 2].map((id) => JSON.stringify(jobFor(figures(jobs), reader(), id)?.answer));

  expect(told[0]).toContain('No runner is online to pick up this job.');
  expect(told[1]).not.toContain('No runner is online');
});

it('a group that is only the nearest one is called that, and the job is none of its jobs', () => {
  const shown = figures([
    held(job(1, { labels: ['lunix'] }), { because: 'labels-not-covered', state: 'unserved', nearest: GROUP }),
  ]);

  expect(jobsFor(shown, reader()).jobs[0]).toMatchObject({ nearestGroup: 'runners/ci' });
  expect(jobsFor(shown, reader()).jobs[0]).not.toHaveProperty('group');
  expect(groupFor(shown, reader(true), 'runners/ci')?.jobs).toEqual([]);
  const answer = jobFor(shown, reader(), 1);
  expect(answer && String(jobContent(answer))).toContain('<dt>Nearest group</dt><dd>runners/ci</dd>');
});

it('names are links where they have a page, and none where they have not', () => {
  const slot: [string, string] = ['Slot', 'ci-9-1-cab9cee3 stays: it runs job 9 "job 8" of acme/web'];
  const other: [string, string] = ['Slot', 'ci-8-1-cab9cee3 stays: it runs job'];
  const shown = figures([held(job(1))]);
  const [own, foreign] = [true, false].map((owns) => {
    const answer = jobFor(shown, reader(owns), 1);
    return answer && String(jobContent({ ...answer, answer: [slot, other] }));
  });

  expect(own).toContain('<a href="/groups/runners/ci">runners/ci</a>');
  expect(foreign).toContain('<dd>runners/ci</dd>');
  expect(foreign).toContain('<a href="/jobs/9">ci-9-1-cab9cee3 stays: it runs job 9</a>');
  expect(foreign?.match(/href="\/jobs/g)).toHaveLength(1);
});

it('times are UTC and say so, for the script to make local ones of them', () => {
  const answer = jobFor(figures([held(job(1, { createdAtMs: Date.UTC(2026, 10, 25, 12, 20) }))]), reader(), 1);
  const html = answer && String(jobContent(answer));

  const time = '<time class="at" datetime="2026-11-25T12:20:00Z">2026-11-25 12:20:00 UTC</time>';
  expect(html).toContain(`(${time})`);
  expect(html).toContain(time.replace('00Z', '00.000Z'));
});

it('My jobs are those of runs that the person has started, and Jobs are all', async () => {
  const { got, signIn, simulator } = await startPage();
  simulator.gitea.addUser('ben');
  simulator.gitea.push('acme/web', { jobs: [{ key: 'of-anna', ...LINUX }], actor: 'anna' });
  simulator.gitea.push('acme/web', { jobs: [{ key: 'of-ben', ...LINUX }], actor: 'ben' });
  const browser = await signIn('anna');

  await until('runs are known', async () => (await got(browser, '/')).text.includes('push by ben'));
  const [jobs, mine] = [await got(browser, '/'), await got(browser, '/mine')];

  expect(jobs.text).toMatch(/of-anna[\s\S]*of-ben|of-ben[\s\S]*of-anna/);
  expect(jobs.text).toContain('<a href="/" aria-current="page">Jobs</a> <a href="/mine">My jobs</a>');
  expect(mine.text).toContain('of-anna');
  expect(mine.text).not.toContain('of-ben');
  expect(mine.text).toContain('<h1>My jobs</h1>');
});

it('Gitea is asked of runs when one is new, once, and not for each job', async () => {
  const clock = new SkippingClock();
  const { got, signIn, simulator } = await startPage({ clock });
  /** After a look that is not older than this. */
  const shown = async (browser: Browser) => {
    clock.leaveOut(FRESH_MS);
    return await got(browser, '/');
  };
  const push = () =>
    simulator.gitea.push('acme/web', {
      jobs: Array.from({ length: 30 }, (_, index) => ({ key: `j${index}`, ...LINUX })),
    });
  push();
  const browser = await signIn('anna');
  await until('the run is known', async () => (await shown(browser)).text.includes('acme/web #1'));
  const asked = () => simulator.requests.filter(({ target }) => target.includes('/actions/runs')).length;
  const looks = () => simulator.requests.filter(({ target }) => target.includes('status=waiting')).length;
  const [before, looked] = [asked(), looks()];

  await until('it has looked again', async () => (await shown(browser)).status === 200 && looks() > looked + 1);
  const quiet = asked();
  push();
  await until('the next is known', async () => (await shown(browser)).text.includes('acme/web #2'));

  expect(before).toBe(1);
  expect(quiet).toBe(1);
  expect(asked()).toBe(2);
});

it('a dead end has navigation and a way back', async () => {
  const { got, page, signIn } = await startPage();
  const browser = await signIn('anna');

  const [gone, strange] = [await got(browser, '/jobs/99999'), await new Browser().open(`${page}/signed-in?code=x`)];

  expect(gone.status).toBe(404);
  expect(gone.text).toContain('<a href="/groups">Groups</a>');
  for (const { text } of [gone, strange]) expect(text).toContain('<a href="/">To the jobs</a>');
});
