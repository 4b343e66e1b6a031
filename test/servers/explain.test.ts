/** `explain WHAT` on real Gitea: why jobs wait, by run number, by address, and by what the token of the group may read. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { GITEA_VERSIONS } from './build.ts';
import { type TestGroup, writeGroups } from './generate.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { Playground } from './process.ts';
import { type Ran, runProgram } from './program.ts';
import { workflow } from './workflows.ts';

const GROUPS: readonly TestGroup[] = [
  { name: 'ci', scope: { scope: 'org', org: 'acme' }, labels: ['linux:host'], cap: 1, secret: 'org' },
  {
    name: 'idle',
    scope: { scope: 'org', org: 'acme' },
    labels: ['paused:host'],
    cap: 1,
    secret: 'org',
    more: { suspend: true },
  },
  { name: 'zero', scope: { scope: 'org', org: 'acme' }, labels: ['zero:host'], cap: 0, secret: 'org' },
];

/** Each job of the run, and why it waits. The run of the same concurrency group before it never starts. */
const JOBS = {
  first: { runsOn: 'linux', seconds: 1 },
  second: { runsOn: 'linux', seconds: 1 },
  after: { runsOn: 'linux', seconds: 1, needs: 'first' },
  misspelt: { runsOn: 'linus', seconds: 1 },
  unknown: { runsOn: 'mainframe', seconds: 1 },
  suspended: { runsOn: 'paused', seconds: 1 },
  capped: { runsOn: 'zero', seconds: 1 },
  several: { runsOn: '[linux, paused]', seconds: 1 },
} as const;

const CAUSES: Readonly<Record<keyof typeof JOBS, readonly [state: string, cause: string]>> = {
  first: ['starting', 'would be started; the cluster was not looked at'],
  second: ['held', 'held back by the cap of group runners/ci; 1st in line'],
  after: ['blocked', 'blocked: probably needs'],
  misspelt: ['unserved', 'labels not covered: linus (did you mean linux (runners/ci)?)'],
  unknown: ['unserved', 'labels not covered: mainframe'],
  suspended: ['unserved', 'held back: group runners/idle is suspended'],
  capped: ['unserved', 'held back: group runners/zero starts no runners, because its cap is 0'],
  several: ['unserved', 'labels not covered:'],
};

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let playground: Playground;
  let gitea: Gitea;
  let folder: string;
  let token: string;

  beforeAll(async () => {
    playground = new Playground(`explain-${version}`);
    gitea = await startGitea(version, inject('builds').gitea[version], playground);
    const { admin } = gitea;
    await admin.createOrg('acme');
    for (const name of ['other', 'api']) await admin.createRepo(name, 'acme');
    await admin.addWorkflow('acme/other', 'one.yml', workflow({ one: { runsOn: 'nobody', seconds: 1 } }));
    await admin.dispatch('acme/other', 'one.yml');
    await admin.addWorkflow('acme/api', 'ci.yml', workflow(JOBS));
    await admin.dispatch('acme/api', 'ci.yml');
    folder = playground.makeFolder('groups');
    writeGroups(folder, gitea.url, GROUPS);
    token = await admin.createToken(['read:organization']);
  });

  afterAll(() => playground.close());

  function explain(...args: readonly string[]): Promise<Ran> {
    const env = { GITEA_URL: gitea.url, GITEA_TOKEN: token };
    return runProgram(['explain', '--cluster', 'off', folder, ...args], env);
  }

  it('answers by the number of a run with the true cause of each job', async () => {
    const { exit, stdout, stderr } = await explain('acme/api#1', '-o', 'json');
    const text = await explain('acme/api#1');

    expect(exit, stderr).toBe(0);
    const { run, jobs } = Answer.parse(JSON.parse(stdout));
    expect(run).toMatchObject({ number: 1, repository: 'acme/api', workflow: 'ci.yml', event: 'workflow_dispatch' });
    const states = Object.fromEntries(jobs.map(({ job, state }) => [job.name, state]));
    expect(states).toEqual(Object.fromEntries(Object.entries(CAUSES).map(([name, [state]]) => [name, state])));
    for (const { job } of jobs) {
      const { stdout: own } = await explain(String(job.id));
      const [, cause = ''] = CAUSES[job.name as keyof typeof JOBS];
      expect(own.replaceAll(/\s+/g, ' '), job.name).toContain(cause);
      expect(own).toContain(`Link:     ${job.url}`);
    }
    expect(text.stdout).toMatch(/^Run acme\/api#1 \(ci\.yml, workflow_dispatch, branch main\): /);
  });

  it('takes the addresses that Gitea shows', async () => {
    const { jobs } = Answer.parse(JSON.parse((await explain('acme/api#1', '-o', 'json')).stdout));
    const [{ job }] = jobs as [Explainable];

    const byJob = await explain(job.url);
    const byRun = await explain(job.url.replace(/\/jobs\/\d+$/, ''), '-o', 'json');

    expect(byJob.stdout).toContain(`Job ${job.id} "${job.name}" of acme/api`);
    expect(Answer.parse(JSON.parse(byRun.stdout)).jobs).toHaveLength(Object.keys(JOBS).length);
  });

  it('ends with 4 where a job is unserved, and with 2 for a run that is not there', async () => {
    expect((await explain('--exit-code', '--repository', 'acme/api')).exit).toBe(4);
    expect((await explain('--exit-code', '--state', 'held')).exit).toBe(0);
    expect(await explain('acme/api#99')).toMatchObject({ exit: 2, stdout: '' });
  });
});

const Explainable = z.object({
  state: z.string(),
  job: z.object({ id: z.number(), name: z.string(), url: z.string() }),
});
type Explainable = z.infer<typeof Explainable>;
const Answer = z.object({
  run: z.looseObject({ number: z.number() }).optional(),
  jobs: z.array(Explainable),
});
