/**
 * Scenarios of bad days: parts of the machinery stop, and come back. Nothing is done twice, and nothing is lost.
 *
 * | fault | scenario that holds it |
 * |---|---|
 * | Slack is down | here: "serves as usual while Slack does not answer, and tells the other addressee of each job once" |
 * | Gitea takes 5 s for each answer | scenarios-apart.ts: "serves each job once while Gitea takes 5 s for each answer, …" |
 * | Gitea answers 429 | the same |
 * | Gitea is down | here: "says so while Gitea is down, removes nothing, and goes on afterwards" |
 * | a node hangs | scenarios-stuck.ts: "says on which node a runner hangs, and serves its job when the node goes on" |
 * | the API server restarts | here: "loses nothing when the API server is restarted in the middle of a burst" |
 * | the leader changes during a burst | here: "loses nothing when both replicas of serve are killed while jobs are queued" |
 * | the leader changes in a re-run | losses.test.ts: "re-runs it once, too, when the leader is killed before Gitea has noticed the loss" |
 * | the leader changes in a sweep | here: "sweeps a dead row, though the leader is killed between the two looks at it" |
 * | Argo CD's controller restarts during a burst | here: "loses nothing when the application controller is killed" |
 * | Argo CD's repo-server restarts during a burst | here: "loses nothing when the repo-server is killed" |
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { SERVE_SELECTOR } from '../../src/shared/installed/installed-names.ts';
import type { ApiJob } from '../servers/account.ts';
import { sleep } from '../servers/process.ts';
import { Addressees } from './addressees.ts';
import { GROUPS_REPOSITORY, ORG } from './install.ts';
import { conclusions, expectAllDone } from './scenarios-load.ts';
import { idleRunners } from './scenarios-pool.ts';
import { APPLICATION, CAP, GROUP, type Rig, type Scenario } from './scenarios-rig.ts';

const REPO_SERVER = 'app.kubernetes.io/name=argocd-repo-server';
const CONTROLLER = 'app.kubernetes.io/name=argocd-application-controller';

export function faultScenarios(scenario: Scenario, short: boolean): void {
  scenario('loses nothing when both replicas of serve are killed while jobs are queued', async (rig) => {
    await rig.dispatch('busy.yml', 8);
    await rig.until('jobs are queued', () => rig.world.inState('queued').length > 0);

    await rig.killPods('argocd', '-l', SERVE_SELECTOR);

    await expectEachOnce(rig, 8);
  });

  scenario('lets a runner whose Job somebody deletes end its CI job, and makes no second one', async (rig, world) => {
    await rig.dispatch('busy.yml');
    const name = await rig.busyRunner();

    await rig.kubectl('delete', 'job', '-n', 'runners', name, '--wait=false');

    await expectAllDone(rig, 1);
    expect([...world.jobs.values()].filter((job) => job.name === name).length).toBe(1);
  });

  if (short) return;

  scenario('goes on with another replica when the process that leads crashes', async (rig) => {
    const serve = ['-n', 'argocd', 'deployment/gitea-runners'];
    await rig.until(
      'both replicas are ready',
      async () => (await rig.field('{.status.readyReplicas}', ...serve)) === '2',
    );
    await rig.until('one leads', async () => (await rig.leader()) !== '');
    const before = await rig.leader();

    await crash(rig, before.split('_', 1).join(''));
    await rig.dispatch('single.yml', 3);
    await rig.until('another one leads', async () => !['', before].includes(await rig.leader()));

    await expectAllDone(rig, 3);
  });

  const outages: readonly (readonly [what: string, make: (rig: Rig) => Promise<void>])[] = [
    ['the repo-server is killed', (rig) => rig.killPods('argocd', '-l', REPO_SERVER)],
    ['the application controller is killed', (rig) => rig.killPods('argocd', '-l', CONTROLLER)],
    [
      'the API server is restarted in the middle of a burst',
      async ({ stack: { kubernetes, machine } }) => {
        await machine.stop('kube-apiserver', 'KILL');
        await sleep(5_000);
        await kubernetes.restartApiServer();
      },
    ],
  ];
  for (const [what, make] of outages) {
    scenario(`loses nothing when ${what}`, async (rig, world) => {
      await rig.dispatch('busy.yml', 8);
      await rig.until('jobs run', () => world.inState('in_progress').length > 0);

      await make(rig);

      await expectEachOnce(rig, 8);
      expect(world.mostAtWork, world.whenMost).toBeLessThanOrEqual(CAP);
    });
  }

  scenario('loses the CI job of a runner whose pod is killed, and no other', async (rig, world) => {
    await changeGitea(rig, QUICK_ZOMBIES);
    try {
      await rig.dispatch('busy.yml', 8);
      await rig.until('jobs run', () => world.inState('in_progress').length > 2);
      const [victim] = world.inState('in_progress');
      if (!victim?.runner_name) throw new Error('no job runs');

      await rig.killPods('runners', '-l', `job-name=${victim.runner_name}`);
      const jobs = await rig.calm(8);

      expect(jobs.filter(({ id, conclusion }) => id !== victim.id && conclusion !== 'success')).toEqual([]);
      expect(jobs.length).toBe(8);
    } finally {
      await changeGitea(rig, '');
    }
  });

  scenario('says so while Gitea is down, removes nothing, and goes on afterwards', async (rig, world) => {
    const { gitea } = rig.stack;
    await rig.dispatch('long.yml');
    await rig.until('a job runs', () => world.inState('in_progress').length === 1);
    await rig.until('its Job is protected', () => world.runners().every(({ markedAtMs }) => markedAtMs !== undefined));
    await rig.dispatch('busy.yml', 2);

    await gitea.stop();
    const beganMs = Date.now();
    await rig.until('the group says so', () => world.condition(GROUP, 'GiteaReachable')?.status === 'False');
    // Argo CD compares again by itself, too: it must not take a failure for an empty output. It loses this request now
    // and then, and the client waits two minutes for it: longer than a runner tries to report the end of its job.
    void rig.stack.argocd.cli('app', 'get', APPLICATION, '--hard-refresh').catch(() => undefined);
    await sleep(Math.max(0, 60_000 - (Date.now() - beganMs)));
    const kept = { group: world.groups.has(GROUP), runners: world.unfinished().length };
    await gitea.restart();

    expect(kept.group).toBe(true);
    expect(kept.runners).toBeGreaterThan(0);
    await rig.isReady();
    await rig.dispatch('single.yml');
    expect(conclusions(await rig.calm(4))).toEqual(['busy success', 'busy success', 'long success', 'single success']);
  });

  scenario(
    'serves as usual while Slack does not answer, and tells the other addressee of each job once',
    async (rig) => {
      const addressees = await Addressees.start(rig.stack.machine.outside);
      try {
        await letNotify(rig, addressees.url);
        await rig.commitGroup({
          notify: [
            { slack: { channel: '#ci' }, on: 'always' },
            { webhook: { url: addressees.url }, on: 'always' },
          ],
        });
        await rig.dispatch('busy.yml', 8);

        const jobs = await expectEachOnce(rig, 8);
        const told = () => addressees.told.map((body) => JSON.parse(body));
        const ids = () => told().map(({ jobId }) => jobId);
        await rig.until('the webhook is told of all', async () =>
          (await endedWhileLed(rig, jobs)).every(({ id }) => ids().includes(id)),
        );
        expect(new Set(ids()).size).toBe(ids().length);
        expect(jobs.map(({ id }) => id)).toEqual(expect.arrayContaining(ids()));
        expect(told().filter(({ result }) => result !== 'success')).toEqual([]);
        expect(addressees.asked).toBeGreaterThan(0);
      } finally {
        await addressees.close();
      }
    },
  );

  scenario('serves by polling alone when there is no webhook', async (rig) => {
    await rig.removeWebhooks();

    for (let run = 0; run < 3; run += 1) {
      await rig.dispatch('single.yml');
      await sleep(4_000);
    }

    await expectAllDone(rig, 3);
    await rig.installation.webhook();
  });

  scenario('sweeps a dead row, though the leader is killed between the two looks at it', async (rig) => {
    await rig.commitGroup({ minIdleRunners: 1 });
    let idle: readonly string[] = [];
    await rig.until('one runner is idle', async () => {
      idle = await idleRunners(rig);
      return idle.length === 1;
    });
    await rig.commitGroup({ minIdleRunners: 0 });
    await rig.until('it goes', () => rig.world.unfinished().length === 0);
    // The row is offline after 60 s. The next pass, at most a minute later, sees it for the first time.
    await sleep(130_000);
    expect(await rig.admin.runnerNames(`/orgs/${ORG}`)).toEqual(expect.arrayContaining([...idle]));

    await rig.killPods('argocd', await rig.leadingPod());

    await rig.rowsGo();
  });

  scenario('leaves no registration behind', async (rig) => {
    await rig.rowsGo();
    expect(await rig.admin.ask('GET', `/repos/${GROUPS_REPOSITORY}/contents/ci.yaml`)).toMatchObject({ status: 200 });
    expect(rig.world.leftJobs()).toEqual([]);
  });
}

/** Expects that all jobs of the scenario succeed, and that each took one Job. */
async function expectEachOnce(rig: Rig, count: number): Promise<readonly ApiJob[]> {
  const jobs = await expectAllDone(rig, count);
  expect(rig.world.made()).toHaveLength(count);
  return jobs;
}

