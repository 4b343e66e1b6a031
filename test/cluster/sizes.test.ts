/**
 * A group with a large size and a limit per repository, on a real kubelet with the real runner and a real Gitea (docs/limits.md). The test
 * applies and prunes what `generate` prints, as Argo CD does.
 */
import { beforeAll, expect, it } from 'vitest';
import { sleep } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { LEVEL, PodsRig, REPOSITORY, type Wanted, workflowOf } from './pods-rig.ts';

const OTHER = 'acme/api';
const LARGE = 4;
const MOST = 4;
const wanted: Wanted = {
  seesJobs: true,
  spec: {
    maxActiveRunners: 5,
    resources: { requests: { cpu: '50m', memory: '32Mi' } },
    sizes: [{ name: 'large', weight: LARGE, resources: { requests: { cpu: '150m', memory: '96Mi' } } }],
    limits: [{ per: 'repository', max: MOST }],
  },
};

let rig: PodsRig;

beforeAll(async () => {
  rig = await PodsRig.start('sizes');
  const { admin } = rig.gitea;
  await admin.createRepo('api', 'acme');
  await rig.addWorkflow('large.yml', 'sleep 15', { 'runs-on': ['linux', 'large'] });
  for (const repository of [REPOSITORY, OTHER])
    await admin.addWorkflow(repository, 'small.yml', workflowOf('small', 'sleep 5'));
});

closeAfterTests(() => rig);

it('the large job gets its resources, and no repository gets more slots than its limit', async () => {
  const { admin } = rig.gitea;
  for (const [repository, file] of [
    [REPOSITORY, 'large.yml'],
    [REPOSITORY, 'small.yml'],
    [OTHER, 'small.yml'],
  ] as const) {
    await admin.dispatch(repository, file);
    // Gitea orders its queue by whole seconds.
    await sleep(1_100);
  }

  const [large = '', ...more] = await rig.sync(wanted);
  expect(more).toEqual([]);
  const explained = await rig.ours(['explain', ...rig.seen, rig.groupFolder(wanted)]);
  expect(explained).toContain(`held back by the limit for ${REPOSITORY} (${MOST})`);
  expect(explained).toContain(`Gitea could give its runner to a job of ${REPOSITORY}`);

  const requests: string[] = [];
  for (const untilMs = Date.now() + 240_000; (await admin.jobs(LEVEL, 'completed')).length < 3; await sleep(1_000)) {
    expect(Date.now()).toBeLessThan(untilMs);
    await rig.sync(wanted);
    const running = await admin.jobs(LEVEL, 'in_progress');
    const ofLimited = running.filter(({ url }) => url.includes(`/${REPOSITORY}/`));
    const places = ofLimited.map(({ name }) => (name === 'large' ? LARGE : 1)).reduce((sum, each) => sum + each, 0);
    expect(places).toBeLessThanOrEqual(MOST);
    requests.push(await rig.ofPod(large, '.spec.containers[0].resources.requests.cpu'));
  }

  const ended = await admin.jobs(LEVEL, 'completed');
  expect(ended.map(({ name, conclusion }) => [name, conclusion]).sort()).toEqual([
    ['large', 'success'],
    ['small', 'success'],
    ['small', 'success'],
  ]);
  expect(ended.find(({ name }) => name === 'large')?.runner_name).toBe(large);
  expect(requests).toContain('150m');
});
