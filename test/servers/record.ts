/**
 * Writes what real Gitea answers into `test/clients/gitea/recorded/<version>/<name>.json`, for tests that replay it:
 *
 *     RECORD_GITEA=1 npm run test:servers
 *
 * One file per request: `{recordedAt, request: {method, path}, answer: {status, headers, body}}`. Addresses say gitea.example.com.
 * Moments (org acme, user mia; RunnerGroup `linux` of namespace `runners`):
 *
 *   idle-…        nothing has run yet
 *   rerun-…       `quick` is done and queued again
 *   cancelled-…   `cleanup` was cancelled a moment ago, and its runner still does the last step. Runner 1.0.8 does not declare the
 *                 capability "cancelling" (Gitea 1.27 routers/api/actions/runner), so the job is completed and the row gone at once
 *   cancelling-…  1.27 only, org beta: the same with a runner that declares it: the job is in no list by status, the runner online
 *                 and busy
 *   the others    build runs on a runner of `linux`; test is blocked by it; gpu 1..3, odd (hostile name and labels) and replace are
 *                 queued; an older replace was cancelled; quick twice and broken are done; mia's quick is queued; one idle
 *                 runner at each level
 */
import { inject, it } from 'vitest';
import { runnerName } from '../../src/planner/names.ts';
import type { Account, ApiJob } from './account.ts';
import { takeJob } from './bare-runner.ts';
import { GITEA_VERSIONS } from './build.ts';
import { Cluster } from './cluster.ts';
import { type Gitea, startGitea } from './gitea.ts';
import type { RunnerJob } from './manifest.ts';
import { Playground, waitUntil } from './process.ts';
import { EXAMPLE, LEVELS, Recording } from './recording.ts';
import { workflow } from './workflows.ts';

const PATIENCE = { timeoutMs: 60_000 };

/** Starts a runner for a job. */
type Run = (job: ApiJob) => void;

it.each(GITEA_VERSIONS)('records Gitea %s', async (version) => {
  const builds = inject('builds');
  const playground = new Playground('record');
  try {
    const gitea = await startGitea(version, builds.gitea[version], playground);
    const { admin } = gitea;
    const mia = await prepare(admin);
    const secrets = new Map<string, string>();
    for (const [name, level] of Object.entries(LEVELS)) {
      secrets.set(`${name}/token`, await (name === 'user' ? mia : admin).registrationToken(level));
    }
    const cluster = new Cluster({ playground, runner: builds.runner, secrets });
    const jobs: RunnerJob[] = [];
    const start = (wanted: Wanted): void => {
      jobs.push(runnerJob(gitea.url, wanted));
      cluster.sync(jobs, Date.now());
    };
    const run: Run = ({ id, run_attempt }) =>
      start({ group: 'linux', level: 'org', labels: 'linux:host', id, run_attempt });
    const recording = new Recording(gitea, mia);

    await recording.lists('org', 'idle-');
    await runTwice(admin, run, () => recording.lists('org', 'rerun-'));
    await cancelSlowly(admin, run, () => recording.lists('org', 'cancelled-'));
    await fillQueue(admin, run);
    await mia.dispatch('mia/mine', 'quick.yml');
    let slot = 900;
    for (const level of Object.keys(LEVELS)) {
      start({ group: 'spare', level, labels: 'spare:host', id: slot++, run_attempt: 1 });
    }
    await waitUntil('idle runners register', async () => (await admin.runnerNames('/admin')).length === 5, PATIENCE);
    for (const level of Object.keys(LEVELS)) await recording.lists(level);
    await recording.rest();
    await recording.errors();
    if (version !== '1.26.0') {
      await cancelBareRunner(gitea);
      await recording.lists('org', 'cancelling-', '/orgs/beta');
    }
  } finally {
    await playground.close();
  }
});

async function prepare(admin: Account): Promise<Account> {
  await admin.createOrg('acme');
  await admin.createRepo('web', 'acme');
  const mia = await admin.createUser('mia');
  await mia.createRepo('mine');
  const name = JSON.stringify('x: "y"\n---\n# {{ }} \u001b[31m ../../etc');
  const runsOn = JSON.stringify(['linux', 'a: b', "it's", '{{ .x }}', '- y']);
  const odd = workflow({ odd: { runsOn, seconds: 1 } }).replace('    steps:', `    name: ${name}\n    steps:`);
  const files = {
    'quick.yml': workflow({ quick: { runsOn: 'linux', seconds: 1 } }),
    'broken.yml': workflow({ broken: { runsOn: 'linux', seconds: 1 } }).replace(/run: .*/, 'run: exit 1'),
    'cleanup.yml': workflow({ cleanup: { runsOn: 'linux', seconds: 6, lastSeconds: 5 } }, 'cleanup'),
    'build.yml': workflow({
      build: { runsOn: 'linux', seconds: 30 },
      test: { runsOn: 'linux', seconds: 1, needs: 'build' },
      gpu: { runsOn: 'gpu', seconds: 1, matrix: 3 },
    }),
    'odd.yml': odd,
    'replace.yml': workflow({ replace: { runsOn: 'gpu', seconds: 1 } }, 'replace'),
  };
  for (const [file, text] of Object.entries(files)) await admin.addWorkflow('acme/web', file, text);
  await mia.addWorkflow('mia/mine', 'quick.yml', files['quick.yml']);
  return mia;
}

