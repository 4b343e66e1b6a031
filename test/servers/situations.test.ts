/**
 * What an engineer meets at 3 a.m., on real Gitea: each situation is made, and `explain` must tell its true cause and the next step.
 * Situations of pods, Argo CD and serve: test/cluster and test/cli/explain-cluster.test.ts.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import type { ApiJob } from './account.ts';
import { IdleRunner } from './bare-runner.ts';
import { GITEA_VERSIONS } from './build.ts';
import { generate, type TestGroup, writeGroups } from './generate.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { Playground, waitUntil } from './process.ts';
import { type Ran, runProgram } from './program.ts';
import { workflow } from './workflows.ts';

const ACME = { scope: 'org', org: 'acme' };

function groupOf(name: string, label: string, cap: number, more: Partial<TestGroup> = {}): TestGroup {
  return { name, scope: ACME, labels: [`${label}:host`], cap, secret: 'org', ...more };
}

const GROUPS: readonly TestGroup[] = [
  groupOf('ci', 'linux', 1),
  groupOf('full', 'full', 1),
  groupOf('idle', 'paused', 1, { more: { suspend: true } }),
  groupOf('zero', 'zero', 0),
  groupOf('ml', 'gpu', 1, { scope: { scope: 'repo', repo: 'acme/ml' } }),
  groupOf('wide', 'wide', 5),
  groupOf('swap', 'swap', 2),
  groupOf('disabled', 'disabled', 1),
  groupOf('twin-a', 'twin', 1),
  groupOf('twin-b', 'twin', 1),
  groupOf('old', 'old', 5),
  groupOf('shelf', 'shelf', 1),
  groupOf('dark', 'dark', 1),
];

const JOBS = {
  first: { runsOn: 'linux', seconds: 1 },
  second: { runsOn: 'linux', seconds: 1 },
  after: { runsOn: 'linux', seconds: 1, needs: 'first' },
  misspelt: { runsOn: 'linus', seconds: 1 },
  unknown: { runsOn: 'mainframe', seconds: 1 },
  suspended: { runsOn: 'paused', seconds: 1 },
  capped: { runsOn: 'zero', seconds: 1 },
  several: { runsOn: '[linux, paused]', seconds: 1 },
  elsewhere: { runsOn: 'gpu', seconds: 1 },
  twice: { runsOn: 'twin', seconds: 1 },
  legs: { runsOn: 'wide', seconds: 1, matrix: 2 },
} as const;

interface Answer {
  readonly title: RegExp;
  readonly cause: string;
  readonly next: string;
}

/** Jobs of one run: why each waits, and what helps. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  first: {
    title: /waits for its runner/,
    cause: 'owned by group runners/ci; would be started; the cluster was not looked at',
    next: 'to see whether its runner starts, have the cluster looked at: add --kubeconfig',
  },
  second: {
    title: /is held back/,
    cause: 'held back by the cap of group runners/ci; 1st in line',
    next: 'group runners/ci has no free slot (1 wanted): wait, or raise spec.maxActiveRunners in',
  },
  after: {
    title: /is blocked in Gitea/,
    cause: 'blocked: probably needs first (queued)',
    next: 'see what first waits for: gitea-runners explain',
  },
  misspelt: {
    title: /is unserved/,
    cause: 'labels not covered: linus (did you mean linux (runners/ci)?)',
    next: 'Correct it in the workflow',
  },
  unknown: {
    title: /is unserved/,
    cause: 'labels not covered: mainframe',
    next: 'add mainframe to spec.labels of a group whose scope has the job, or correct its runs-on',
  },
  suspended: {
    title: /is unserved/,
    cause: 'held back: group runners/idle is suspended',
    next: 'remove spec.suspend in',
  },
  capped: {
    title: /is unserved/,
    cause: 'held back: group runners/zero starts no runners, because its cap is 0',
    next: 'raise spec.maxActiveRunners in',
  },
  several: {
    title: /is unserved/,
    cause: 'no group has all of them: linux is in runners/ci, paused is in runners/idle',
    next: 'one runner must have all labels of runs-on',
  },
  elsewhere: {
    title: /is unserved/,
    cause: 'runners/ml has them, but its scope, repository acme/ml, does not have acme/api',
    next: 'widen the scope of runners/ml',
  },
  twice: { title: /waits for its runner/, cause: 'owned by group runners/twin-a', next: 'add --kubeconfig' },
  // Gitea does not keep to max-parallel: all legs are ready at once.
  'legs (1)': { title: /waits for its runner/, cause: 'owned by group runners/wide', next: 'add --kubeconfig' },
  'legs (2)': { title: /waits for its runner/, cause: 'owned by group runners/wide', next: 'add --kubeconfig' },
};

interface Explained extends Ran {
  /** stdout without line breaks. */
  readonly line: string;
}

