/**
 * Situations on real Gitea, as an engineer meets them at 3 a.m.: each is made, and `explain` must tell its true cause
 * and the next step. Situations of pods, Argo CD and serve: test/cluster and test/cli/explain-cluster.test.ts.
 */
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Outcome } from '../support/run-cli.ts';
import type { ApiJob } from './account.ts';
import { GITEA_VERSIONS } from './build.ts';
import type { TestGroup } from './generate.ts';
import { waitUntil } from './process.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

const groupOf = (name: string, label: string, cap: number): TestGroup => ({ name, labels: [`${label}:host`], cap });

const GROUPS: readonly TestGroup[] = [
  groupOf('ci', 'linux', 1),
  groupOf('wide', 'wide', 5),
  groupOf('swap', 'swap', 2),
  groupOf('disabled', 'disabled', 1),
  groupOf('old', 'old', 5),
  groupOf('shelf', 'shelf', 1),
  groupOf('dark', 'dark', 1),
];

const JOBS = {
  first: { runsOn: 'linux' },
  second: { runsOn: 'linux' },
  after: { runsOn: 'linux', needs: 'first' },
  misspelt: { runsOn: 'linus' },
  legs: { runsOn: 'wide', matrix: 2 },
};

const TITLES = {
  starting: /waits for its runner/,
  held: /is held back/,
  blocked: /is blocked in Gitea/,
  unserved: /is unserved/,
};

type Answer = readonly [state: keyof typeof TITLES, cause: string, next: string];

/** Jobs of one run: why each waits, and what helps. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  first: [
    'starting',
    'would be started; the cluster was not looked at',
    'to see whether its runner starts, have the cluster looked at: add --kubeconfig',
  ],
  second: [
    'held',
    'held back by the cap of group runners/ci; 1st in line',
    'group runners/ci has no free slot (1 wanted): wait, or raise spec.maxActiveRunners in',
  ],
  // Gitea does not tell which job of the run it needs: the worst one is told.
  after: ['blocked', 'blocked: probably needs first (queued)', '"misspelt": runs-on linus: did you mean linux'],
  misspelt: ['unserved', 'labels not covered: linus (did you mean linux (runners/ci)?)', 'Correct it in the workflow'],
  // Gitea does not keep to max-parallel: all legs are ready at once.
  'legs (1)': ['starting', 'of group runners/wide', 'add --kubeconfig'],
  'legs (2)': ['starting', 'of group runners/wide', 'add --kubeconfig'],
};

interface Explained extends Outcome {
  /** stdout without line breaks. */
  readonly line: string;
}

const Explainable = z.object({
  state: z.string(),
  job: z.object({ id: z.number(), name: z.string(), url: z.string() }),
});
const OfRun = z.object({
  /** Absent for an address: only a number is looked up. */
  run: z.object({ number: z.number(), repository: z.string(), workflow: z.string(), event: z.string() }).optional(),
  jobs: z.array(Explainable).min(1),
});

/** A workflow with one CI job. */
const oneJob = (name: string, label: string) => workflow({ [name]: { runsOn: label } });