async function runTwice(admin: Account, run: Run, queuedAgain: () => Promise<void>): Promise<void> {
  await admin.dispatch('acme/web', 'quick.yml');
  const quick = await queuedJob(admin, 'quick');
  run(quick);
  await finished(admin);
  await admin.dispatch('acme/web', 'broken.yml');
  run(await queuedJob(admin, 'broken'));
  await finished(admin);
  await admin.rerun('acme/web', quick);
  const again = await queuedJob(admin, 'quick');
  await queuedAgain();
  run(again);
  await finished(admin);
}

async function cancelSlowly(admin: Account, run: Run, justCancelled: () => Promise<void>): Promise<void> {
  await admin.dispatch('acme/web', 'cleanup.yml');
  run(await queuedJob(admin, 'cleanup'));
  await running(admin);
  await admin.dispatch('acme/web', 'cleanup.yml');
  const next = await queuedJob(admin, 'cleanup');
  await waitUntil('the first is cancelled', async () => (await count(admin, 'in_progress')) === 0, PATIENCE);
  await justCancelled();
  run(next);
  await finished(admin);
}

async function fillQueue(admin: Account, run: Run): Promise<void> {
  await admin.dispatch('acme/web', 'build.yml');
  run(await queuedJob(admin, 'build'));
  await running(admin);
  await admin.dispatch('acme/web', 'odd.yml');
  await admin.dispatch('acme/web', 'replace.yml');
  await admin.dispatch('acme/web', 'replace.yml');
}

async function cancelBareRunner({ admin, url }: Gitea): Promise<void> {
  const labels = ['linux'];
  await admin.createOrg('beta');
  await admin.createRepo('web', 'beta');
  await admin.addWorkflow('beta/web', 'stay.yml', workflow({ stay: { runsOn: 'linux', seconds: 60 } }, 'stay'));
  await admin.dispatch('beta/web', 'stay.yml');
  const [job] = await admin.jobs('/orgs/beta', 'queued');
  if (job === undefined) throw new Error('no job of beta is queued');
  const registrationToken = await admin.registrationToken('/orgs/beta');
  await takeJob(url, { name: nameFor('linux', 'org', job), registrationToken, labels });
  await admin.dispatch('beta/web', 'stay.yml');
}

async function queuedJob(admin: Account, name: string): Promise<ApiJob> {
  for (;;) {
    const job = (await admin.jobs('/orgs/acme', 'queued')).find((one) => one.name === name);
    if (job) return job;
    await waitUntil(`${name} is queued`, async () => (await count(admin, 'queued')) > 0, PATIENCE);
  }
}

async function running(admin: Account): Promise<void> {
  await waitUntil('a job runs', async () => (await count(admin, 'in_progress')) > 0, PATIENCE);
}

async function finished(admin: Account): Promise<void> {
  await waitUntil('all jobs end', async () => (await count(admin, 'queued', 'in_progress')) === 0, PATIENCE);
  await waitUntil('all runners end', async () => (await admin.runnerNames('/admin')).length === 0, PATIENCE);
}

async function count(admin: Account, ...states: readonly string[]): Promise<number> {
  return (await admin.jobs('/orgs/acme', ...states)).length;
}

interface Wanted {
  readonly group: string;
  readonly level: string;
  readonly labels: string;
  readonly id: number;
  readonly run_attempt: number;
}

function nameFor(group: string, level: string, job: Pick<ApiJob, 'id' | 'run_attempt'>): string {
  const key = { namespace: 'runners', name: group, origin: EXAMPLE, templateHash: level };
  return runnerName('', key, { id: job.id, attempt: job.run_attempt }, 0);
}

function runnerJob(url: string, { group, level, labels, id, run_attempt }: Wanted): RunnerJob {
  const name = nameFor(group, level, { id, run_attempt });
  const env = [
    { name: 'GITEA_INSTANCE_URL', value: url },
    { name: 'GITEA_RUNNER_REGISTRATION_TOKEN', valueFrom: { secretKeyRef: { name: level, key: 'token' } } },
    { name: 'GITEA_RUNNER_EPHEMERAL', value: 'true' },
    { name: 'GITEA_RUNNER_NAME', value: name },
    { name: 'GITEA_RUNNER_LABELS', value: labels },
    { name: 'HOME', value: '/data' },
  ];
  const container = { name: 'runner', env, volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  // The runner's own script registers.
  const register = { ...container, name: 'register', command: ['true'] };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'runners', labels: {}, annotations: {} },
    spec: {
      ttlSecondsAfterFinished: 600,
      template: {
        metadata: { annotations: {} },
        spec: { terminationGracePeriodSeconds: 30, initContainers: [register], containers: [container] },
      },
    },
  };
}
