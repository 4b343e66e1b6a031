/** Fields of pods and containers that people write into `spec`, where a RunnerGroup has none of them. */

const OF_POD: ReadonlySet<string> = new Set([
  'affinity',
  'containers',
  'dnsConfig',
  'dnsPolicy',
  'hostAliases',
  'imagePullSecrets',
  'initContainers',
  'nodeSelector',
  'priorityClassName',
  'runtimeClassName',
  'securityContext',
  'serviceAccountName',
  'tolerations',
  'topologySpreadConstraints',
  'volumes',
]);
const OF_CONTAINER: ReadonlySet<string> = new Set(['env', 'envFrom', 'imagePullPolicy', 'volumeMounts']);

/** Where a field of a pod belongs; undefined for any other name. */
export function placeInPod(name: string): string | undefined {
  if (OF_POD.has(name)) return `podTemplate: {spec: {${name}: …}}`;
  return OF_CONTAINER.has(name) ? `podTemplate: {spec: {containers: [{name: runner, ${name}: …}]}}` : undefined;
}
