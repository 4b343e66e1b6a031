/**
 * The weak points of the operator that this program replaces (bapung/gitea-runner-operator), W1-W13: each scenario with the
 * right outcome, from outside where the outcome shows outside.
 */
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Simulator, SimulatorOptions } from '../simulator/gitea/simulator.ts';
import { folderWith, groupYaml, type Outcome, runHere } from './support/run-cli.ts';
import { group, job, live, NOW, named, planScene, row, running } from './support/scenario.ts';
import { startAcme, TOKEN } from './support/start-acme.ts';

const ci = group();

async function startGitea(options: SimulatorOptions = {}): Promise<Simulator> {
  return (await startAcme(options)).simulator;
}

function queue({ gitea }: Simulator, count: number, labels: readonly string[] = ['linux']): void {
  const jobs = Array.from({ length: count }, (_, i) => ({ key: `job${i}`, runsOn: labels }));
  gitea.push('acme/web', { jobs });
}

function generate(simulator: Simulator, spec = '', args: readonly string[] = []): Promise<Outcome> {
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url, spec) });
  return runHere(['generate', ...args], { GITEA_URL: simulator.url, GITEA_TOKEN: TOKEN }, folder);
}

function namesIn(stdout: string): readonly string[] {
  return parseAllDocuments(stdout).map((document) => String(document.getIn(['metadata', 'name'])));
}

