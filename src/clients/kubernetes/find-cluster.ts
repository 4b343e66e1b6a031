import { type ClusterConfig, type ClusterMode, clusterConfig } from './config.ts';
import type { LogIn } from './kubeconfig.ts';

/** Which cluster is looked at. All of it is the administrator's to say, nothing a repository's author's. */
export interface ClusterChoice {
  readonly cluster: ClusterMode;
  /** Path of a kubeconfig; absent: the service account of this pod, when it has one. */
  readonly kubeconfig?: string;
  /** Starts a program that the kubeconfig names for its login. Absent: such a kubeconfig is refused. */
  readonly logIn?: LogIn;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The cluster to look at. Undefined when none is configured. @throws Failure (exit 1, 2) for one that is configured and cannot be used. */
export async function findCluster(choice: ClusterChoice): Promise<ClusterConfig | undefined> {
  const { cluster, kubeconfig, env, logIn } = choice;
  if (cluster === 'off' || kubeconfig === undefined) return await clusterConfig(cluster, env);
  const { readKubeconfig } = await import('./kubeconfig.ts');
  return await readKubeconfig(kubeconfig, logIn);
}
