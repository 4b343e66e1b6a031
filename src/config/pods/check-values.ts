/**
 * What Kubernetes refuses beyond types (`pkg/apis/core/validation`), as far as one field of one struct tells: words, names, ranges, and
 * how many of several fields may be set. Not everything: what is not here fails when the Job controller makes the pod.
 */
import { type FieldPath, fieldValue, type Mapping, stringOf, type TemplateFault } from './value.ts';

/** Words that a field knows. An empty string counts as not set, as in Kubernetes. */
const WORDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['PodSpec.dnsPolicy', ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None']],
  ['PodSpec.preemptionPolicy', ['Never', 'PreemptLowerPriority']],
  ['PodSpec.restartPolicy', ['Always', 'OnFailure', 'Never']],
  ['PodOS.name', ['linux', 'windows']],
  ['Container.imagePullPolicy', ['Always', 'IfNotPresent', 'Never']],
  ['Container.terminationMessagePolicy', ['File', 'FallbackToLogsOnError']],
  ['ContainerPort.protocol', ['TCP', 'UDP', 'SCTP']],
  ['HTTPGetAction.scheme', ['HTTP', 'HTTPS']],
  ['ImageVolumeSource.pullPolicy', ['Always', 'IfNotPresent', 'Never']],
  ['VolumeMount.mountPropagation', ['None', 'HostToContainer', 'Bidirectional']],
  ['Toleration.effect', ['NoSchedule', 'PreferNoSchedule', 'NoExecute']],
  ['Toleration.operator', ['Exists', 'Equal']],
  ['TopologySpreadConstraint.whenUnsatisfiable', ['DoNotSchedule', 'ScheduleAnyway']],
  ['NodeSelectorRequirement.operator', ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']],
  ['LabelSelectorRequirement.operator', ['In', 'NotIn', 'Exists', 'DoesNotExist']],
  ['SeccompProfile.type', ['RuntimeDefault', 'Localhost', 'Unconfined']],
  ['AppArmorProfile.type', ['RuntimeDefault', 'Localhost', 'Unconfined']],
  ['SecurityContext.procMount', ['Default', 'Unmasked']],
  ['PodSecurityContext.fsGroupChangePolicy', ['OnRootMismatch', 'Always']],
  ['PodSecurityContext.supplementalGroupsPolicy', ['Merge', 'Strict']],
]);

const LABEL = {
  test: /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/,
  wanted: 'must be lower-case letters, digits and "-", at most 63',
};
const SUBDOMAIN = {
  test: /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/,
  wanted: 'must be lower-case letters, digits, "-" and "."',
};
const ENV_NAME = { test: /^[\x20-\x3c\x3e-\x7e]+$/, wanted: 'must be ASCII characters without "="' };
const PORT_NAME = {
  test: /^(?=.{1,15}$)(?=.*[a-z])[a-z0-9](?:-?[a-z0-9])*$/,
  wanted: 'must be at most 15 lower-case letters, digits and "-", with a letter',
};

