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

const NAMES: ReadonlyMap<string, { readonly test: RegExp; readonly wanted: string }> = new Map([
  ['Container.name', LABEL],
  ['Volume.name', LABEL],
  ['PodResourceClaim.name', LABEL],
  ['PodSpec.hostname', LABEL],
  ['PodSpec.subdomain', LABEL],
  ['PodSpec.priorityClassName', SUBDOMAIN],
  ['PodSpec.runtimeClassName', SUBDOMAIN],
  ['PodSpec.serviceAccountName', SUBDOMAIN],
  ['EnvVar.name', ENV_NAME],
  ['ContainerPort.name', PORT_NAME],
  ['HTTPGetAction.port', PORT_NAME],
  ['TCPSocketAction.port', PORT_NAME],
  ['ConfigMapEnvSource.name', SUBDOMAIN],
  ['ConfigMapKeySelector.name', SUBDOMAIN],
  ['SecretEnvSource.name', SUBDOMAIN],
  ['SecretKeySelector.name', SUBDOMAIN],
  ['NodeSelectorRequirement.key', QUALIFIED],
  ['Toleration.key', QUALIFIED],
  ['PodAffinityTerm.topologyKey', QUALIFIED],
]);

/** Fields that must say something, beyond those that the published schema requires: it lets them be empty. */
const NEEDED: ReadonlyMap<string, readonly string[]> = new Map([
  ['ConfigMapEnvSource', ['name']],
  ['ConfigMapKeySelector', ['name']],
  ['ConfigMapVolumeSource', ['name']],
  ['Container', ['name']],
  ['EnvVar', ['name']],
  ['HostAlias', ['ip']],
  ['HTTPGetAction', ['port']],
  ['NodeSelectorRequirement', ['key', 'operator']],
  ['ObjectFieldSelector', ['fieldPath']],
  ['PersistentVolumeClaimVolumeSource', ['claimName']],
  ['PodAffinityTerm', ['topologyKey']],
  ['SeccompProfile', ['type']],
  ['SecretEnvSource', ['name']],
  ['SecretKeySelector', ['name']],
  ['SecretVolumeSource', ['secretName']],
  ['TCPSocketAction', ['port']],
  ['TopologySpreadConstraint', ['topologyKey']],
  ['Volume', ['name']],
]);

const PORT = [1, 65_535] as const;
const ID = [0, 2 ** 31 - 1] as const;
const SECONDS = [0, 2 ** 31 - 1] as const;
const MODE = [0, 0o777] as const;
const WEIGHT = [1, 100] as const;

const RANGES: ReadonlyMap<string, readonly [number, number]> = new Map<string, readonly [number, number]>([
  ['ContainerPort.containerPort', PORT],
  ['HTTPGetAction.port', PORT],
  ['TCPSocketAction.port', PORT],
  ['GRPCAction.port', PORT],
  ['PodSecurityContext.fsGroup', ID],
  ['PodSecurityContext.runAsGroup', ID],
  ['PodSecurityContext.runAsUser', ID],
  ['SecurityContext.runAsGroup', ID],
  ['SecurityContext.runAsUser', ID],
  ['Probe.failureThreshold', SECONDS],
  ['Probe.initialDelaySeconds', SECONDS],
  ['Probe.periodSeconds', SECONDS],
  ['Probe.successThreshold', SECONDS],
  ['Probe.timeoutSeconds', SECONDS],
  ['ConfigMapVolumeSource.defaultMode', MODE],
  ['DownwardAPIVolumeSource.defaultMode', MODE],
  ['ProjectedVolumeSource.defaultMode', MODE],
  ['SecretVolumeSource.defaultMode', MODE],
  ['KeyToPath.mode', MODE],
  ['PreferredSchedulingTerm.weight', WEIGHT],
  ['WeightedPodAffinityTerm.weight', WEIGHT],
  ['TopologySpreadConstraint.maxSkew', [1, 2 ** 31 - 1]],
  ['TopologySpreadConstraint.minDomains', [1, 2 ** 31 - 1]],
]);

/** Structs of which one field says what it is. `least` 0: Kubernetes has a default. */
const CHOICES: ReadonlyMap<string, { readonly least: 0 | 1; readonly besides: readonly string[] }> = new Map([
  ['Volume', { least: 0, besides: ['name'] }],
  ['EnvVarSource', { least: 1, besides: [] }],
  ['EnvFromSource', { least: 1, besides: ['prefix'] }],
  ['LifecycleHandler', { least: 1, besides: [] }],
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
    ...(NEEDED.get(struct) ?? [])
      .filter((field) => (fieldValue(value, field) ?? '') === '')
      .map((field) => ({ path: [...path, field], message: 'must not be empty' })),
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
  if (struct === 'Probe')
    return oneOf(
      PROBE_HANDLERS.filter((field) => isSet(value, field)),
      1,
      path,
    );
  const choice = CHOICES.get(struct);
  if (!choice) return [];
  const set = Object.keys(value).filter((field) => isSet(value, field) && !choice.besides.includes(field));
  return oneOf(set, choice.least, path);
}

function oneOf(set: readonly string[], least: 0 | 1, path: FieldPath): readonly TemplateFault[] {
  if (set.length > 1) return [{ path, message: `may have one of ${set.join(' and ')}, not both` }];
  return set.length < least ? [{ path, message: 'is empty; it must say one thing' }] : [];
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