/** A task without a sign of life is failed after 30 s instead of 10 minutes. */
export const QUICK_ZOMBIES = `[actions]
ZOMBIE_TASK_TIMEOUT = 30s
[cron.stop_zombie_tasks]
SCHEDULE = @every 5s
`;

/** Restarts Gitea with more in its app.ini. */
export async function changeGitea({ stack }: Rig, more: string): Promise<void> {
  const file = join(stack.machine.folder, 'gitea', 'app.ini');
  const mark = '; added by a scenario\n';
  const [original = ''] = readFileSync(file, 'utf8').split(mark);
  writeFileSync(file, `${original}${mark}${more}`);
  await stack.gitea.stop();
  await stack.gitea.restart();
}

/** Lets serve tell a webhook, and Slack, whose name leads to this side. As docs/notifications.md says, but for the name. */
async function letNotify(rig: Rig, webhook: string): Promise<void> {
  const patch = async (object: string, change: unknown): Promise<void> => {
    await rig.kubectl('patch', '-n', 'argocd', object, '--type=merge', '-p', JSON.stringify(change));
  };
  await patch('secret/gitea-runners-serve', { stringData: { 'slack-token': 'xoxb-of-a-scenario' } });
  const slackToken = '/var/run/secrets/gitea-runners-serve/slack-token';
  const data = { GITEA_RUNNERS_SLACK_TOKEN_FILE: slackToken, GITEA_RUNNERS_NOTIFY_URLS: webhook };
  await patch('configmap/gitea-runners-settings', { data });
  const hostAliases = [{ ip: rig.stack.machine.outside, hostnames: ['slack.com'] }];
  const old = await rig.kubectl('get', 'pods', '-n', 'argocd', '-l', SERVE_SELECTOR, '-o', 'name');
  await patch('deployment/gitea-runners', { spec: { template: { spec: { hostAliases } } } });
  await rig.stack.kubernetes.rolledOut('argocd', 'deployment/gitea-runners');
  // The new leader's first plan has an empty queue: it must not report jobs of other scenarios, which Gitea lists with
  // the next job.
  await rig.until('a new pod leads', async () => {
    const pod = await rig.leadingPod();
    return pod !== '' && !old.includes(pod);
  });
  await sleep(3_000);
}

