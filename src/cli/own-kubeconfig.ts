import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execLogin } from '../kubernetes/exec-login.ts';
import { findCluster } from '../kubernetes/find-cluster.ts';
import type { Settings } from '../look/settings.ts';
import type { Io } from './io.ts';

/** Settings of a command that people type: the kubeconfig may start a program for its login. */
export function byHand<S extends Settings>(settings: S): S {
  return { ...settings, logIn: execLogin(settings) };
}

/** The kubeconfig that kubectl would take, for commands that people type. Undefined in a pod with a service account: it has its own cluster. */
export async function ownKubeconfig(env: Io['env']): Promise<string | undefined> {
  if (await findCluster({ cluster: 'auto', env })) return undefined;
  const { KUBECONFIG = '', HOME = '' } = env;
  const named = KUBECONFIG.split(':').filter((file) => file !== '');
  // As kubectl, which passes over files that are not there. It would also join the others.
  if (named.length > 0) return named.find((file) => existsSync(file)) ?? named[0];
  const usual = join(HOME, '.kube', 'config');
  return HOME !== '' && existsSync(usual) ? usual : undefined;
}
