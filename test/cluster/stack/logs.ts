/** Collects what pods wrote and the events about them, for a person who looks for a fault. */
import type { Kubernetes } from './kubernetes.ts';
import type { Machine } from './machine.ts';

const NAMESPACES = ['argocd', 'runners', 'kueue-system'];
const ALL = ['--all-containers', '--prefix', '--ignore-errors', '--max-log-requests=100', '--tail=-1'];

/** Returns all lines of all containers of the matching pods, each with its pod and container in front. */
export async function podLogs({ kubectl }: Kubernetes, namespace: string, selector: string): Promise<string> {
  return await kubectl(['logs', '--namespace', namespace, '--selector', selector, ...ALL]);
}

/**
 * Writes `log/<namespace>-{pods,events,logs}.txt` and returns a short form: the pods, and the last warnings. If the
 * cluster does not answer, the text says so; it is never an error of its own.
 */
export async function collectLogs(machine: Machine, kubernetes: Kubernetes): Promise<string> {
  const ask = (args: readonly string[]): Promise<string> =>
    kubernetes.kubectl(['--request-timeout=10s', ...args]).catch(String);
  const byTime = '--sort-by=.lastTimestamp';
  for (const namespace of NAMESPACES) {
    const within = ['--namespace', namespace];
    machine.write(`log/${namespace}-pods.txt`, await ask(['describe', 'pods,jobs,applications', ...within]));
    machine.write(`log/${namespace}-events.txt`, await ask(['get', 'events', byTime, ...within]));
    // A selector that fits every pod.
    machine.write(`log/${namespace}-logs.txt`, await podLogs(kubernetes, namespace, '!no-such-label').catch(String));
  }
  const pods = await ask(['get', 'pods', '--all-namespaces']);
  const warnings = await ask(['get', 'events', '--all-namespaces', byTime, '--field-selector', 'type=Warning']);
  return `${pods}\n${warnings.trimEnd().split('\n').slice(-15).join('\n')}`;
}
