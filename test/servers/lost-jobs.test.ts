/**
 * `serve` and a real Gitea whose runner is lost: the CI job is re-run once, whoever leads. The runner takes a job and falls silent for
 * good (bare-runner.ts); the cluster that shows its pod evicted is a small one of the tests.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../simulator/kubernetes/objects.ts';
import { runnerName } from '../../src/planner/names.ts';
import type { ServeEvent } from '../../src/serve/planning/events.ts';
import { managedGroup } from '../serve/managed-group.ts';
import { type ApiServer, startApiServer } from '../support/api-server.ts';
import { application, fakeArgoCd, json, status, TOKEN } from '../support/fake-argocd.ts';
import { startQuietServe } from '../support/quiet-serve.ts';
import { folderWith } from '../support/run-cli.ts';
import { GITEA_VERSIONS } from './build.ts';
import { waitUntil } from './process.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

/** Gitea fails a task that it has not heard of for 5 s, instead of 10 minutes. */
const QUICK_ZOMBIES = '[actions]\nZOMBIE_TASK_TIMEOUT = 5s\n[cron.stop_zombie_tasks]\nSCHEDULE = @every 1s\n';
const JOBS = workflow({ lost: { runsOn: 'linux' }, after: { runsOn: 'linux', needs: 'lost' } });

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let apiToken: string;

  const repositories = { web: { 'lost.yml': JOBS } };
  const site = useSite('lost-jobs', { version, repositories, config: QUICK_ZOMBIES }, async ({ admin }) => {
    apiToken = await admin.createToken(['read:organization', 'write:repository']);
  });

  const outcomes = (events: readonly ServeEvent[]) =>
    events.flatMap((event) => (event.is === 'rerun' ? [event.outcome] : []));

  /** The job `lost` in the newest attempt. */
  const newest = async (...states: readonly string[]) => (await site.jobsNamed('lost', ...states)).at(-1);

  const loseOn = async (runner: string) => (await site.idleRunner(runner, 'linux')).take();

  it('re-runs the lost job once, although the leader dies before it can note so, and the job fails again', async () => {
    const synced = application(status('Synced', { conditions: [] }));
    const argocd = await fakeArgoCd((_, response) => json(response, synced));
    const cluster = await startApiServer();
    /** A replica of `serve` that leads; it ends with `end`. */
    const startServe = () =>
      startQuietServe({
        cluster: cluster.config,
        env: { GITEA_URL: site.url, GITEA_TOKEN: apiToken },
        argocd: { url: argocd.origin, tokenFile: join(folderWith({ token: TOKEN }), 'token'), namespace: 'argocd' },
      });
    cluster.put('runnergroups', managedGroup(site.url, { maxEvictionRetries: 3, evictionRetryDelaySeconds: 1 }));
    await site.admin.dispatch('acme/web', 'lost.yml');
    const { id } = await site.job('lost', 'queued');
    const made = { namespace: 'runners', name: 'ci', origin: site.url, templateHash: '' };
    const runner = runnerName('', made, { id, attempt: 1 }, 0);
    await loseOn(runner);
    const first = startServe();
    putEvicted(cluster, runner);
    const lostJobs = (): readonly unknown[] =>
      (cluster.all('runnergroups')[0]?.['status'] as { lostJobs?: readonly unknown[] } | undefined)?.lostJobs ?? [];
    await waitUntil('the loss is noted', async () => lostJobs().length === 1);
    const [noted] = cluster.all('runnergroups');

    await waitUntil('the re-run', async () => outcomes(first.events).length === 1);
    await first.end();
    expect(outcomes(first.events)).toEqual(['rerun']);
    expect(await newest('queued')).toBeDefined();

    // The second attempt fails, too. The note is as it was before the leader died.
    await loseOn('another-runner');
    await waitUntil('it failed again', async () => (await newest('queued', 'in_progress')) === undefined);
    const before = await newest('completed');
    cluster.put('runnergroups', noted as KubeObject);
    const second = startServe();
    await waitUntil('the next leader settles it', async () => outcomes(second.events).length === 1);
    await second.end();

    expect(before).toMatchObject({ conclusion: 'failure', run_attempt: 2 });
    expect(outcomes(second.events)).toEqual(['superseded']);
    expect(await newest('completed', 'queued', 'in_progress')).toEqual(before);
    expect((await site.admin.jobs('/orgs/acme', 'queued', 'in_progress')).length).toBe(0);
  });
});

/** Adds a Job of ours whose pod was evicted. */
function putEvicted(cluster: ApiServer, name: string): void {
  const labels = { 'gitea.bpg.pw/managed-by': 'argocd-gitea-runners', 'gitea.bpg.pw/runnergroup-name': 'ci' };
  const conditions = [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }];
  const metadata = { name, namespace: 'runners', labels };
  const { uid } = cluster.put('jobs', { metadata, status: { failed: 1, conditions } }).metadata;
  cluster.put('pods', {
    metadata: { ...metadata, name: `${name}-x`, ownerReferences: [{ kind: 'Job', name, uid }] },
    status: {
      phase: 'Failed',
      conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }],
    },
  });
}
