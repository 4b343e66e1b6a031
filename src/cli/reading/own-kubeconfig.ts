/** Finds the cluster for commands that people type: that of kubectl, with the login that its kubeconfig names. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execLogin } from '../../clients/kubernetes/exec-login.ts';
import { type ClusterChoice, findCluster, type Settings } from '../../plan/settings.ts';
import { Failure } from '../../shared/failure.ts';

/** Settings with which the kubeconfig may start a program for its login. */
export function byHand<S extends Pick<Settings, 'env' | 'timeoutMs'>>(settings: S): S & Pick<Settings, 'logIn'> {
  return { ...settings, logIn: execLogin(settings) };
}

/** Returns the named cluster, or that of this pod, or that of kubectl. `config` undefined: there is none. */
export async function clusterByHand(choice: ClusterChoice) {
  const kubeconfig = choice.kubeconfig ?? (await ownKubeconfig(choice.env));
  return { config: await findCluster({ ...choice, kubeconfig }), kubeconfig };
}

/** @param action `extend`, with what else helps @param todo with a full stop */
export function noCluster(code: string, action: string, todo = 'Give --kubeconfig.'): Failure {
  const noSource = 'there is no service account, no --kubeconfig, no KUBECONFIG and no ~/.kube/config';
  return new Failure(code, 2, `${action}: ${noSource}. ${todo}`);
}

/** Undefined in a pod with a service account: it has its own cluster. */
async function ownKubeconfig(env: ClusterChoice['env']): Promise<string | undefined> {
  if (await findCluster({ cluster: 'auto', env })) return undefined;
  const { KUBECONFIG = '', HOME = '' } = env;
  const kubeconfigFiles = KUBECONFIG.split(':').filter((file) => file !== '');
  // kubectl skips missing files, too. Unlike here, it would merge the others.
  if (kubeconfigFiles.length > 0) return kubeconfigFiles.find((file) => existsSync(file)) ?? kubeconfigFiles[0];
  const usual = join(HOME, '.kube', 'config');
  return HOME !== '' && existsSync(usual) ? usual : undefined;
}