/** Keys of labels, as `example.com/team`. */
const QUALIFIED = {
  test: /^(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
  wanted: 'must be a key of labels: NAME or PREFIX/NAME',
};

/** @param rules each with its fields, `Struct.field`, between spaces. */
function byField<T>(...rules: readonly (readonly [T, string])[]): ReadonlyMap<string, T> {
  return new Map(rules.flatMap(([rule, fields]) => fields.split(' ').map((field): [string, T] => [field, rule])));
}

const NAMES = byField(
  [LABEL, 'Container.name Volume.name PodResourceClaim.name PodSpec.hostname PodSpec.subdomain'],
  [SUBDOMAIN, 'PodSpec.priorityClassName PodSpec.runtimeClassName PodSpec.serviceAccountName'],
  [SUBDOMAIN, 'ConfigMapEnvSource.name ConfigMapKeySelector.name SecretEnvSource.name SecretKeySelector.name'],
  [ENV_NAME, 'EnvVar.name'],
  [PORT_NAME, 'ContainerPort.name HTTPGetAction.port TCPSocketAction.port'],
  [QUALIFIED, 'NodeSelectorRequirement.key Toleration.key PodAffinityTerm.topologyKey'],
);

/** Fields that must say something, beyond those that the published schema requires: it lets them be empty. */
const NEEDED = [
  'ConfigMapEnvSource.name ConfigMapKeySelector.name ConfigMapVolumeSource.name Container.name EnvVar.name Volume.name',
  'SecretEnvSource.name SecretKeySelector.name SecretVolumeSource.secretName PersistentVolumeClaimVolumeSource.claimName',
  'HostAlias.ip HTTPGetAction.port TCPSocketAction.port ObjectFieldSelector.fieldPath SeccompProfile.type',
  'NodeSelectorRequirement.key NodeSelectorRequirement.operator',
  'PodAffinityTerm.topologyKey TopologySpreadConstraint.topologyKey',
].flatMap((fields) => fields.split(' ').map((field) => field.split('.')));

const MOST = 2 ** 31 - 1;
const RANGES = byField<readonly [number, number]>(
  [[1, 65_535], 'ContainerPort.containerPort HTTPGetAction.port TCPSocketAction.port GRPCAction.port'],
  [[0, MOST], 'PodSecurityContext.fsGroup PodSecurityContext.runAsGroup PodSecurityContext.runAsUser'],
  [[0, MOST], 'SecurityContext.runAsGroup SecurityContext.runAsUser Probe.failureThreshold Probe.initialDelaySeconds'],
  [[0, MOST], 'Probe.periodSeconds Probe.successThreshold Probe.timeoutSeconds'],
  [[0, 0o777], 'ConfigMapVolumeSource.defaultMode DownwardAPIVolumeSource.defaultMode KeyToPath.mode'],
  [[0, 0o777], 'ProjectedVolumeSource.defaultMode SecretVolumeSource.defaultMode'],
  [[1, 100], 'PreferredSchedulingTerm.weight WeightedPodAffinityTerm.weight'],
  [[1, MOST], 'TopologySpreadConstraint.maxSkew TopologySpreadConstraint.minDomains'],
);

/** Structs of which one field says what it is. `least` 0: Kubernetes has a default. */
const CHOICES: ReadonlyMap<string, { readonly least: 0 | 1; readonly besides: readonly string[] }> = new Map([
  ['Volume', { least: 0, besides: ['name'] }],
  ['EnvVarSource', { least: 1, besides: [] }],
  ['EnvFromSource', { least: 1, besides: ['prefix'] }],
  ['LifecycleHandler', { least: 1, besides: [] }],
  ['Probe', { least: 1, besides: [] }],
]);
const PROBE_HANDLERS = ['exec', 'grpc', 'httpGet', 'tcpSocket'];

/** Structs with a rule of one field. */
const RULED = new Set([...WORDS.keys(), ...NAMES.keys(), ...RANGES.keys()].map((key) => key.split('.')[0] ?? ''));

/** The faults of a struct's own fields. */
export function checkValues(struct: string, value: Mapping, path: FieldPath): readonly TemplateFault[] {
  return [
    ...(RULED.has(struct) ? Object.keys(value) : []).flatMap((field) => {
      const message = wrongValue(`${struct}.${field}`, value, field);
      return message === undefined ? [] : [{ path: [...path, field], message }];
    }),
    ...NEEDED.filter(([of, field = '']) => of === struct && (fieldValue(value, field) ?? '') === '').map(
      ([, field = '']) => ({ path: [...path, field], message: 'must not be empty' }),
    ),
    ...wrongChoice(struct, value, path),
  ];
}

function wrongValue(key: string, value: Mapping, field: string): string | undefined {
  const set = fieldValue(value, field);
  if (set === undefined || set === '') return undefined;
  const words = WORDS.get(key);
  if (words && typeof set === 'string' && !words.includes(set)) return `must be one of ${words.join(', ')}`;
  const name = NAMES.get(key);
  if (name && typeof set === 'string' && !name.test.test(set)) return name.wanted;
  const range = RANGES.get(key);
  if (range && typeof set === 'number' && (set < range[0] || set > range[1]))
    return `must be between ${range[0]} and ${range[1]}`;
  return undefined;
}

function wrongChoice(struct: string, value: Mapping, path: FieldPath): readonly TemplateFault[] {
  const choice = CHOICES.get(struct);
  const fields = struct === 'Probe' ? PROBE_HANDLERS : Object.keys(value);
  if (!choice) return [];
  const set = fields.filter((field) => isSet(value, field) && !choice.besides.includes(field));
  if (set.length > 1) return [{ path, message: `may have one of ${set.join(' and ')}, not both` }];
  return set.length < choice.least ? [{ path, message: 'is empty; it must say one thing' }] : [];
}

function isSet(value: Mapping, field: string): boolean {
  return fieldValue(value, field) !== undefined;
}

const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const KEY_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** Fields that hold labels, and those that hold annotations. */
const LABELS = ['ObjectMeta.labels', 'PodSpec.nodeSelector', 'LabelSelector.matchLabels'];
const ANNOTATIONS = ['ObjectMeta.annotations'];
const LABELLED = new Set([...LABELS, ...ANNOTATIONS].map((key) => key.split('.')[0] ?? ''));

/** Keys and values of labels, keys of annotations. */
export function checkLabels(struct: string, value: Mapping, path: FieldPath): readonly TemplateFault[] {
  if (!LABELLED.has(struct)) return [];
  return Object.keys(value).flatMap((field) => {
    const isLabels = LABELS.includes(`${struct}.${field}`);
    if (!isLabels && !ANNOTATIONS.includes(`${struct}.${field}`)) return [];
    const entries = Object.entries(fieldValue(value, field) ?? {});
    return entries.flatMap(([key, text]) => {
      const place = [...path, field, key];
      // Annotations: capitals of the prefix do not matter.
      const wrongKey = !isQualifiedName(isLabels ? key : key.toLowerCase());
      if (wrongKey)
        return [{ path: place, message: 'is no valid key: PREFIX/NAME with a DNS name and at most 63 characters' }];
      if (!isLabels || typeof text !== 'string' || LABEL_VALUE.test(text)) return [];
      return [{ path: place, message: 'must be at most 63 letters, digits, "-", "_" and "."' }];
    });
  });
}

function isQualifiedName(key: string): boolean {
  const [name = '', prefix, more] = key.split('/').reverse();
  if (more !== undefined || !KEY_NAME.test(name)) return false;
  return prefix === undefined || SUBDOMAIN.test.test(prefix);
}

/** A toleration says one thing; Kubernetes refuses what would have no effect. */
export function checkToleration(value: Mapping, path: FieldPath): readonly TemplateFault[] {
  const operator = stringOf(value, 'operator');
  const faults: TemplateFault[] = [];
  if (operator === 'Exists' && stringOf(value, 'value') !== '')
    faults.push({ path: [...path, 'value'], message: 'must not be set with operator Exists' });
  if (stringOf(value, 'key') === '' && operator !== 'Exists')
    faults.push({ path: [...path, 'operator'], message: 'must be Exists when there is no key' });
  if (isSet(value, 'tolerationSeconds') && stringOf(value, 'effect') !== 'NoExecute')
    faults.push({ path: [...path, 'effect'], message: 'must be NoExecute when tolerationSeconds is set' });
  return faults;
}
