/**
 * Situations that Gitea alone knows, as an engineer meets them at 3 a.m.: each with its cause and the next step. Real
 * program, simulated Gitea.
 */
import { expect, it } from 'vitest';
import type { Simulator } from '../../simulator/gitea/simulator.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

type Gitea = Simulator['gitea'];

interface Row {
  readonly when: string;
  /** Makes the situation. Returns the argument of `explain`. */
  readonly make: (gitea: Gitea) => string;
  readonly code: number;
  readonly says: readonly string[];
}

const one = (gitea: Gitea, more: object = {}, runsOn = 'linux', repository = 'acme/web') =>
  gitea.push(repository, { jobs: [{ key: 'one', runsOn: runsOn.split(' ') }], ...more });

/** A run of acme/web with a job that runs. */
function atWork(gitea: Gitea): void {
  one(gitea, {}, 'mac');
  gitea.poll(gitea.register({ name: 'mac-1', scope: { kind: 'owner', owner: 'acme' }, labels: ['mac'] }).id);
}

/** The id of the first job. */
const idOf = ({ jobs }: ReturnType<Gitea['push']>): string => String(jobs[0]?.id);

const ROWS: readonly Row[] = [
  {
    when: 'no group has the repository',
    make: () => 'other/api#1',
    code: 4,
    says: [
      'No RunnerGroup here has jobs of other/api. Cause: the scope of no RunnerGroup has other/api',
      'Evidence: runners/arm has org acme at http',
      'Next: add a RunnerGroup whose scope has other/api',
    ],
  },
  {
    when: 'the page of a job is of another repository',
    make: () => 'https://gitea.example.com/other/api/actions/runs/4/jobs/5',
    code: 4,
    says: ['No RunnerGroup here has jobs of other/api.'],
  },
  {
    when: 'Actions is switched off in the repository',
    make: (gitea) => {
      const id = idOf(one(gitea));
      gitea.setActions('acme/web', false);
      return id;
    },
    code: 4,
    says: [
      'is unserved: it gets no runner until somebody acts. Cause: Actions is switched off in the settings of acme/web: Gitea gives its jobs to no runner Since:',
      'Next: switch Actions on in the settings of acme/web; if the job is not to run, cancel its run then Link:',
    ],
  },
  {
    when: 'Actions was switched off while it runs',
    make: (gitea) => {
      atWork(gitea);
      gitea.setActions('acme/web', false);
      return 'acme/web#1';
    },
    code: 0,
    says: ['Cause: runs on mac-1', 'Next: nothing: it runs'],
  },
  {
    when: 'the runner of others that runs it is offline',
    make: (gitea) => {
      atWork(gitea);
      for (const row of gitea.state.runners.values()) row.lastOnline = 0;
      return 'acme/web#1';
    },
    code: 0,
    says: [
      'Cause: runs on mac-1 (not a runner of these groups), which Gitea shows offline',
      'Next: start that runner again. If it is gone, re-run the job when Gitea has failed it',
    ],
  },
  {
    when: 'only a group of another scope has the label',
    make: (gitea) => idOf(one(gitea, {}, 'gpu')),
    code: 4,
    says: [
      'Cause: labels not covered: gpu (runners/ml has them, but its scope, repository acme/ml, does not have acme/web)',
      'Next: widen the scope of runners/ml, or add a RunnerGroup with these labels whose scope has acme/web',
    ],
  },
  {
    when: 'two groups have one label each',
    make: (gitea) => idOf(one(gitea, {}, 'linux arm64')),
    code: 4,
    says: [
      'no group has all of them: linux is in runners/ci, arm64 is in runners/arm',
      'Next: one runner must have all labels of runs-on',
    ],
  },
  {
    when: 'a job needs another one',
    make: (gitea) =>
      String(
        gitea.push('acme/web', {
          jobs: [
            { key: 'first', runsOn: ['linux'] },
            { key: 'second', runsOn: ['linux'], needs: ['first'] },
          ],
        }).jobs[1]?.id,
      ),
    code: 0,
    says: [
      'Cause: blocked: probably needs first (queued) of its run',
      'Next: see what first waits for: gitea-runners explain 1',
    ],
  },
  {
    when: 'a job needs another one that runs',
    make: (gitea) => {
      const { jobs } = gitea.push('acme/web', {
        jobs: [
          { key: 'first', runsOn: ['mac'] },
          { key: 'second', runsOn: ['linux'], needs: ['first'] },
        ],
      });
      gitea.poll(gitea.register({ name: 'mac-1', scope: { kind: 'owner', owner: 'acme' }, labels: ['mac'] }).id);
      return String(jobs[1]?.id);
    },
    code: 0,
    says: ['Next: wait until first has ended: gitea-runners explain 1 says how it is'],
  },
  {
    when: 'max-parallel of its matrix holds it back',
    make: (gitea) => {
      const { jobs } = gitea.push('acme/web', {
        jobs: ['18', '20'].map((of) => ({ key: 'test', name: `test (${of})`, runsOn: ['linux'], needsApproval: true })),
      });
      // As Gitea writes it (pull request 36357).
      const blocked = gitea.state.jobs.get(jobs[1]?.id ?? 0);
      if (blocked) blocked.status = 'blocked';
      return String(jobs[1]?.id);
    },
    code: 0,
    says: [
      'Cause: blocked: probably held back by max-parallel of its matrix, behind test (18) (queued)',
      "Gitea's API does not tell max-parallel; its workflow does",
      'Next: wait until test (18) has ended: gitea-runners explain 1 says how it is. Or raise max-parallel in its workflow',
    ],
  },
  {
    when: 'it is not approved, and no group has its label',
    make: (gitea) => idOf(one(gitea, { event: 'pull_request', needsApproval: true }, 'linxu')),
    code: 0,
    says: [
      'it waits for an approval: no other job of its run or repository is ready or runs; after that, labels not covered: linxu (did you mean linux (runners/ci)?)',
      'Next: open the page of the run: it has a button when an approval is missing Next: runs-on linxu: did you mean linux (runners/ci)?',
    ],
  },
  {
    when: 'a pull request from a fork is not approved',
    make: (gitea) => idOf(one(gitea, { event: 'pull_request', needsApproval: true })),
    code: 0,
    says: [
      'Run acme/web#1 (',
      'Cause: blocked: it waits for an approval: no other job of its run or repository is ready or runs',
      'its run was started by pull_request',
      'Next: open the page of the run: it has a button when an approval is missing',
    ],
  },
  {
    when: 'a push waits while another run is at work',
    make: (gitea) => {
      atWork(gitea);
      // The simulator knows no concurrency groups. Gitea shows both in the same way.
      return idOf(one(gitea, { event: 'push', needsApproval: true }));
    },
    code: 0,
    says: [
      'Cause: blocked: it waits for its concurrency group, probably held by the run of one (in progress) Since:',
      'Next: wait for the other run, or cancel it: gitea-runners explain 1 has its link',
    ],
  },
  {
    when: 'the cap of its group is 0',
    make: (gitea) => idOf(one(gitea, {}, 'zero')),
    code: 4,
    says: [
      'Cause: held back: group runners/zero starts no runners, because its cap is 0',
      'Next: raise spec.maxActiveRunners in ',
      'zero.yaml: it is 0',
    ],
  },
  {
    when: 'it was cancelled',
    make: (gitea) => {
      const pushed = one(gitea);
      gitea.cancelRun(pushed.run.id);
      // Without an active job, no completed one is read.
      one(gitea);
      return idOf(pushed);
    },
    code: 0,
    says: ['It has finished: it waits for nothing.', '"one" was cancelled'],
  },
  {
    when: 'it has failed, and what needs it is skipped',
    make: (gitea) => {
      gitea.push('acme/web', {
        jobs: [
          { key: 'first', runsOn: ['mac'] },
          { key: 'second', runsOn: ['mac'], needs: ['first'] },
        ],
      });
      const { id } = gitea.register({ name: 'mac-1', scope: { kind: 'owner', owner: 'acme' }, labels: ['mac'] });
      gitea.poll(id);
      gitea.finish(id, 'failure');
      one(gitea);
      return 'acme/web#1';
    },
    code: 0,
    says: [
      '"first" failed',
      'on mac-1',
      '"second" was skipped: its condition was false, or a job that it needs did not succeed',
    ],
  },
];

