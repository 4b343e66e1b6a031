/**
 * Tests `sweep` on a real Gitea with real runners, most of them killed: it deletes only the row that is ours, dead and
 * without a job. Takes 135 s per version: Gitea shows a killed runner as online for 60 s, and the two looks are 75 s
 * apart.
 */

import { afterAll, describe, expect, it } from 'vitest';
import { GiteaApi } from '../../src/clients/gitea/api.ts';
import { deleteRegistration, readRegistration } from '../../src/clients/gitea/registrations.ts';
import { ownLevel } from '../../src/clients/gitea/user-repos.ts';
import { runnerName } from '../../src/planner/names.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { VANISHED_APART_MS } from '../../src/tasks/sweep/choose.ts';
import { atOnce, Sweeper } from '../../src/tasks/sweep/sweeper.ts';
import type { Outcome } from '../support/run-cli.ts';
import { live } from '../support/scenario.ts';
import { type Kubernetes, startKubernetes } from '../tasks/sweep/kubernetes.ts';
import { GITEA_VERSIONS } from './build.ts';
import { variantOf } from './manifest.ts';
import { type Pod, startPod } from './pod.ts';
import { waitUntil } from './process.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

const GROUP = { name: 'ci', labels: ['any:host'], cap: 9 };
const ACME = { kind: 'org', org: 'acme' } as const;

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let kubernetes: Kubernetes;

  const repositories = { web: { 'long.yml': workflow({ long: { runsOn: 'any', seconds: 900 } }) } };
  const site = useSite('sweep', { version, repositories, groups: [GROUP] }, async ({ playground }) => {
    kubernetes = await startKubernetes(playground.makeFolder('kubernetes'));
  });
  afterAll(() => kubernetes?.close());

  const rows = () => site.admin.runners('/orgs/acme');

  function nameOf(id: number, instance = '', name = 'ci'): string {
    const group = { namespace: 'runners', name, origin: site.url, templateHash: 'of the test' };
    return runnerName(instance, group, { id, attempt: 1 }, 0);
  }

  function runSweep(...flags: readonly string[]): Promise<Outcome> {
    return site.ours(['sweep', '--kubeconfig', kubernetes.kubeconfig, ...flags, site.folder], {}, 180_000);
  }

  it('sweep deletes the killed runner’s row, and leaves the busy, starting, living and foreign ones alone', async () => {
    const { admin, playground } = site;
    const world = await site.world();
    await admin.dispatch('acme/web', 'long.yml');
    const [model] = await site.manifests();
    if (!model) throw new Error('generate printed no Job');
    const busy = model.metadata.name;
    const dead = nameOf(1);
    const living = nameOf(2);
    const lost = nameOf(3);
    const south = nameOf(1, 'south');
    const vanished = nameOf(1, '', 'gone');
    const foreign = 'act-runner-1';
    const pods = new Map<string, Pod>([[busy, startPod(model, world)]]);
    const works = async (): Promise<boolean> =>
      (await admin.jobs('/orgs/acme', 'in_progress')).some(({ runner_name }) => runner_name === busy);
    await waitUntil('the first runner takes the job', works);
    for (const name of [dead, living, lost, south, vanished, foreign])
      pods.set(name, startPod(variantOf(model, { GITEA_RUNNER_NAME: name }), world));
    const online = async (): Promise<boolean> =>
      (await rows()).filter(({ status }) => status === 'online').length === 7;
    await waitUntil('all runners are online', online);

    for (const [name, { running }] of pods) if (name !== living) playground.endSession(running);
    const offline = async (): Promise<boolean> =>
      (await rows()).every(({ name, status }) => status === 'offline' || name === living);
    await waitUntil('Gitea shows the killed ones as offline', offline);
    kubernetes.jobs.set(living, 'active').set(lost, 'active').set(dead, 'Complete');
    const before = await rows();
    const { code, stdout, stderr: talk } = await runSweep('--json');

    expect(before.every(({ ephemeral }) => ephemeral)).toBe(true);
    expect(code, talk).toBe(0);
    const result = JSON.parse(stdout) as { registrations: { name: string; outcome: object }[]; foreign: number };
    // The message, since a report shows of a list only how long it is.
    const outcomes = result.registrations.map(({ name, outcome }) => [name, outcome]);
    expect(Object.fromEntries(outcomes), JSON.stringify(outcomes)).toEqual({
      [busy]: { is: 'kept', because: 'job-in-progress' },
      [dead]: { is: 'deleted' },
      // Gitea 1.27 writes every 30 s that a runner asked: on a busy machine a living one is offline for a moment.
      [living]: { is: 'kept', because: expect.stringMatching(/^(?:online|job-alive)$/) },
      [lost]: { is: 'kept', because: 'job-alive' },
    });
    expect(result.foreign).toBe(3);
    expect((await rows()).map(({ name }) => name).sort()).toEqual(
      [busy, living, lost, south, vanished, foreign].sort(),
    );
    expect(await works()).toBe(true);
  });

  it('sweep deletes the row of a group that went while nobody swept, an hour after it was first seen', async () => {
    const { http, token, url } = site.access(site.admin.token);
    const target = { key: 'acme', url, scope: ACME, token };
    const before = (await rows()).map(({ name }) => name);
    const vanished = nameOf(1, '', 'gone');
    const liveJobs = before.filter((name) => name !== vanished).map((name) => live(name, 'running'));
    const scene = {
      groups: [{ namespace: 'runners', name: 'ci', target }],
      areAll: true,
      liveJobs: async () => liveJobs,
    };
    let nowMs = 0;
    const sweeper = new Sweeper({
      instance: '',
      budget: 60,
      ask: atOnce(http, 20_000),
      clock: { ...systemClock, steadyMs: () => nowMs },
    });
    const left = async (atMs: number): Promise<readonly string[]> => {
      nowMs = atMs;
      expect((await sweeper.pass(scene)).failures).toEqual([]);
      return (await rows()).map(({ name }) => name);
    };
    expect(before).toContain(vanished);
    expect(await left(0)).toEqual(before);
    expect(await left(VANISHED_APART_MS - 1)).toEqual(before);
    expect(await left(VANISHED_APART_MS)).toEqual(before.filter((name) => name !== vanished));
  });

  it('is told by Gitea what a token may not do, and that a row is gone', async () => {
    const reader = site.access(await site.admin.createToken(['read:organization']));
    const writer = site.access(await site.admin.createToken(['write:organization']));
    const id = (await rows()).find(({ name }) => name === 'act-runner-1')?.id ?? 0;
    const level = await ownLevel(new GiteaApi(writer), ACME);
    if (!level) throw new Error('an org has a level');

    await expect(deleteRegistration(reader, level, id)).rejects.toMatchObject({
      code: 'GR-GITEA-02',
      message: expect.stringContaining('The token needs scope write:organization'),
    });
    const { row } = await readRegistration(reader, level, id);
    expect(row).toMatchObject({ id, name: 'act-runner-1', online: false });
    expect(await deleteRegistration(writer, level, id)).toBe('deleted');
    expect(await deleteRegistration(writer, level, id)).toBe('gone');
    expect((await readRegistration(writer, level, id)).row).toBeUndefined();
  });
});
