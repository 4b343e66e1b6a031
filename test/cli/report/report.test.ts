/** `report` as a command: tables, CSV, prices, the cluster's RunnerGroups, and what goes wrong. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Simulator } from '../../../simulator/gitea/simulator.ts';
import { runnerName } from '../../../src/planner/names.ts';
import { SIZE } from '../../../src/shared/marks.ts';
import { kubeconfigFor, startCluster } from '../../clients/kubernetes/through-cli.ts';
import { fencedBlocks } from '../../packaging/doc-blocks.ts';
import { type FakeGitea, fakeGitea, jobRow, json } from '../../support/gitea-stand-in.ts';
import { answering, groupList, groupObject } from '../../support/kube-objects.ts';
import { folderWith, groupYaml, runHere } from '../../support/run-cli.ts';
import { startAcme, TOKEN } from '../../support/start-acme.ts';

function manualBlock(name: string): string {
  const block = fencedBlocks(readFileSync('docs/report.md', 'utf8')).find((each) => each.name === name);
  if (block === undefined) throw new Error(`docs/report.md has no block ${name}`);
  return block.text;
}

const recent = (): string => new Date(Date.now() - MINUTE_MS).toISOString();
let nowMs = 0;
const MINUTE_MS = 60_000;

/** A CI job that waits two minutes and runs for eight, an hour ago, on a runner of group ci. */
function runJob({ gitea, url }: Simulator, workflow = 'ci.yaml', result: 'success' | 'failure' = 'success'): string {
  nowMs = Date.now() - 60 * MINUTE_MS;
  const { jobs } = gitea.push('acme/web', { workflow, jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const [{ id = 0 } = {}] = jobs;
  const named = { namespace: 'runners', name: 'ci', origin: url, templateHash: '' };
  const name = runnerName('', named, { id, attempt: 1 }, 0);
  const runner = gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'] });
  nowMs += 2 * MINUTE_MS;
  gitea.poll(runner.id);
  nowMs += 8 * MINUTE_MS;
  gitea.finish(runner.id, result);
  nowMs = Date.now();
  return name;
}

async function acme() {
  nowMs = Date.now();
  const { env, simulator } = await startAcme({ now: () => nowMs });
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url), 'prices.yaml': manualBlock('prices') });
  return { env, simulator, folder, run: (...args: readonly string[]) => runHere(['report', ...args], env, folder) };
}

/** The report on a small Gitea's runners; Kubernetes is not looked at. */
function reportOn({ url }: FakeGitea, group = groupYaml(url), ...flags: readonly string[]) {
  const env = { GITEA_URL: url, GITEA_TOKEN: TOKEN };
  return runHere(['report', '--cluster', 'off', ...flags], env, folderWith({ 'ci.yaml': group }));
}

/** A Job that took twelve minutes and asks for two CPUs. */
function endedJob(name: string, annotations = {}): object {
  const end = Date.now() - 40 * MINUTE_MS;
  const time = (ms: number): string => new Date(ms).toISOString();
  const containers = [{ name: 'runner', resources: { requests: { cpu: '2', memory: '4Gi' } } }];
  return {
    metadata: { name, namespace: 'runners', uid: name, creationTimestamp: time(end - 12 * MINUTE_MS), annotations },
    spec: { selector: {}, template: { spec: { containers } } },
    status: { completionTime: time(end), conditions: [{ type: 'Complete', status: 'True' }] },
  };
}

it('report prints a table with costs, and with the gaps of its figures', async () => {
  const { folder, run, simulator } = await acme();
  runJob(simulator);
  runJob(simulator, 'ci.yaml', 'failure');

  const { code, stdout, stderr } = await run('ci.yaml', '--cluster', 'off', '--prices', join(folder, 'prices.yaml'));

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n').slice(1)).toEqual([
    '',
    'GROUP       JOBS  FAILED  WAIT P50  WAIT P95  CI MIN  RUNNER MIN  NEEDLESS  CPU H  GIB H  EUR',
    'runners/ci  2     1       2m00s     2m00s     16      ≥16         ?         ≥0.3   ≥0.0   ≥0.01',
    'all         2     1       2m00s     2m00s     16      ≥16         ?         ≥0.3   ≥0.0   ≥0.01',
    '',
    'Kubernetes was not looked at: runner minutes are CI minutes, needless starts are unknown.',
    '',
  ]);
});

it('the commands of the manual run, and ask for workflows only by workflow', async () => {
  const { run, simulator } = await acme();
  runJob(simulator);
  for (const line of manualBlock('ask').split('\n')) {
    const [, , ...args] = line.replace(/ > .*/, '').split(' ');
    const before = simulator.requests.length;

    const { code, stdout, stderr } = await run('ci.yaml', '--cluster', 'off', ...args);

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(
      line.includes('repository') ? 'acme/web ' : line.includes('csv') ? 'acme/web ci.yaml' : 'runners/ci',
    );
    const asksRuns = simulator.requests.slice(before).some(({ target }) => target.includes('/actions/runs?'));
    expect(asksRuns).toBe(line.includes('workflow'));
  }
});

it('CSV has a line per row, and no name that a spreadsheet would calculate', async () => {
  const { run, simulator } = await acme();
  runJob(simulator, '=1+"x",\u202e.yaml');

  const { stdout } = await run('ci.yaml', '--cluster', 'off', '--by', 'workflow', '-o', 'csv');

  const [head = '', line = '', ...rest] = stdout.split('\r\n');
  expect(head.split(',').slice(0, 4)).toEqual(['gitea', 'name', 'jobs', 'failed']);
  expect(line).toContain(`${simulator.url},"acme/web =1+""x"",\\u{202e}.yaml",1,0,`);
  expect(head.split(',')).toHaveLength(line.replace(/"(?:[^"]|"")*"/, '').split(',').length);
  expect(rest).toEqual(['']);
});

