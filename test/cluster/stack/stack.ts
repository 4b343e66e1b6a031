/** Everything real: a cluster with one node, stock Argo CD in its pods, and a Gitea beside it that both reach. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterBuilds } from '../../servers/build.ts';
import { type Gitea, startGitea } from '../../servers/gitea.ts';
import { Playground } from '../../servers/process.ts';
import { type ArgoCd, startArgoCd } from './argocd.ts';
import { pauseImage, runnerImage } from './images.ts';
import { type Kubernetes, startKubernetes } from './kubernetes.ts';
import { collectLogs, podLogs } from './logs.ts';
import { Machine } from './machine.ts';
import { needPackages } from './packages.ts';

export interface Stack {
  readonly machine: Machine;
  readonly kubernetes: Kubernetes;
  readonly argocd: ArgoCd;
  /**
   * Runs outside the cluster. Pods and the test reach it under the same URL. It reaches pods and Services by address only: the URL
   * of a webhook has the Service's ClusterIP, not its name.
   */
  readonly gitea: Gitea;
  readonly playground: Playground;
  /** All lines of the pods that fit a label selector, e.g. `app.kubernetes.io/name=gitea-runners`. */
  readonly podLogs: (namespace: string, selector: string) => Promise<string>;
  /** Call it when a test failed: writes what pods said and what happened to them into `log/`, and answers a short form. */
  readonly collectLogs: () => Promise<string>;
  /** @param change gives the Deployment other pods. Waits until the new ones are ready and the old ones gone. */
  readonly replacePods: (namespace: string, name: string, change: () => Promise<unknown>) => Promise<void>;
  /** Ends everything; of the folder the logs stay when `keep` (or KEEP=1 in the environment). */
  readonly close: (keep?: boolean) => Promise<void>;
}

/**
 * Gitea's default queue for webhooks sleeps up to 2 s between two looks at itself (modules/queue/backoff.go); this one does not.
 * docs/install.md recommends it. The list lets it send webhooks to the addresses of pods and Services.
 */
const GITEA_CONFIG = `
[queue.webhook_sender]
TYPE = channel
[security]
ALLOWED_HOST_LIST = private
`;

/**
 * Starts all of it, about a minute. `say` is told what was done. @throws with the end of the log of what did not start; nothing is
 * left then but, with KEEP=1, the logs.
 */
export async function startStack(builds: ClusterBuilds, say: (line: string) => void): Promise<Stack> {
  needPackages();
  const playground = new Playground('cluster');
  const started: { machine?: Machine; kubernetes?: Kubernetes } = {};
  const close = async (keep = false): Promise<void> => {
    if (keep) say(`logs: ${playground.folder}`);
    await started.machine?.close();
    await playground.close(keep);
  };
  try {
    // Hundreds of MB that nobody will read.
    const images = join(playground.folder, 'images');
    for (const large of [images, join(playground.folder, 'kubernetes')]) playground.removeAtEnd(large);
    mkdirSync(images);
    const machine = await Machine.start(playground);
    started.machine = machine;
    const kubernetes = await startKubernetes(machine, builds.kubernetes);
    started.kubernetes = kubernetes;
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
      machine,
      kubernetes,
      argocd,
      gitea,
      playground,
      podLogs: (namespace, selector) => podLogs(kubernetes, namespace, selector),
      collectLogs: () => collectLogs(machine, kubernetes),
      replacePods: (namespace, name, change) => replacePods(kubernetes, namespace, name, change),
      close,
    };
  } catch (error) {
    const { machine, kubernetes } = started;
    const more = machine && kubernetes ? `\n${await collectLogs(machine, kubernetes)}` : '';
    await close();
    const logs = existsSync(playground.folder) ? `logs: ${playground.folder}` : 'KEEP=1 would keep its logs';
    throw new Error(`the stack did not start (${logs}): ${String(error)}${more}`, { cause: error });
  }
}

async function replacePods(
  { kubectl }: Kubernetes,
  namespace: string,
  name: string,
  change: () => Promise<unknown>,
): Promise<void> {
  const deployment = ['-n', namespace, `deployment/${name}`];
  const labels: unknown = JSON.parse(
    await kubectl(['get', ...deployment, '-o', 'jsonpath={.spec.selector.matchLabels}']),
  );
  const selector = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const old = await kubectl(['get', 'pods', '-n', namespace, '-l', selector.join(','), '-o', 'name']);
  await change();
  await kubectl(['rollout', 'status', '--timeout=120s', ...deployment]);
  const gone = old.split('\n').filter(Boolean);
  if (gone.length > 0) await kubectl(['wait', '-n', namespace, '--for=delete', '--timeout=120s', ...gone]);
}
