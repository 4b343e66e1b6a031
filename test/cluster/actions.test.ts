/**
 * Tests what Argo CD shows and does beside a sync, on a real one: the link of a Job to its CI job, and the actions on a
 * RunnerGroup.
 */
import { afterEach, beforeAll, beforeEach, expect, inject, it } from 'vitest';
import { closeAfterTests } from './close-after-tests.ts';
import { busyAndIdle } from './scenarios-lifetime.ts';
import { conclusions } from './scenarios-load.ts';
import { APPLICATION, GROUP, Rig } from './scenarios-rig.ts';

let rig: Rig;

beforeAll(async () => {
  const say = (line: string): void => void process.stdout.write(`actions: ${line}\n`);
  // A change that is seen sooner was announced by a webhook, or a person requested a look.
  rig = await Rig.open(inject('clusterBuilds'), say, { GITEA_RUNNERS_POLL: '600', GITEA_RUNNERS_SWEEP: 'true' });
});

beforeEach(() => rig.begin());

afterEach(({ task }) => rig.saveServeLogs(task.name));

closeAfterTests(() => rig);

async function run(action: string): Promise<void> {
  const resource = ['--kind', 'RunnerGroup', '--namespace', 'runners', '--resource-name', GROUP];
  await rig.stack.argocd.cli('app', 'actions', 'run', APPLICATION, action, ...resource);
}

async function annotation(): Promise<string> {
  return await rig.field('{.metadata.annotations.gitea\\.bpg\\.pw/suspended}', '-n', 'runners', 'runnergroup', GROUP);
}

it('links each Job to its CI job in Gitea', async () => {
  await rig.dispatch('busy.yml');
  await rig.until('a job runs', () => rig.world.inState('in_progress').length === 1);
  const listed = await rig.admin.call('GET', '/orgs/acme/actions/jobs?status=in_progress');
  const { jobs } = listed as { readonly jobs: readonly { readonly runner_name: string; readonly html_url: string }[] };
  const [{ runner_name: runner, html_url: page } = { runner_name: '', html_url: '' }] = jobs;

  expect(page).toMatch(/^http:/);
  const link = '{.metadata.annotations.link\\.argocd\\.argoproj\\.io/external-link}';
  expect(await rig.field(link, '-n', 'runners', 'job', runner)).toBe(page);
  await rig.until('Argo CD shows it', async () =>
    (await rig.field('{.status.summary.externalURLs}', '-n', 'argocd', 'application', APPLICATION)).includes(page),
  );
  expect(conclusions(await rig.calm(1))).toEqual(['busy success']);
});

it('suspends a group: the busy runner finishes, the idle one goes, nothing new starts, and no sync takes it back', async () => {
  const { world } = rig;
  const { busy, idle } = await busyAndIdle(rig, 'long.yml');

  await run('suspend');
  await rig.until('the idle runner goes', () => !world.leftJobs().includes(idle));
  await rig.dispatch('single.yml');
  await rig.until('a job is queued', () => world.inState('queued').length === 1);
  await rig.stack.argocd.cli('app', 'get', APPLICATION, '--hard-refresh');
  await rig.stack.argocd.cli('app', 'sync', APPLICATION, '--prune');

  expect(await annotation()).toMatch(/^since 20\S+Z, by an action in Argo CD$/);
  await rig.until('the group says so', () => world.condition(GROUP, 'Ready')?.reason === 'Suspended');
  expect(world.condition(GROUP, 'Ready')?.message).toMatch(
    /Suspended in the cluster, not in git: since 20\S+Z, by an action in Argo CD$/,
  );
  const tree = await rig.stack.argocd.cli('app', 'get', APPLICATION, '-o', 'tree=detailed');
  expect(tree).toMatch(/RunnerGroup\/ci +Synced +Suspended /);
  const explained = await rig.kubectl('exec', '-n', 'argocd', 'deploy/gitea-runners', '--', 'gitea-runners', 'explain');
  expect(explained).toContain('annotate runnergroup ci gitea.bpg.pw/suspended-');
  await rig.until('the busy runner ends', async () => (await rig.ended()).length === 1);
  const [job] = await rig.ended();
  expect([job?.conclusion, job?.runner_name]).toEqual(['success', busy]);
  await rig.until('no Job is left', () => world.leftJobs().length === 0);
  expect(world.inState('queued')).toHaveLength(1);
});

it('resumes it: the job that waited gets its runner', async () => {
  await run('resume');
  await rig.until('the job that waited has a runner', () => rig.world.leftJobs().length > 0);
  await rig.commitGroup({ minIdleRunners: 0 });
  await rig.calm(0);

  expect(await annotation()).toBe('');
  expect(rig.world.condition(GROUP, 'Ready')).toMatchObject({ status: 'True', reason: 'Serving' });
});

it('looks now, when no webhook told of a job and the next poll is far away', async () => {
  const { world } = rig;
  await rig.removeWebhooks();
  await rig.dispatch('single.yml');
  await rig.until('a job is queued', () => world.inState('queued').length === 1);

  await run('look-now');

  await rig.until('the job has a runner', () => world.leftJobs().length > 0, 30_000);
  await rig.until('the job ends', async () => (await rig.ended()).length === 1);
});