describe('where the operator fails', () => {
  it('W1 two groups, or two Giteas with equal job ids, never influence each other; a job that fits both has one runner', () => {
    const other = group({ name: 'other', origin: 'https://two.example.com', look: 'two' });
    const wide = group({ name: 'wide', scope: 'global', look: 'all' });
    const looks = {
      acme: { jobs: [job(1)], runners: [] },
      two: { jobs: [job(1)], runners: [] },
      all: { jobs: [job(1)], runners: [] },
    };

    const forward = planScene({ groups: [ci, other, wide], looks });
    const backward = planScene({ groups: [wide, other, ci], looks });

    expect(forward.names).toEqual([named(ci, 1), named(other, 1)]);
    expect(backward).toEqual(forward);
  });

  it('W2 a restart with 10 queued jobs prints the same bytes: nothing is started again', async () => {
    const simulator = await startGitea();
    queue(simulator, 10);

    const [first, second] = [await generate(simulator), await generate(simulator)];

    expect(namesIn(first.stdout)).toHaveLength(5);
    expect(second.stdout).toBe(first.stdout);
  });

  it('W3 a blocked job gets no runner until it is ready, asked for in one request', async () => {
    const simulator = await startGitea();
    simulator.gitea.push('acme/web', {
      jobs: [
        { key: 'build', runsOn: ['linux'] },
        { key: 'after', runsOn: ['linux'], needs: ['build'] },
      ],
    });

    const { stdout } = await generate(simulator);

    expect(namesIn(stdout)).toHaveLength(1);
    expect(simulator.requests.filter(({ target }) => target.includes('status=queued'))).toHaveLength(1);
    expect(simulator.requests.filter(({ target }) => /waiting|pending|requested/.test(target))).toEqual([]);
  });

  it('W4 a failed Job frees its slot at once; its job gets a new runner under a new name, bounded by a back-off', () => {
    const one = group({ maxActiveRunners: 1 });
    const failed = (ordinal: number) => live(named(one, 1, ordinal), 'failed', { finishedAtMs: NOW });

    expect(planScene({ groups: [one], jobs: [job(1)], liveJobs: [failed(0)] }).names).toEqual([named(one, 1, 1)]);
    expect(planScene({ groups: [one], jobs: [job(1), job(2)], liveJobs: [failed(0), failed(1)] }).verdicts).toEqual({
      1: 'backing-off',
      2: `new-runner ${named(one, 2)}`,
    });
  });

  it('W5 the runner of a cancelled job leaves the output, and every Job has a deadline', async () => {
    const simulator = await startGitea();
    queue(simulator, 1);
    const before = await generate(simulator);
    for (const { id } of simulator.gitea.jobs()) simulator.gitea.cancelJob(id);

    const after = await generate(simulator);

    expect(parseAllDocuments(before.stdout)[0]?.getIn(['spec', 'activeDeadlineSeconds'])).toBeGreaterThan(0);
    expect(after).toMatchObject({ code: 0, stdout: '' });
  });

  it('W6 a job whose runner took another one is served at once, and no runner is started twice', () => {
    const planned = planScene({
      jobs: [running(1, named(ci, 2)), job(2)],
      runners: [row(named(ci, 2), { busy: true })],
    });

    expect(planned.names).toEqual([named(ci, 1), named(ci, 2)].sort());
    expect(planned.runners).toMatchObject(
      [{ pinned: false }, { pinned: true }].sort(() => (named(ci, 1) < named(ci, 2) ? 0 : -1)),
    );
  });

  it('W7 the oldest jobs come first, whatever order the database answers in', async () => {
    const outputs = await Promise.all(
      (['by-id', 'shuffled'] as const).map(async (databaseOrder) => {
        const simulator = await startGitea({
          version: '1.26.0',
          databaseOrder,
          now: () => NOW,
          rootUrl: 'https://gitea.example.com',
        });
        queue(simulator, 8);
        const { stdout } = await generate(simulator);
        return namesIn(stdout).map((name) => name.split('-').slice(0, 3).join('-'));
      }),
    );

    expect(outputs[0]).toHaveLength(5);
    expect(outputs[1]).toEqual(outputs[0]);
  });

  it('W8 all of 120 jobs are seen when MAX_RESPONSE_ITEMS is 20', async () => {
    const simulator = await startGitea({ maxResponseItems: 20 });
    queue(simulator, 120);

    const { stderr } = await generate(simulator);

    expect(stderr).toBe('5 runners: 0 busy, 5 for queued jobs; 115 held back by the cap of runners/ci\n');
  });

  it('W9 a look writes nothing, and the same look asks for the same', async () => {
    const simulator = await startGitea();
    queue(simulator, 2);
    await generate(simulator);
    const once = simulator.requests.length;
    await generate(simulator);

    expect(simulator.requests).toHaveLength(2 * once);
    expect(new Set(simulator.requests.map(({ method }) => method))).toEqual(new Set(['GET']));
  });

  it('W10 no token and no answer of the server is ever printed, and the registration token is only referred to', async () => {
    const simulator = await startGitea();
    queue(simulator, 1);
    const good = await generate(simulator, '', ['-v']);
    simulator.intercept((_, response) => {
      response.writeHead(401, { 'Content-Type': 'application/json' });
      response.end('{"message":"HOSTILE BODY"}');
      return true;
    });

    const bad = await generate(simulator, '', ['-v']);

    expect(bad).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.stringify([good, bad])).not.toMatch(new RegExp(`${TOKEN}|HOSTILE BODY`));
    expect(good.stdout).toContain('secretKeyRef');
  });

  it('W11 the number held back by the cap is on stderr and in explain', async () => {
    const simulator = await startGitea();
    queue(simulator, 50);
    const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url) });
    const env = { GITEA_URL: simulator.url, GITEA_TOKEN: TOKEN };

    const [generated, explained] = [await runHere(['generate'], env, folder), await runHere(['explain'], env, folder)];

    expect(generated.stderr).toContain('45 held back by the cap of runners/ci');
    expect(explained.stdout.match(/held back by the cap of group runners\/ci/g)).toHaveLength(45);
  });

  it.each([
    ['scope without its owner', (yaml: string) => yaml.replace('  org: acme\n', ''), /scope org needs org/],
    ['the operator’s sample: scope org with a user', (yaml: string) => `${yaml}  user: anna\n`, /spec\.user/],
    ['a bad label', (yaml: string) => yaml.replace('"linux:host"', '"two words"'), /spec\.labels\[0\]/],
    ['an unknown field', (yaml: string) => `${yaml}  maxRunners: 3\n`, /maxActiveRunners/],
  ])('W12 %s is refused with its place, and nothing is printed', async (_, spoil, text) => {
    const folder = folderWith({ 'ci.yaml': spoil(groupYaml('https://gitea.example.com')) });

    const outcome = await runHere(['generate'], {}, folder);

    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(outcome.stderr).toMatch(/ci\.yaml:\d+:\d+: /);
    expect(outcome.stderr).toMatch(text);
  });

  it('W12 an org that does not exist is exit 1 and says what to check', async () => {
    const simulator = await startGitea();
    const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url).replace('org: acme', 'org: acne') });

    const outcome = await runHere(['generate'], { GITEA_URL: simulator.url, GITEA_TOKEN: TOKEN }, folder);

    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toContain('org acne');
  });

  it('W13 a job without labels is left alone, unless the group asks for such jobs', async () => {
    const simulator = await startGitea();
    queue(simulator, 1, []);

    const closed = await generate(simulator);
    const open = await generate(simulator, '  acceptUnlabelledJobs: true\n  containerMode: dind\n');

    expect(closed).toMatchObject({ code: 0, stdout: '' });
    expect(namesIn(open.stdout)).toHaveLength(1);
  });
});