/**
 * Returns the jobs that ended while a replica led. Jobs that ended while none led, or just before or after, may stay
 * unreported (law V37).
 */
async function endedWhileLed(rig: Rig, jobs: readonly ApiJob[]): Promise<readonly ApiJob[]> {
  const { leaderDiedMs } = rig;
  if (leaderDiedMs === undefined) return jobs;
  const since = await rig.field('{.spec.acquireTime}', 'lease', '-n', 'argocd', 'gitea-runners-serve');
  const leadsMs = Date.parse(since);
  return jobs.filter(({ completed_at: at }) => {
    const endedMs = Date.parse(at);
    return endedMs < leaderDiedMs - 10_000 || endedMs > leadsMs + 5_000;
  });
}

/** Ends the process of a pod of serve as a crash would: nothing is given back. */
async function crash({ stack: { kubernetes, machine } }: Rig, pod: string): Promise<void> {
  const path = '{.status.containerStatuses[?(@.name=="serve")].containerID}';
  const id = (await kubernetes.field(path, 'pod', '-n', 'argocd', pod)).replace('containerd://', '');
  const socket = join(machine.folder, 'kubernetes', 'containerd.sock');
  const kill = ['task', 'kill', '--all', '--signal', 'SIGKILL', id];
  await machine.run('ctr', ['--address', socket, '--namespace', 'k8s.io', ...kill]);
}