it.each(ROWS)('explain, at 3 a.m., when $when', async ({ make, code, says }) => {
  const { simulator, env } = await startAcme();
  const { gitea, url } = simulator;
  gitea.addRepo('acme/ml');
  gitea.addToken('anna', ['read:organization', 'read:repository'], 'a-token-for-repositories-0123456789');
  const group = (name: string, label: string): string =>
    groupYaml(url, '', name).replace('linux:host', `${label}:host`);
  const folder = folderWith({
    'ci.yaml': group('ci', 'linux'),
    'arm.yaml': group('arm', 'arm64'),
    'zero.yaml': group('zero', 'zero').replace('maxActiveRunners: 5', 'maxActiveRunners: 0'),
    'ml.yaml': group('ml', 'gpu').replace('scope: org\n  org: acme', 'scope: repo\n  repo: acme/ml'),
  });
  const what = make(gitea);

  const answer = await runHere(['explain', folder, '--exit-code', what], {
    ...env,
    GITEA_TOKEN: 'a-token-for-repositories-0123456789',
  });

  const line = `${answer.stdout}${answer.stderr}`.replaceAll(/\s+/g, ' ');
  expect(answer.code, line).toBe(code);
  for (const text of says) expect(line).toContain(text);
});

/**
 * Prints the table with a queued job of acme/web, which has Actions switched off, and one of acme/ml, which has not.
 */
async function table(ageMs: number) {
  let agoMs = ageMs;
  const { simulator, env, folder } = await startAcme({ now: () => Date.now() - agoMs });
  const { gitea } = simulator;
  gitea.addRepo('acme/ml');
  one(gitea);
  one(gitea, {}, 'linux', 'acme/ml');
  gitea.setActions('acme/web', false);
  agoMs = 0;
  const asked: string[] = [];
  simulator.intercept(({ url = '' }) => {
    if (url.includes('/actions/runs')) asked.push(url);
    return false;
  });
  const { code, stdout } = await runHere(['explain', folder, '--exit-code', '-o', 'wide'], env);
  return { code, stdout, asked };
}

it('the table of explain tells where Actions is switched off, with a token that reads no repository', async () => {
  const { code, stdout } = await table(70_000);

  expect(code).toBe(4);
  expect(stdout).toMatch(/acme\/web .*unserved.*Actions is switched off/);
  expect(stdout).toContain('switch Actions on in the settings of acme/web');
  expect(stdout).not.toContain('settings of acme/ml');
});

it('the table of explain asks for no runs while all jobs are young', async () => {
  expect((await table(1_000)).asked).toEqual([]);
});