const Named = z.object({ metadata: z.object({ name: z.string() }) });

const PULL_REQUEST = workflow({ check: { runsOn: 'old', seconds: 1 } }).replace('workflow_dispatch', 'pull_request');

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let playground: Playground;
  let gitea: Gitea;
  let folder: string;
  let token: string;
  let registration: string;

  beforeAll(async () => {
    playground = new Playground(`situations-${version}`);
    gitea = await startGitea(version, inject('builds').gitea[version], playground);
    const { admin } = gitea;
    await admin.createOrg('acme');
    await admin.createOrg('other');
    for (const name of ['api', 'busy', 'line', 'ml', 'open']) await admin.createRepo(name, 'acme');
    await admin.createRepo('web', 'other');
    await admin.addWorkflow('acme/api', 'ci.yml', workflow(JOBS));
    await admin.dispatch('acme/api', 'ci.yml');
    folder = playground.makeFolder('groups');
    writeGroups(folder, gitea.url, GROUPS);
    token = await admin.createToken(['read:organization', 'read:repository']);
    registration = await admin.registrationToken('/orgs/acme');
  });

  afterAll(() => playground.close());

  async function explain(
    words: readonly string[],
    env: Readonly<Record<string, string>> = {},
    path = folder,
  ): Promise<Explained> {
    const all = { GITEA_URL: gitea.url, GITEA_TOKEN: token, ...env };
    const ran = await runProgram(['explain', '--cluster', 'off', path, ...words], all);
    return { ...ran, line: ran.stdout.replaceAll(/\s+/g, ' ') };
  }

  /** Unfinished jobs with this name, oldest first. */
  async function jobsNamed(name: string, ...states: readonly string[]): Promise<readonly ApiJob[]> {
    const wanted = states.length > 0 ? states : ['queued', 'in_progress', 'waiting'];
    return (await gitea.admin.jobs('/orgs/acme', ...wanted)).filter((job) => job.name === name);
  }

  /** Starts a workflow with one job, and waits until Gitea has its jobs. */
  async function start(repository: string, file: string, text: string, name: string): Promise<readonly ApiJob[]> {
    const before = (await jobsNamed(name)).length;
    if (text !== '') await gitea.admin.addWorkflow(repository, file, text);
    await gitea.admin.dispatch(repository, file);
    await waitUntil(`${name} is there`, async () => (await jobsNamed(name)).length > before, { timeoutMs: 30_000 });
    return await jobsNamed(name);
  }

  function bare(name: string, label: string): Promise<IdleRunner> {
    return IdleRunner.register(gitea.url, { name, registrationToken: registration, labels: [label] });
  }

  /** The names that `generate` gives the runners of a group. */
  async function runnersOf(group: string): Promise<readonly string[]> {
    const { exit, stdout, stderr } = await generate(folder, gitea.url, token);
    expect(exit, stderr).toBe(0);
    const names = parseAllDocuments(stdout).map((document) => Named.parse(document.toJS()).metadata.name);
    return names.filter((name) => name.startsWith(`${group}-`));
  }

  it('tells the cause and the next step of each job of a run', async () => {
    const jobs = (await gitea.admin.jobs('/orgs/acme', 'queued', 'waiting')).filter(({ url }) =>
      url.includes('/api/actions'),
    );
    expect(jobs.map(({ name }) => name).sort()).toEqual(Object.keys(ANSWERS).sort());
    for (const { id, name } of jobs) {
      const { exit, line, stderr } = await explain([String(id)]);
      const { title, cause, next } = ANSWERS[name] as Answer;
      expect({ exit, stderr }, name).toEqual({ exit: 0, stderr: '' });
      expect(line, name).toMatch(title);
      expect(/Cause: (.*?) Since: /.exec(line)?.[1], name).toContain(cause);
      expect(/Next: (.*?) Link: /.exec(line)?.[1], name).toContain(next);
    }
  });

  it('tells who holds the slots of a full group, and that a job runs', async () => {
    const text = workflow({ busy: { runsOn: 'full', seconds: 1 } });
    const [first] = await start('acme/busy', 'busy.yml', text, 'busy');
    const [runner = ''] = await runnersOf('full');
    await (await bare(runner, 'full')).take();
    const [, second] = await start('acme/busy', 'busy.yml', '', 'busy');

    const runs = await explain([String(first?.id)]);
    expect(runs.line).toContain(`Cause: runs on ${runner} Since: it has run for`);
    expect(runs.line).toContain('Next: nothing: it runs');
    const waits = await explain([String(second?.id)]);
    expect(waits.line).toContain('Cause: held back by the cap of group runners/full; 1st in line');
    expect(waits.line).toContain(`Slot: ${runner} stays: it runs job ${first?.id} "busy" of acme/busy`);
    expect(waits.line).toMatch(
      /Next: group runners\/full has no free slot \(1 busy\): raise spec\.maxActiveRunners in/,
    );
    const group = await explain(['runners/full']);
    expect(group.line).toContain(
      'RunnerGroup runners/full holds back 1 job. Runners: runners/full: 1 of 1 runners (1 busy)',
    );
  });

  it('tells that a runner took another job than its own', async () => {
    const jobs = await start(
      'acme/busy',
      'swap.yml',
      workflow({ one: { runsOn: 'swap', seconds: 1 }, two: { runsOn: 'swap', seconds: 1 } }),
      'two',
    );
    const [one] = await jobsNamed('one');
    const [two] = jobs;
    const names = await runnersOf('swap');
    const ofTwo = names.find((name) => name.startsWith(`swap-${two?.id}-`)) ?? '';
    // The oldest job comes first.
    await (await bare(ofTwo, 'swap')).take();

    expect((await explain([String(one?.id)])).line).toContain(`Cause: runs on ${ofTwo}`);
    expect((await explain([String(two?.id)])).line).toMatch(
      /Cause: swap-\d+-\S+ \(owned by group runners\/swap; takes over the runner of another job\)/,
    );
  });

  it('tells of a runner that somebody has disabled', async () => {
    await start('acme/busy', 'disabled.yml', workflow({ disabled: { runsOn: 'disabled', seconds: 1 } }), 'disabled');
    const [runner = ''] = await runnersOf('disabled');
    await bare(runner, 'disabled');
    const body = await gitea.admin.call('GET', '/orgs/acme/actions/runners?limit=50');
    const { runners } = z.object({ runners: z.array(z.object({ id: z.number(), name: z.string() })) }).parse(body);
    const id = runners.find(({ name }) => name === runner)?.id;
    await gitea.admin.call('PATCH', `/orgs/acme/actions/runners/${id}`, { disabled: true });

    const { line } = await explain([`runner/${runner}`]);

    expect(line).toContain(`Runner ${runner} of runners/disabled goes. Cause: goes: is disabled in Gitea`);
  });

  it('tells that a runner of somebody else has the job', async () => {
    const [job] = await start(
      'acme/busy',
      'static.yml',
      workflow({ static: { runsOn: 'static', seconds: 1 } }),
      'static',
    );
    await (await bare('build-host', 'static')).take();

    expect((await explain([String(job?.id)])).line).toContain(
      'Cause: runs on build-host (not a runner of these groups)',
    );
  });

  it('tells that a job waits for its concurrency group', async () => {
    const text = `${workflow({ deploy: { runsOn: 'old', seconds: 1 } })}concurrency:\n  group: deploy\n`;
    await start('acme/line', 'deploy.yml', text, 'deploy');
    await (await bare('holder', 'old')).take();
    const jobs = await start('acme/line', 'deploy.yml', '', 'deploy');
    const blocked = jobs.at(-1);

    const { line } = await explain([String(blocked?.id)]);

    expect(line).toContain('is blocked in Gitea');
    expect(line).toContain(
      'Cause: blocked: it waits for its concurrency group, probably held by the run of deploy (in progress) Since:',
    );
    expect(line).toContain('its run was started by workflow_dispatch');
    expect(line).toContain('Next: wait for the other run, or cancel it');
    // The table does not ask for runs.
    expect((await explain(['--repository', 'acme/line'])).line).toContain(
      'probably held by the run of deploy (in progress), or for an approval',
    );
  });

  it('tells that the run of a pull request waits for an approval', async () => {
    await gitea.admin.call('PATCH', '/repos/acme/open', { private: false });
    await gitea.admin.addWorkflow('acme/open', 'check.yml', PULL_REQUEST);
    const bob = await gitea.admin.createUser('bob');
    await bob.call('POST', '/repos/acme/open/forks', { name: 'open' });
    await bob.putFile('bob/open', 'new.txt', 'new');
    await bob.call('POST', '/repos/acme/open/pulls', { title: 'New', head: 'bob:main', base: 'main' });
    await waitUntil('check is there', async () => (await jobsNamed('check')).length > 0, { timeoutMs: 30_000 });
    const [check] = await jobsNamed('check');

    const { line } = await explain([String(check?.id)]);

    // No limit for branches counts it.
    expect(check?.head_branch ?? '').toBe('');
    const others = (await gitea.admin.jobs('/orgs/acme', 'completed', 'queued')).map((job) => job.head_branch);
    expect(new Set(others)).toEqual(new Set(['main']));
    expect(line).toContain(
      'Cause: blocked: it waits for an approval: no other job of its run or repository is ready or runs',
    );
    expect(line).toContain('its run was started by pull_request');
    expect(line).toContain('Next: open the page of the run: it has a button when an approval is missing');
  });

  it('tells how finished jobs ended: done, failed, cancelled, skipped', async () => {
    const cancel = workflow({ gone: { runsOn: 'old', seconds: 1 } }, 'gone');
    const [gone] = await start('acme/line', 'gone.yml', cancel, 'gone');
    await gitea.admin.dispatch('acme/line', 'gone.yml');
    const isCancelled = async () =>
      (await gitea.admin.jobs('/orgs/acme', 'completed')).some(({ id }) => id === gone?.id);
    await waitUntil('the first run is cancelled', isCancelled, { timeoutMs: 30_000 });
    // The second run of it has no runner yet, and its job would be taken first.
    await (await bare('ender-1', 'old')).take('RESULT_SUCCESS');
    const [good] = await start('acme/line', 'good.yml', workflow({ good: { runsOn: 'old', seconds: 1 } }), 'good');
    await (await bare('ender-2', 'old')).take('RESULT_SUCCESS');
    const text = workflow({ bad: { runsOn: 'old', seconds: 1 }, next: { runsOn: 'old', seconds: 1, needs: 'bad' } });
    const [bad] = await start('acme/line', 'bad.yml', text, 'bad');
    const [next] = await jobsNamed('next');
    await (await bare('ender-3', 'old')).take('RESULT_FAILURE');
    const isSkipped = async () => (await gitea.admin.jobs('/orgs/acme', 'completed')).some(({ id }) => id === next?.id);
    await waitUntil('the job that needs it is skipped', isSkipped, { timeoutMs: 30_000 });

    expect((await explain([String(gone?.id)])).line).toMatch(
      /It has finished: it waits for nothing\. Job \d+:? "gone" was cancelled/,
    );
    expect((await explain([String(good?.id)])).line).toMatch(/"good" finished \d+s ago on ender-2/);
    expect((await explain([String(bad?.id)])).line).toMatch(/"bad" failed \d+s ago on ender-3/);
    expect((await explain([String(next?.id)])).line).toContain(
      '"next" was skipped: its condition was false, or a job that it needs did not succeed',
    );
  });

  it('tells that no group has the repository', async () => {
    await gitea.admin.addWorkflow('other/web', 'ci.yml', workflow({ one: { runsOn: 'linux', seconds: 1 } }));
    await gitea.admin.dispatch('other/web', 'ci.yml');

    const { exit, line } = await explain(['--exit-code', 'other/web#1']);
    const page = await explain([`${gitea.url}/other/web/actions/runs/1`]);

    expect(exit).toBe(4);
    expect(line).toContain(
      'No RunnerGroup here has jobs of other/web. Cause: the scope of no RunnerGroup has other/web',
    );
    expect(line).toContain('Evidence: runners/ci has org acme at http');
    expect(line).toContain('Next: add a RunnerGroup whose scope has other/web');
    expect(page.line).toContain('No RunnerGroup here has jobs of other/web.');
  });

  it('serves jobs of an archived repository, as Gitea does', async () => {
    await gitea.admin.createRepo('shelf', 'acme');
    const text = workflow({ shelf: { runsOn: 'shelf', seconds: 1 } });
    const [job] = await start('acme/shelf', 'one.yml', text, 'shelf');
    await gitea.admin.call('PATCH', '/repos/acme/shelf', { archived: true });

    const waits = await explain([String(job?.id)]);
    await (await bare('archivist', 'shelf')).take();
    const runs = await explain([String(job?.id)]);

    expect(waits.line).toContain('owned by group runners/shelf; would be started; the cluster was not looked at');
    expect(runs.line).toContain('Cause: runs on archivist');
  });

  it('tells that Actions is switched off in the repository, although Gitea lists the job', async () => {
    await gitea.admin.createRepo('dark', 'acme');
    const text = workflow({ dark: { runsOn: 'dark', seconds: 1 } });
    const [job] = await start('acme/dark', 'one.yml', text, 'dark');
    const before = await explain([String(job?.id)]);
    await gitea.admin.call('PATCH', '/repos/acme/dark', { has_actions: false });

    const [byJob, byRun, byPage] = [
      await explain(['--exit-code', String(job?.id)]),
      await explain(['--exit-code', 'acme/dark#1']),
      await explain(['--exit-code', `${gitea.url}/acme/dark/actions/runs/${job?.run_id}`]),
    ];

    expect(before.line).toContain('Cause: dark-');
    for (const { exit, line } of [byJob, byRun, byPage]) {
      expect(exit).toBe(4);
      expect(line).toContain(
        'Cause: Actions is switched off in the settings of acme/dark: Gitea gives its jobs to no runner Since:',
      );
      expect(line).toContain('Next: switch Actions on in the settings of acme/dark');
    }
    await expect((await bare('waiter', 'dark')).take()).rejects.toThrow();
    await gitea.admin.call('PATCH', '/repos/acme/dark', { has_actions: true });
    await (await bare('worker', 'dark')).take();
    expect((await explain([String(job?.id)])).line).toContain('Cause: runs on w');
  });

  it('tells that Gitea shows no such run', async () => {
    const { exit, stdout, stderr } = await explain(['acme/api#99']);

    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      'Gitea shows no run 99 of acme/api among the unfinished and the newest ones',
    );
  });

  it('tells what is wrong with the token, and with Gitea', async () => {
    const weak = await gitea.admin.createToken(['read:user']);
    const cases: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
      [{ GITEA_TOKEN: weak }, /GR-GITEA-\d+ .*read:organization/],
      [{ GITEA_TOKEN: 'a'.repeat(40) }, /GR-GITEA-\d+ .*401/],
    ];
    for (const [env, said] of cases) {
      const { exit, stdout, stderr } = await explain([], env);
      expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
      expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(said);
    }
    const nowhere = playground.makeFolder('nowhere');
    writeGroups(nowhere, 'http://127.0.0.1:1', GROUPS.slice(0, 1));
    const { exit, stdout, stderr } = await explain([], { GITEA_URL: 'http://127.0.0.1:1' }, nowhere);
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    expect(stderr).toMatch(/127\.0\.0\.1:1/);
  });

  it('tells what is wrong with a RunnerGroup, and what the policy refuses', async () => {
    const wrong = playground.makeFolder('wrong');
    writeGroups(wrong, gitea.url, [groupOf('ci', 'linux', 1, { more: { maxRunners: 3 } })]);
    const invalid = await explain([], {}, wrong);
    expect({ exit: invalid.exit, stdout: invalid.stdout }).toEqual({ exit: 2, stdout: '' });
    expect(invalid.stderr).toContain('maxRunners');

    const policy = join(playground.folder, 'policy.yaml');
    writeFileSync(
      policy,
      'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec:\n  namespaces:\n    - name: elsewhere\n',
    );
    const denied = await explain(['--policy', policy]);
    expect({ exit: denied.exit, stdout: denied.stdout }).toEqual({ exit: 3, stdout: '' });
    expect(denied.stderr).toContain('runners');
  });
});
