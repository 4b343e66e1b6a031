/** `explain WHAT`, its filters and its exit code: the real program against a simulated Gitea. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import type { GiteaVersion } from '../../simulator/gitea/versions.ts';
import { splitArguments } from '../../src/cli/explain/subject.ts';
import { Failure } from '../../src/shared/failure.ts';
import { kubeconfigFor, liveJob, startCluster } from '../clients/kubernetes/through-cli.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { serve } from '../support/server.ts';
import { startAcme } from '../support/start-acme.ts';

/** Two runs: number 1 of acme/api is busy and blocked, number 1 of acme/web is ready, misspelt and blocked. */
async function scene(version?: GiteaVersion) {
  const { simulator, env, folder } = await startAcme(version === undefined ? {} : { version });
  const { gitea } = simulator;
  gitea.addRepo('acme/api');
  const api = gitea.push('acme/api', {
    jobs: [
      { key: 'build', runsOn: ['linux'] },
      { key: 'deploy', runsOn: ['linux'], needs: ['build'] },
    ],
  });
  const host = gitea.register({
    name: 'build-host',
    scope: { kind: 'owner', owner: 'acme' },
    labels: ['linux'],
    ephemeral: false,
  });
  gitea.poll(host.id);
  const web = gitea.push('acme/web', {
    jobs: [
      { key: 'test', runsOn: ['linux'] },
      { key: 'train', runsOn: ['linus'] },
      { key: 'pack', runsOn: ['linux'], needs: ['test'] },
    ],
  });
  const run = (...args: readonly string[]) => runHere(['explain', ...args], env, folder);
  return { simulator, env, folder, api, web, run };
}