it('an owner whose name begins like a formula is a text in CSV', async () => {
  const times = { created_at: recent(), started_at: recent(), completed_at: recent() };
  const url = 'https://gitea.example.com/api/v1/repos/-1-1/web/actions/jobs/1';
  const gitea = await fakeGitea({
    jobs: [jobRow(1, 'completed', { conclusion: 'success', labels: ['linux'], runner_id: 4, url, ...times })],
  });
  const group = groupYaml(gitea.url).replace('scope: org\n  org: acme', 'scope: global');

  const { stdout } = await reportOn(gitea, group, '--by', 'organization', '-o', 'csv');

  expect(stdout.split('\r\n')[1]).toContain(`${gitea.url},'-1-1,1,0,`);
});

it('report reads the RunnerGroups and ended Jobs of the cluster', async () => {
  const { env, simulator } = await acme();
  const name = runJob(simulator);
  const server = await startCluster({
    jobs: { runners: [endedJob(name), endedJob(`${name.slice(0, -4)}0000`)] },
    override: answering({ '/runnergroups': groupList([groupObject(groupYaml(simulator.url))]) }),
  });

  const flags = ['-A', '--kubeconfig', kubeconfigFor(server), '-o', 'json'];
  const { code, stdout, stderr } = await runHere(['report', ...flags], env, folderWith({}));

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({
    isWhole: true,
    rows: [
      {
        name: 'runners/ci',
        jobs: 1,
        needlessStarts: 1,
        runnerMinutes: { atLeast: 24, isExact: true },
        cpuHours: { atLeast: 0.8 },
        memoryGibHours: { atLeast: 1.6 },
      },
    ],
  });
});

it.each([
  ['of the size', { 'runners/ci': { runnerHour: 1 }, 'runners/ci/large': { runnerHour: 10 } }, 'large', 2],
  ['of its group when the size has none', { 'runners/ci': { runnerHour: 1 } }, 'large', 0.2],
  [
    'of its group when it has no size',
    { 'runners/ci': { runnerHour: 1 }, 'runners/ci/large': { runnerHour: 10 } },
    '',
    0.2,
  ],
  ['of all when neither has one', { 'runners/gpu': { runnerHour: 1 } }, 'large', 1],
])('a runner has the price %s', async (_, groups, size, cost) => {
  const { run, simulator } = await acme();
  const name = runJob(simulator);
  const annotations = size === '' ? {} : { [SIZE]: size };
  const server = await startCluster({ jobs: { runners: [endedJob(name, annotations)] } });
  const prices = JSON.stringify({ currency: 'EUR', runnerHour: 5, groups });
  const file = join(folderWith({ 'prices.yaml': prices }), 'prices.yaml');

  const { stdout } = await run('ci.yaml', '--kubeconfig', kubeconfigFor(server), '--prices', file, '-o', 'json');

  expect(JSON.parse(stdout)).toMatchObject({ total: { cost: { atLeast: cost, isExact: true } } });
});

it('report says when nothing ran, and when there are no RunnerGroups', async () => {
  const { env, run } = await acme();

  expect((await run('ci.yaml', '--cluster', 'off')).stdout).toMatch(/^No CI job ended on these runners from /);
  expect(await runHere(['report', '.', '--cluster', 'off'], env, folderWith({}))).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('GR-INPUT-09'),
  });
});

it.each([
  ['no file', undefined, 'nowhere.yaml'],
  ['a price that is no number', 'currency: EUR\ncpuHour: dear\n', 'cpuHour'],
  ['a price below 0', 'currency: EUR\ncpuHour: -1\n', 'cpuHour'],
  ['an unknown field', 'currency: EUR\ncpuHours: 1\n', 'cpuHours'],
  ['no currency', 'cpuHour: 1\n', 'currency'],
  ['no YAML', 'currency: [\n', 'no YAML'],
  ['too much', `currency: EUR # ${'x'.repeat(300_000)}\n`, 'more than 262144 characters'],
])('report refuses prices with %s', async (_, text, what) => {
  const { run } = await acme();
  const file = text === undefined ? 'nowhere.yaml' : join(folderWith({ 'prices.yaml': text }), 'prices.yaml');

  const { code, stdout, stderr } = await run('ci.yaml', '--cluster', 'off', '--prices', file);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('GR-REPORT-01');
  expect(stderr).toContain(what);
});

it('warns when the history is not whole, and marks it', async () => {
  const jobs = [jobRow(1, 'completed', { conclusion: 'odd' })];
  const gitea = await fakeGitea({ jobs });

  const { code, stdout, stderr } = await reportOn(gitea, groupYaml(gitea.url), '-o', 'json');

  expect(code).toBe(0);
  expect(stderr).toMatch(/^warning: GR-REPORT-02 the history of org acme at http\S+ is not whole/);
  expect(JSON.parse(stdout)).toMatchObject({ isWhole: false });
});

it('report ends with 1 and nothing on stdout when Gitea fails in the middle, and never prints the token', async () => {
  const gitea = await fakeGitea({
    jobs: Array.from({ length: 120 }, (_, index) =>
      jobRow(index + 1, 'completed', { conclusion: 'success', created_at: recent(), completed_at: recent() }),
    ),
    intercept: ({ query }, response) => {
      if (query.get('page') !== '2') return undefined;
      json(response, { message: `broken, ${TOKEN}` }, 500);
      return true;
    },
  });

  const { code, stdout, stderr } = await reportOn(gitea);

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: GR-GITEA-/);
  expect(stderr).not.toContain(TOKEN);
});