const PULL_REQUEST = oneJob('check', 'old').replace('workflow_dispatch', 'pull_request');

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let token: string;

  const first = { 'one.yml': oneJob('before', 'nobody') };
  const repositories = { first, api: { 'ci.yml': workflow(JOBS) }, busy: {}, line: {}, open: {}, shelf: {}, dark: {} };
  const site = useSite('situations', { version, repositories, groups: GROUPS }, async ({ admin }) => {
    await admin.createOrg('other');
    await admin.createRepo('web', 'other');
    // The number of a run counts in its repository, its id in all of Gitea.
    await admin.dispatch('acme/first', 'one.yml');
    await admin.dispatch('acme/api', 'ci.yml');
    token = await admin.createToken(['read:organization', 'read:repository']);
  });

  async function explain(
    words: readonly string[],
    env: Readonly<Record<string, string>> = {},
    path = site.folder,
  ): Promise<Explained> {
    const ran = await site.ours(['explain', '--cluster', 'off', path, ...words], { GITEA_TOKEN: token, ...env });
    return { ...ran, line: ran.stdout.replaceAll(/\s+/g, ' ') };
  }

  async function lineOf(job: ApiJob | undefined): Promise<string> {
    return (await explain([String(job?.id)])).line;
  }

  /**
   * Adds a workflow unless its text is empty, starts it, and waits until Gitea has its jobs.
   * @returns the jobs of this name, oldest first
   */
  async function start(repository: string, file: string, text: string, name: string): Promise<readonly ApiJob[]> {
    const before = (await site.jobsNamed(name)).length;
    if (text !== '') await site.admin.addWorkflow(repository, file, text);
    await site.admin.dispatch(repository, file);
    await waitUntil(`${name} is there`, async () => (await site.jobsNamed(name)).length > before);
    return await site.jobsNamed(name);
  }

  /** The names that `generate` gives the runners of a group. */
  async function runnersOf(group: string): Promise<readonly string[]> {
    const names = (await site.manifests()).map(({ metadata }) => metadata.name);
    return names.filter((name) => name.startsWith(`${group}-`));
  }

  async function ofRun(
    words: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<z.infer<typeof OfRun>> {
    return OfRun.parse(JSON.parse((await explain([...words, '-o', 'json'], env)).stdout));
  }

  it('explain tells by the number of a run its jobs, and of each the cause, the next step and the link', async () => {
    const all = await explain(['acme/api#1']);
    const { run, jobs } = await ofRun(['acme/api#1']);

    expect(all.stdout).toMatch(/^Run acme\/api#1 \(ci\.yml, workflow_dispatch by \S+, branch main\): /);
    expect(run).toEqual({ number: 1, repository: 'acme/api', workflow: 'ci.yml', event: 'workflow_dispatch' });
    expect(jobs.map(({ job }) => job.name).sort()).toEqual(Object.keys(ANSWERS).sort());
    for (const { job, state } of jobs) {
      const { code, line, stdout, stderr } = await explain([String(job.id)]);
      const [expected, cause, next] = ANSWERS[job.name] as Answer;
      expect({ code, stderr, state }, job.name).toEqual({ code: 0, stderr: '', state: expected });
      expect(line, job.name).toMatch(TITLES[expected]);
      expect(/Cause: (.*?) Since: /.exec(line)?.[1], job.name).toContain(cause);
      expect(/Next: (.*?) Link: /.exec(line)?.[1], job.name).toContain(next);
      expect(stdout).toContain(`Link:     ${job.url}`);
    }
  });

  it('explain takes the addresses that Gitea shows, with a token that reads the organization alone', async () => {
    const env = { GITEA_TOKEN: await site.admin.createToken(['read:organization']) };
    const { jobs } = await ofRun(['acme/api#1'], env);
    const [{ job }] = jobs as [z.infer<typeof Explainable>];

    const byJob = await explain([job.url], env);
    const byRun = await ofRun([job.url.replace(/\/jobs\/\d+$/, '')], env);

    expect(byJob.stdout).toContain(`Job ${job.id} "${job.name}" of acme/api`);
    expect(byRun.jobs).toEqual(jobs);
  });

  it('tells that a runner took another job than its own', async () => {
    const text = workflow({ one: { runsOn: 'swap' }, two: { runsOn: 'swap' } });
    const [two] = await start('acme/busy', 'swap.yml', text, 'two');
    const [one] = await site.jobsNamed('one');
    const names = await runnersOf('swap');
    const ofTwo = names.find((name) => name.startsWith(`swap-${two?.id}-`)) ?? '';
    // The oldest job comes first.
    await (await site.idleRunner(ofTwo, 'swap')).take();

    expect(await lineOf(one)).toContain(`Cause: runs on ${ofTwo}`);
    expect(await lineOf(two)).toMatch(
      /Cause: takes over the runner of another job; runner swap-\d+-\S+ of group runners\/swap/,
    );
  });

  it('explain tells of a runner that somebody has disabled', async () => {
    await start('acme/busy', 'disabled.yml', oneJob('disabled', 'disabled'), 'disabled');
    const [runner = ''] = await runnersOf('disabled');
    await site.idleRunner(runner, 'disabled');
    const id = (await site.admin.runners('/orgs/acme')).find(({ name }) => name === runner)?.id;
    await site.admin.call('PATCH', `/orgs/acme/actions/runners/${id}`, { disabled: true });

    const { line } = await explain([`runner/${runner}`]);

    expect(line).toContain(`Runner ${runner} of runners/disabled goes. Cause: goes: is disabled in Gitea`);
  });

  it('tells that a job waits for its concurrency group', async () => {
    const text = `${oneJob('deploy', 'old')}concurrency:\n  group: deploy\n`;
    await start('acme/line', 'deploy.yml', text, 'deploy');
    await (await site.idleRunner('holder', 'old')).take();
    const blocked = (await start('acme/line', 'deploy.yml', '', 'deploy')).at(-1);

    const line = await lineOf(blocked);

    expect(line).toContain('is blocked in Gitea');
    expect(line).toContain(
      'Cause: blocked: it waits for its concurrency group, probably held by the run of deploy (in progress) Since:',
    );
    expect(line).toContain('its run was started by workflow_dispatch');
    expect(line).toContain('Next: wait for the other run, or cancel it');
    const table = (await explain(['--repository', 'acme/line'])).line;
    expect(table).toContain('probably held by the run of deploy (in progress)');
    expect(table).not.toContain('approval');
  });

  it('explain tells that the run of a pull request waits for an approval', async () => {
    await site.admin.call('PATCH', '/repos/acme/open', { private: false });
    await site.admin.addWorkflow('acme/open', 'check.yml', PULL_REQUEST);
    const bob = await site.admin.createUser('bob');
    await bob.call('POST', '/repos/acme/open/forks', { name: 'open' });
    await bob.putFile('bob/open', 'new.txt', 'new');
    await bob.call('POST', '/repos/acme/open/pulls', { title: 'New', head: 'bob:main', base: 'main' });
    const check = await site.job('check', 'queued', 'waiting');

    const line = await lineOf(check);

    // No limit for branches counts it.
    expect(check.head_branch ?? '').toBe('');
    const others = (await site.admin.jobs('/orgs/acme', 'completed', 'queued')).map((job) => job.head_branch);
    expect(new Set(others)).toEqual(new Set(['main']));
    expect(line).toContain(
      'Cause: blocked: it waits for an approval: no other job of its run or repository is ready or runs',
    );
    expect(line).toContain('its run was started by pull_request');
    expect(line).toContain('Next: open the page of the run: it has a button when an approval is missing');
  });

  it('explain tells how finished jobs ended: done, failed, cancelled, skipped', async () => {
    const cancel = workflow({ gone: { runsOn: 'old' } }, 'gone');
    await start('acme/line', 'gone.yml', cancel, 'gone');
    await site.admin.dispatch('acme/line', 'gone.yml');
    const gone = await site.job('gone', 'completed');
    // The second run of it has no runner yet, and its job would be taken first.
    await (await site.idleRunner('ender-1', 'old')).take('RESULT_SUCCESS');
    const [good] = await start('acme/line', 'good.yml', oneJob('good', 'old'), 'good');
    await (await site.idleRunner('ender-2', 'old')).take('RESULT_SUCCESS');
    const text = workflow({ bad: { runsOn: 'old' }, next: { runsOn: 'old', needs: 'bad' } });
    const [bad] = await start('acme/line', 'bad.yml', text, 'bad');
    await (await site.idleRunner('ender-3', 'old')).take('RESULT_FAILURE');
    const next = await site.job('next', 'completed');

    expect(await lineOf(gone)).toMatch(/It has finished: it waits for nothing\. Job \d+:? "gone" was cancelled/);
    expect(await lineOf(good)).toMatch(/"good" finished \d+s ago on ender-2/);
    expect(await lineOf(bad)).toMatch(/"bad" failed \d+s ago on ender-3/);
    expect(await lineOf(next)).toContain(
      '"next" was skipped: its condition was false, or a job that it needs did not succeed',
    );
  });

  it('explain tells that no group has the repository', async () => {
    await site.admin.addWorkflow('other/web', 'ci.yml', oneJob('one', 'linux'));
    await site.admin.dispatch('other/web', 'ci.yml');

    const { code, line } = await explain(['--exit-code', 'other/web#1']);
    const page = await explain([`${site.url}/other/web/actions/runs/1`]);

    expect(code).toBe(4);
    expect(line).toContain(
      'No RunnerGroup here has jobs of other/web. Cause: the scope of no RunnerGroup has other/web',
    );
    expect(line).toContain('Evidence: runners/ci has org acme at http');
    expect(line).toContain('Next: add a RunnerGroup whose scope has other/web');
    expect(page.line).toContain('No RunnerGroup here has jobs of other/web.');
  });

  it('serves jobs of an archived repository, as Gitea does', async () => {
    const [job] = await start('acme/shelf', 'one.yml', oneJob('shelf', 'shelf'), 'shelf');
    await site.admin.call('PATCH', '/repos/acme/shelf', { archived: true });

    const waits = await lineOf(job);
    await (await site.idleRunner('archivist', 'shelf')).take();
    const runs = await lineOf(job);

    expect(waits).toContain('would be started; the cluster was not looked at');
    expect(runs).toContain('Cause: runs on archivist');
  });

  it('explain tells that Actions is switched off in the repository, although Gitea lists the job', async () => {
    const [job] = await start('acme/dark', 'one.yml', oneJob('dark', 'dark'), 'dark');
    const before = await lineOf(job);
    await site.admin.call('PATCH', '/repos/acme/dark', { has_actions: false });

    const [byJob, byRun, byPage] = [
      await explain(['--exit-code', String(job?.id)]),
      await explain(['--exit-code', 'acme/dark#1']),
      await explain(['--exit-code', `${site.url}/acme/dark/actions/runs/${job?.run_id}`]),
    ];

    expect(before).toContain('Cause: would be started');
    for (const { code, line } of [byJob, byRun, byPage]) {
      expect(code).toBe(4);
      expect(line).toContain(
        'Cause: Actions is switched off in the settings of acme/dark: Gitea gives its jobs to no runner Since:',
      );
      expect(line).toContain('Next: switch Actions on in the settings of acme/dark');
    }
    await expect((await site.idleRunner('waiter', 'dark')).take()).rejects.toThrow();
    await site.admin.call('PATCH', '/repos/acme/dark', { has_actions: true });
    await (await site.idleRunner('worker', 'dark')).take();
    expect(await lineOf(job)).toContain('Cause: runs on w');
  });
});