describe('explain WHAT', () => {
  it.each<GiteaVersion | undefined>([undefined, '1.26.0'])(
    'explain with a run number of Gitea %s tells each unfinished job, the worst first',
    async (version) => {
      const { web, run } = await scene(version);

      const { code, stdout, stderr } = await run('acme/web#1');

      const [test, train, pack] = web.jobs.map(({ id }) => id);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.match(/^(?:Run|JOB|\d+) .*$/gm)).toEqual([
        expect.stringMatching(/^Run acme\/web#1 \(.*\): queued$/),
        expect.stringMatching(/^JOB +NAME +RUNS-ON +AGE +WHAT HAPPENS$/),
        expect.stringMatching(
          `^${train} +train +linus .*labels not covered: linus \\(did you mean linux \\(runners/ci\\)\\?\\)$`,
        ),
        expect.stringMatching(
          `^${test} +test +linux .*would be started; the cluster was not looked at; runner \\S+ of group runners/ci$`,
        ),
        expect.stringMatching(
          `^${pack} +pack +linux .*blocked: probably needs test \\(queued\\), train \\(queued\\) of its run$`,
        ),
      ]);
      expect(stdout.match(/^ {2}[A-Z].*?:/gm)).toEqual([
        '  Group:',
        '  Next:',
        '  Next:',
        '  Next:',
        '  One job:',
        '  Link:',
      ]);
      expect(stdout).toContain(`gitea-runners explain ${train} says since when`);
      expect(stdout).toMatch(new RegExp(`^ {2}Link: {5}http.*/acme/web/actions/runs/${web.run.id}$`, 'm'));
    },
  );

  it('explain with a run number keeps to the width of the terminal', async () => {
    const { env, folder } = await scene();

    const { stdout } = await runHere(['explain', 'acme/web#1'], { ...env, COLUMNS: '80' }, folder);

    expect(stdout.split('\n').filter((line) => line.length > 80 && !line.startsWith('  Link:'))).toEqual([]);
  });

  it('explain WHAT takes the page of a run or of a job, also by another host name and with attempts', async () => {
    const { simulator, web, run } = await scene();
    const runPage = `/acme/web/actions/runs/${web.run.id}`;
    const jobPage = `${runPage}/jobs/${web.jobs[0]?.id}`;

    const ofRun = await run(`${simulator.url}${runPage}`);
    const ofAttempt = await run(`https://gitea.example.com${runPage}/attempts/1`);
    const ofJob = await run(`https://gitea.example.com${jobPage}`);

    expect(ofRun.stdout.match(/^\d+ /gm)).toHaveLength(3);
    expect(timeless(ofAttempt.stdout)).toBe(timeless(ofRun.stdout));
    expect(ofJob.stdout.match(/^Job .*$/gm)).toEqual([
      expect.stringContaining('"test" of acme/web waits for its runner'),
    ]);
  });

  it('explain WHAT takes the id of the first column', async () => {
    const { api, run } = await scene();
    const id = String(api.jobs[0]?.id);

    const byId = await run(id);

    expect(byId.stdout).toContain(`Job ${id} "build" of acme/api is in progress in Gitea.\n`);
    expect(byId.stdout).toContain('runs on build-host (not a runner of these groups)');
    expect(timeless((await run(`#${id}`)).stdout)).toBe(timeless(byId.stdout));
    expect(timeless((await run(`job/${id}`)).stdout)).toBe(timeless(byId.stdout));
  });

  it('explain WHAT takes a group and a runner, also as the name of a pod', async () => {
    const { run, env, folder } = await scene();
    const runner = /ci-\d+-1-[0-9a-f]{8}/.exec((await runHere(['generate'], env, folder)).stdout)?.[0] ?? '';

    const group = await run('ci');
    const ofRunner = await run(runner);

    expect(group.stdout).toContain('RunnerGroup runners/ci holds nothing back.\n');
    expect(group.stdout).toMatch(/Jobs: {5}1 unserved, 1 starting/);
    for (const name of ['group/ci', 'rg/ci', 'runners/ci'])
      expect(timeless((await run(name)).stdout)).toBe(timeless(group.stdout));
    expect(ofRunner.stdout).toContain(`Runner ${runner} of runners/ci stays.\n`);
    expect(ofRunner.stdout).toContain('stays: it is wanted for job');
    expect((await run(`pod/${runner}-x7x9z`)).stdout).toBe(ofRunner.stdout);
  });

  it('explain WHAT names the runner of a job that Gitea does not list any more', async () => {
    const { env, folder } = await scene();
    const jobs = { runners: [liveJob('ci-77-1-9c31e0aa', Date.now() - 60_000)] };
    const cluster = kubeconfigFor(await startCluster({ jobs }));

    const { code, stderr } = await runHere(['explain', folder, '--kubeconfig', cluster, '77'], env);

    expect(code).toBe(2);
    expect(stderr).toContain('Gitea may have deleted it with its run. Runner ci-77-1-9c31e0aa was made for it');
  });

  it('explain WHAT says of a finished run that nothing waits', async () => {
    const { simulator, run } = await scene();
    simulator.gitea.addRepo('acme/docs');
    const { run: pushed } = simulator.gitea.push('acme/docs', { jobs: [{ key: 'links', runsOn: ['linux'] }] });
    simulator.gitea.cancelRun(pushed.id);

    const { code, stdout } = await run('acme/docs#1');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^Run acme\/docs#1 \(.*\): cancelled\. None of its jobs\s+waits\s+for\s+a\s+runner\.\n/);
  });

  it.each([
    ['acme/web#99', /GR-EXPLAIN-03 explain acme\/web#99: Gitea shows no run 99 of acme\/web/],
    [
      'nobody',
      /GR-EXPLAIN-03 explain nobody: it is no file or folder, no RunnerGroup and no runner here\. RunnerGroups: runners\/ci\./,
    ],
    [
      'acme/web',
      /no runner here\. RunnerGroups: runners\/ci\. For a repository, give --repository acme\/web, or name a run, e\.g\. acme\/web#8\.\n/,
    ],
    [
      'acme/wbe#1',
      /Gitea shows no run 1 of acme\/wbe .* Open its repository in Gitea\. If it has another name or owner there, ask with that: gitea-runners explain OWNER\/NAME#1\. /,
    ],
    ['acme/web#abc', /explain acme\/web#abc: .* or name a run, e\.g\. acme\/web#8\.\n/],
    ['groups/prod/ci', /GR-INPUT-01/],
    ['rg/nobody', /explain rg\/nobody: .*\. RunnerGroups: runners\/ci\.\n/],
    [
      '99999',
      /GR-EXPLAIN-03 .* not among the newest finished ones\. Jobs of these scopes are seen: org acme\. Jobs of other repositories, and jobs that Gitea has deleted, are not: ask about the run, gitea-runners explain OWNER\/NAME#NUMBER\.\n/,
    ],
    ['https://gitea.example.com/acme/web/issues/1', /GR-EXPLAIN-02/],
    ['missing.yaml', /GR-INPUT-01/],
  ])('%s that is not there ends with exit 2 and an empty stdout', async (what, message) => {
    const { run } = await scene();

    const { code, stdout, stderr } = await run(what);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('explain WHAT knows the name of a repository that went to another owner, with a token that may read it', async () => {
    const { simulator, env, folder } = await startAcme();
    simulator.gitea.addOrg('beta', { owners: ['anna'] });
    simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
    simulator.gitea.transferRepo('acme/web', 'beta');
    simulator.gitea.addToken('anna', ['read:organization', 'read:repository'], 'of-more-scopes');

    const blind = await runHere(['explain', folder, 'acme/web#1'], env);
    const { code, stderr } = await runHere(['explain', folder, 'acme/web#1'], {
      ...env,
      GITEA_TOKEN: 'of-more-scopes',
    });

    expect(code).toBe(2);
    expect(stderr).toContain('it is beta/web in Gitea now: gitea-runners explain beta/web#1.');
    expect(blind.stderr).toContain('ask with that: gitea-runners explain OWNER/NAME#1');
  });

  it.each(['1', 'https://gitea.example.com/acme/web/actions/runs/1/jobs/1'])(
    'explain WHAT says of %s, which has ended, that finished jobs were not read, when no other one waits',
    async (what) => {
      const { simulator, env, folder } = await startAcme();
      const { run } = simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
      simulator.gitea.cancelRun(run.id);

      const { code, stderr } = await runHere(['explain', folder, what], env);

      expect(code).toBe(2);
      expect(stderr).toContain('Finished ones were not read: if it has ended, ask about its run, OWNER/NAME#NUMBER');
      expect(stderr).not.toContain('newest');
    },
  );

  it('explain WHAT does not take the id of a job for the number of a run', async () => {
    const { web, run } = await scene();
    const id = web.jobs[0]?.id;

    const { code, stdout, stderr } = await run(`acme/web#${id}`);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`Gitea shows no run ${id} of acme/web among`);
    expect(stderr).toContain(`A job has this id: gitea-runners explain ${id}.\n`);
  });

  it('explain of a run prints the same facts as JSON', async () => {
    const { web, run } = await scene();

    const { stdout } = await run('acme/web#1', '-o', 'json');

    expect(JSON.parse(stdout)).toMatchObject({
      is: 'jobs',
      run: { number: 1, repository: 'acme/web', status: 'queued' },
      jobs: [{ state: 'unserved', job: { id: web.jobs[1]?.id } }, { state: 'starting' }, { state: 'blocked' }],
    });
  });
});

/** Removes ages: a second may pass between two looks. */
function timeless(text: string): string {
  return text.replaceAll(/\d+s( ago|\b)/g, 'Ns').replaceAll(/\s+/g, ' ');
}

describe('WHAT and PATH', () => {
  const folder = (): string => folderWith({ 'a.yaml': '', ci: '', 'acme/x': '' });

  it.each<[readonly string[], object]>([
    [['a.yaml', 'acme/api#8'], { paths: ['a.yaml'], written: 'acme/api#8', what: { is: 'run', number: 8 } }],
    [['acme/api#8', 'acme'], { paths: ['acme'], what: { is: 'run' } }],
    [['ci'], { paths: ['ci'] }],
    [['group/ci'], { paths: [], what: { is: 'name', kind: 'group', name: 'ci' } }],
    [['gpu'], { paths: [], what: { is: 'name', kind: 'any', name: 'gpu' } }],
    [['runners/gpu'], { paths: [], what: { is: 'name', namespace: 'runners', name: 'gpu' } }],
    [['17'], { paths: [], what: { is: 'job', id: 17 } }],
    [['groups/'], { paths: ['groups/'] }],
    [['-'], { paths: ['-'] }],
    [['/dev/stdin'], { paths: ['/dev/stdin'] }],
    [['https://g.example.com/git/acme/api/actions/runs/8'], { what: { is: 'page', path: '/acme/api/actions/runs/8' } }],
    [['https://g.example.com/api/v1/repos/acme/api/actions/jobs/8'], { what: { is: 'job', id: 8 } }],
  ])('%j are told apart', (args, expected) => {
    expect(splitArguments(args, folder())).toMatchObject(expected);
  });

  it('two things at once are refused', () => {
    expect(() => splitArguments(['acme/api#8', 'gpu'], folder())).toThrow(Failure);
  });
});

it('the table shows problems first, and only what a filter lets through', async () => {
  const { run } = await scene();
  const states = async (...args: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await run('-o', 'json', ...args);
    return (JSON.parse(stdout) as { jobs: { state: string }[] }).jobs.map(({ state }) => state);
  };

  expect(await states()).toEqual(['unserved', 'starting', 'blocked', 'blocked', 'running']);
  expect(await states('--state', 'running,unserved')).toEqual(['unserved', 'running']);
  expect(await states('--repository', 'Acme/API')).toEqual(['blocked', 'running']);
  expect(await states('--group', 'runners/ci')).toEqual(['unserved', 'starting']);
});

it('the table does not say that all is well when a filter leaves everything out', async () => {
  const { run } = await scene();

  const other = await run('--state', 'held');
  const typo = await run('--group', 'runners/cj', '--exit-code');

  expect(other.stdout).toContain('\nNo job passes the filters. They leave out 5 unfinished jobs.\n');
  expect(other.stdout.split('\n').slice(-2)).toEqual((await run()).stdout.split('\n').slice(-2));
  expect(typo).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'error: GR-EXPLAIN-03 explain --group runners/cj: there is no such RunnerGroup here. RunnerGroups: runners/ci.\n',
  });
});

it('the table refuses a filter that cannot be before it asks Gitea', async () => {
  const { run, simulator } = await scene();

  const outcome = await run('--state', 'broken');

  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toContain('GR-FLAG-18 read --state');
  expect(simulator.requests).toEqual([]);
});

it('the table with -o wide shows states and links, and cuts nothing', async () => {
  const { run, web } = await scene();

  const { stdout } = await run('-o', 'wide');

  expect(stdout).toMatch(/^JOB +NAME +RUNS-ON +AGE +PUSH +STATE +LINK +WHAT HAPPENS$/m);
  expect(stdout).toContain(`/acme/web/actions/runs/${web.run.id}/jobs/`);
});

it('the table is as narrow as COLUMNS says, and breaks the last column between words', async () => {
  const { env, folder } = await scene();

  const { stdout } = await runHere(['explain'], { ...env, COLUMNS: '80' }, folder);

  expect(stdout.split('\n').filter(({ length }) => length > 80)).toEqual([]);
  expect(stdout).toMatch(/^Plan: .*\n {2}\S/m);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('(did you mean linux (runners/ci)?)');
});

it('--exit-code is 4 when a job that is shown is unserved, and the table is printed', async () => {
  const { run } = await scene();

  const stuck = await run('--exit-code');
  const other = await run('--exit-code', '--repository', 'acme/api');

  expect(stuck.code).toBe(4);
  expect(stuck.stdout).toContain('labels not covered: linus');
  expect(other.code).toBe(0);
  expect((await run('--exit-code', 'acme/web#1')).code).toBe(4);
  expect((await run()).code).toBe(0);
});

test('--exit-code and -o of validate are refused where they make no sense', async () => {
  const { run } = await scene();

  expect(await run('--watch', '--exit-code')).toMatchObject({ code: 2, stdout: '' });
  expect(await run('--watch', '-o', 'json')).toMatchObject({ code: 2, stdout: '' });
  expect(await run('-o', 'sarif')).toMatchObject({ code: 2, stdout: '' });
});

const BROKEN = { status: 500, headers: 'application/json', text: '{}' };

async function forward(url: string, env: Readonly<Record<string, string>>) {
  const answer = await fetch(url, { headers: { authorization: `token ${env['GITEA_TOKEN']}` } });
  return { status: answer.status, headers: answer.headers.get('content-type') ?? '', text: await answer.text() };
}

it('--watch prints one block after another on a pipe, goes on after errors, and ends with 130 at Ctrl-C', async () => {
  const { env, simulator } = await scene();
  let isDown = false;
  const front = await serve(async (request, response) => {
    const { status, headers, text } = isDown ? BROKEN : await forward(`${simulator.url}${request.url}`, env);
    response.writeHead(status, { 'content-type': headers }).end(text);
  });
  const folder = folderWith({ 'ci.yaml': groupYaml(front.origin) });
  const child = spawn(process.execPath, [join(process.cwd(), 'lib/gitea-runners.cjs'), 'explain', '-w'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...env, GITEA_URL: front.origin },
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let stdout = '';
  const blocks = (): number => stdout.split('UTC, every 5 s, Ctrl-C ends').length - 1;
  await new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      isDown = true;
      if (blocks() === 2) writeFileSync(join(folder, 'ci.yaml'), 'kind: RunnerGroup\nspec: {');
      if (blocks() === 3) resolve();
    });
  });
  child.kill('SIGINT');

  expect(await ended).toBe(130);
  expect(stdout).toContain('labels not covered: linus');
  expect(stdout).toMatch(/\nerror: GR-GITEA-05 /);
  expect(stdout).toMatch(/\nerror: GR-INPUT-02 [^\n]*\nci\.yaml:2:/);
  expect(stdout).not.toContain('\u001b');
});
