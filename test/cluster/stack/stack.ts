/** Everything real: a cluster with one node, stock Argo CD in its pods, and a Gitea beside it that both reach. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterBuilds } from '../../servers/build.ts';
import { type Gitea, startGitea } from '../../servers/gitea.ts';
import { type ArgoCd, startArgoCd } from './argocd.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { pauseImage, runnerImage } from './images.ts';
import type { Kubernetes } from './kubernetes.ts';
import { collectLogs, podLogs } from './logs.ts';

export interface Stack extends Cluster {
  readonly argocd: ArgoCd;
  /**
   * Runs outside the cluster. Pods and the test reach it under the same URL. It reaches pods and Services by address only: the URL
   * of a webhook has the Service's ClusterIP, not its name.
   */
  readonly gitea: Gitea;
  /** Returns all lines of the pods that match a label selector, e.g. `app.kubernetes.io/name=gitea-runners`. */
  readonly podLogs: (namespace: string, selector: string) => Promise<string>;
  /** Call it when a test failed: writes what pods said and what happened to them into `log/`, and answers a short form. */
  readonly collectLogs: () => Promise<string>;
  /** @param change gives the Deployment other pods. Waits until the new ones are ready and the old ones gone. */
  readonly replacePods: (namespace: string, name: string, change: () => Promise<unknown>) => Promise<void>;
}

/**
 * Gitea's default queue for webhooks sleeps up to 2 s between two looks at itself (modules/queue/backoff.go); this one does not.
 * docs/install.md recommends it. The list lets it send webhooks to the addresses of pods and Services. `log/access.log` in its folder has
 * each request with the address of who asked.
 */
const GITEA_CONFIG = `
[log]
logger.access.MODE = requests
[log.requests]
MODE = file
LEVEL = Info
FILE_NAME = access.log
[queue.webhook_sender]
TYPE = channel
[security]
ALLOWED_HOST_LIST = private
`;

/**
 * Starts everything in about a minute. `say` receives each step.
 * @throws with the end of the log of the part that did not start. Then nothing is left, except the logs with KEEP=1
 */
export async function startStack(builds: ClusterBuilds, say: (line: string) => void): Promise<Stack> {
  let cluster: Cluster | undefined;
  try {
    cluster = await startCluster('cluster', builds);
    const { images, kubernetes, machine, playground } = cluster;
    const [pause, runner] = [join(images, 'pause.tar'), join(images, 'runner.tar')];
    await pauseImage(pause);
    await runnerImage(runner, builds.runner);
    await kubernetes.startNode();
    for (const image of [pause, runner]) await kubernetes.importImage(image);
    say('Kubernetes runs');
    const at = { address: machine.outside, config: GITEA_CONFIG };
    const gitea = await startGitea('1.27.3', builds.gitea, playground, at);
    say('Gitea runs');
    const argocd = await startArgoCd(machine, kubernetes, builds.argocd);
    say('Argo CD runs');
    return {
      ...cluster,
      argocd,
      gitea,
      podLogs: (namespace, selector) => podLogs(kubernetes, namespace, selector),
      collectLogs: () => collectLogs(machine, kubernetes),
      replacePods: (namespace, name, change) => replacePods(kubernetes, namespace, name, change),
    };
  } catch (error) {
    const more = cluster ? `\n${await collectLogs(cluster.machine, cluster.kubernetes)}` : '';
    await cluster?.close();
    const folder = cluster?.playground.folder ?? '';
    const logs = existsSync(folder) ? `logs: ${folder}` : 'KEEP=1 would keep its logs';
    throw new Error(`the stack did not start (${logs}): ${String(error)}${more}`, { cause: error });
  }
}

async function replacePods(
  { kubectl, field, rolledOut }: Kubernetes,
  namespace: string,
  name: string,
  change: () => Promise<unknown>,
): Promise<void> {
  const labels = await field('{.spec.selector.matchLabels}', '-n', namespace, `deployment/${name}`);
  const selector = Object.entries(JSON.parse(labels)).map(([key, value]) => `${key}=${value}`);
  const old = await kubectl(['get', 'pods', '-n', namespace, '-l', selector.join(','), '-o', 'name']);
  await change();
  await rolledOut(namespace, `deployment/${name}`);
  const gone = old.split('\n').filter(Boolean);
  if (gone.length > 0) await kubectl(['wait', '-n', namespace, '--for=delete', '--timeout=120s', ...gone]);
}
