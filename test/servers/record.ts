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
import { describe, it } from 'vitest';
import { runnerName } from '../../src/planner/names.ts';
import type { Account, ApiJob } from './account.ts';
import { GITEA_VERSIONS } from './build.ts';
import { type RunnerJob, variantOf } from './manifest.ts';
import { startPod } from './pod.ts';
import { waitUntil } from './process.ts';
import { EXAMPLE, LEVELS, Recording } from './recording.ts';
import { type Site, useSite } from './site.ts';
import { workflow } from './workflows.ts';

/** Starts a runner for a job. */
type Run = (job: ApiJob) => Promise<void>;

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  const site = useSite('record', { version, groups: [{ name: 'linux', labels: ['linux:host'], cap: 9 }] });

  it('is recorded', async () => {
    const { admin, gitea } = site;
    const mia = await prepare(site);
    let model: RunnerJob | undefined;
    const start = async (level: string, name: string, labels: string): Promise<void> => {
      model ??= (await site.manifests())[0];
      if (!model) throw new Error('generate printed no Job');
      const by = level === 'user' ? mia : admin;
      const world = await site.world({ 'runner/token': await by.registrationToken(LEVELS[level] ?? '/admin') });
      const { running } = startPod(variantOf(model, { GITEA_RUNNER_NAME: name, GITEA_RUNNER_LABELS: labels }), world);
      void running.exited.then(() => site.playground.endSession(running));
    };
    const run: Run = (job) => start('org', nameFor('linux', 'org', job), 'linux:host');
    const recording = new Recording(gitea, mia);

    await recording.lists('org', 'idle-');
    await runTwice(site, run, () => recording.lists('org', 'rerun-'));
    await cancelSlowly(site, run, () => recording.lists('org', 'cancelled-'));
    await fillQueue(site, run);
    await mia.dispatch('mia/mine', 'quick.yml');
    for (const [index, level] of Object.keys(LEVELS).entries())
      await start(level, nameFor('spare', level, { id: 900 + index, run_attempt: 1 }), 'spare:host');
    await waitUntil('idle runners register', async () => (await admin.runners('/admin')).length === 5);
    for (const level of Object.keys(LEVELS)) await recording.lists(level);
    await recording.rest();
    await recording.errors();
    if (version === '1.26.0') return;
    await cancelBareRunner(site);
    await recording.lists('org', 'cancelling-', '/orgs/beta');
  });
});

async function prepare(site: Site): Promise<Account> {
  const mia = await site.admin.createUser('mia');
  await mia.createRepo('mine');
  const name = JSON.stringify('x: "y"\n---\n# {{ }} \u001b[31m ../../etc');
  const runsOn = JSON.stringify(['linux', 'a: b', "it's", '{{ .x }}', '- y']);
  const odd = workflow({ odd: { runsOn } }).replace('    steps:', `    name: ${name}\n    steps:`);
  const files = {
    'quick.yml': workflow({ quick: { runsOn: 'linux' } }),
    'broken.yml': workflow({ broken: { runsOn: 'linux' } }).replace(/run: .*/, 'run: exit 1'),
    'cleanup.yml': workflow({ cleanup: { runsOn: 'linux', seconds: 6, lastSeconds: 5 } }, 'cleanup'),
    'build.yml': workflow({
      build: { runsOn: 'linux', seconds: 30 },
      test: { runsOn: 'linux', needs: 'build' },
      gpu: { runsOn: 'gpu', matrix: 3 },
    }),
    'odd.yml': odd,
    'replace.yml': workflow({ replace: { runsOn: 'gpu' } }, 'replace'),
  };
  await site.addRepository('web', files);
  await mia.addWorkflow('mia/mine', 'quick.yml', files['quick.yml']);
  return mia;
}

async function runTwice(site: Site, run: Run, queuedAgain: () => Promise<void>): Promise<void> {
  const { admin } = site;
  await admin.dispatch('acme/web', 'quick.yml');
  const quick = await site.job('quick', 'queued');
  await run(quick);
  await finished(admin);
  await admin.dispatch('acme/web', 'broken.yml');
  await run(await site.job('broken', 'queued'));
  await finished(admin);
  await admin.rerun('acme/web', quick);
  const again = await site.job('quick', 'queued');
  await queuedAgain();
  await run(again);
  await finished(admin);
}

async function cancelSlowly(site: Site, run: Run, justCancelled: () => Promise<void>): Promise<void> {
  const { admin } = site;
  await admin.dispatch('acme/web', 'cleanup.yml');
  await run(await site.job('cleanup', 'queued'));
  await site.job('cleanup', 'in_progress');
  await admin.dispatch('acme/web', 'cleanup.yml');
  const next = await site.job('cleanup', 'queued');
  await waitUntil('the first is cancelled', async () => (await count(admin, 'in_progress')) === 0);
  await justCancelled();
  await run(next);
  await finished(admin);
}

async function fillQueue(site: Site, run: Run): Promise<void> {
  await site.admin.dispatch('acme/web', 'build.yml');
  await run(await site.job('build', 'queued'));
  await site.job('build', 'in_progress');
  for (const file of ['odd.yml', 'replace.yml', 'replace.yml']) await site.admin.dispatch('acme/web', file);
}

async function cancelBareRunner(site: Site): Promise<void> {
  const { admin } = site;
  await admin.createOrg('beta');
  await admin.createRepo('web', 'beta');
  await admin.addWorkflow('beta/web', 'stay.yml', workflow({ stay: { runsOn: 'linux', seconds: 60 } }, 'stay'));
  await admin.dispatch('beta/web', 'stay.yml');
  const [job] = await admin.jobs('/orgs/beta', 'queued');
  if (job === undefined) throw new Error('no job of beta is queued');
  const registrationToken = await admin.registrationToken('/orgs/beta');
  const runner = await site.idleRunner(nameFor('linux', 'org', job), 'linux', registrationToken);
  await runner.take();
  await admin.dispatch('beta/web', 'stay.yml');
}

async function finished(admin: Account): Promise<void> {
  await waitUntil('all jobs end', async () => (await count(admin, 'queued', 'in_progress')) === 0);
  await waitUntil('all runners end', async () => (await admin.runners('/admin')).length === 0);
}

async function count(admin: Account, ...states: readonly string[]): Promise<number> {
  return (await admin.jobs('/orgs/acme', ...states)).length;
}

function nameFor(group: string, level: string, job: Pick<ApiJob, 'id' | 'run_attempt'>): string {
  const key = { namespace: 'runners', name: group, origin: EXAMPLE, templateHash: level };
  return runnerName('', key, { id: job.id, attempt: job.run_attempt }, 0);
}
