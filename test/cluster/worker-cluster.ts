/** A cluster with a node to which Kueue of the hub sends runners, and the wire between both. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { ClusterBuilds } from '../servers/build.ts';
import { giveQuota, type Quota, startKueue } from './kueue.ts';
import { apply } from './migrate-old.ts';
import { type Cluster, startCluster } from './stack/cluster.ts';
import { collectLogs } from './stack/logs.ts';
import type { Stack } from './stack/stack.ts';
import { Wire } from './stack/wire.ts';
import { followObjects } from './world-watch.ts';

const Pod = z.object({ metadata: z.object({ uid: z.string(), labels: z.record(z.string(), z.string()) }) });
const Kubeconfig = z.object({ users: z.tuple([z.object({ user: z.object({ token: z.string() }) })]) });
/**
 * Kueue of the hub watches as "give me all, then bookmarks". The API server's cache refuses that with Debian's etcd 3.4.23, which lacks
 * RequestWatchProgress. Without the cache etcd itself answers.
 */
const FLAGS = ['--watch-cache=false'];
/** User of the hub's Kueue. It has all rights, as a person who tries it would give them. */
const USER = 'hub';

export class WorkerCluster {
  readonly name: string;
  readonly wire: Wire;
  /** Runners of all pods that ever were, by the pod's uid. */
  readonly pods = new Map<string, string>();
  readonly #cluster: Cluster;
  readonly #ending = new AbortController();

  private constructor(name: string, cluster: Cluster, wire: Wire) {
    this.name = name;
    this.wire = wire;
    this.#cluster = cluster;
    const path = '/api/v1/namespaces/runners/pods';
    void followObjects(cluster.kubernetes.kubeconfig, path, this.#ending.signal, ({ object }) => {
      const { metadata } = Pod.parse(object);
      this.pods.set(metadata.uid, metadata.labels['batch.kubernetes.io/job-name'] ?? '');
    });
  }

  /** Starts the worker with Kueue, the quota, and the Secret of the runners. */
  static async start(name: string, builds: ClusterBuilds, hub: Stack, quota: Quota): Promise<WorkerCluster> {
    const cluster = await startCluster(name, builds, FLAGS);
    try {
      const { kubernetes, machine } = cluster;
      await kubernetes.startNode();
      for (const image of ['pause', 'runner']) await kubernetes.importImage(join(hub.images, `${image}.tar`));
      await startKueue(cluster);
      const data = JSON.parse(await hub.kubernetes.field('{.data}', 'secret', '-n', 'runners', 'gitea-runner'));
      await apply(
        cluster,
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'runners' } },
        { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'gitea-runner', namespace: 'runners' }, data },
      );
      await giveQuota(cluster, [quota]);
      const wire = await Wire.lay(hub.machine.outside, { host: machine.ip, port: 6443 });
      return new WorkerCluster(name, cluster, wire);
    } catch (error) {
      await cluster.close(true);
      throw error;
    }
  }

  /**
   * Returns the kubeconfig for the hub's Kueue, with all data inline, as Kueue requires.
   * @param address of the wire's end
   */
  kubeconfig(address: string): string {
    const { caFile, kubeconfig } = this.#cluster.kubernetes;
    const [{ user }] = Kubeconfig.parse(JSON.parse(readFileSync(kubeconfig, 'utf8'))).users;
    const cluster = {
      server: `https://${address}:${this.wire.port}`,
      'certificate-authority-data': readFileSync(caFile).toString('base64'),
      'tls-server-name': 'localhost',
    };
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: this.name, cluster }],
      users: [{ name: USER, user }],
      contexts: [{ name: this.name, context: { cluster: this.name, user: USER } }],
      'current-context': this.name,
    });
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.#cluster.kubernetes.kubectl(args);
  }

  /** Names of the Jobs that are there. */
  async jobs(): Promise<readonly string[]> {
    const names = await this.#cluster.kubernetes.field('{.items[*].metadata.name}', 'jobs', '-n', 'runners');
    return names.split(' ').filter(Boolean);
  }

  /** Ends everything in it at once, including pods. */
  async kill(): Promise<void> {
    await this.#cluster.machine.close();
  }

  collectLogs(): Promise<string> {
    return collectLogs(this.#cluster.machine, this.#cluster.kubernetes);
  }

  async close(keep: boolean): Promise<void> {
    this.#ending.abort();
    this.wire.close();
    await this.#cluster.close(keep);
  }
}
