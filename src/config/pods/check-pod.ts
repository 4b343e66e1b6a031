/**
 * Finds values that Kubernetes refuses or drops although their type is right, as far as people write them for runners.
 * docs/adr/0028 lists the faults that only the API server finds, in a failed sync.
 */
import { isIP } from 'node:net';
import { posix } from 'node:path';
import { DNS_SUBDOMAIN, isLabelValue, isQualifiedName, nearestName } from '../runnergroup/words.ts';
import {
  containersOf,
  entriesOf,
  type FieldPath,
  fieldValue,
  isList,
  listOf,
  type Mapping,
  stringOf,
  type TemplateFault,
  type Value,
  visitStructs,
} from './pod-schema.ts';
import { APPARMOR_ANNOTATION } from './pod-security.ts';

/** Returns the faults of a template that passed `checkShape`. Paths are the template's, not the merged pod's. */
export function checkPod(ours: Mapping, template: Mapping): readonly TemplateFault[] {
  return [
    ...visitStructs(template, (struct, value, path) => [
      ...checkValues(struct, value, path),
      ...checkLabels(struct, value, path),
      ...checkCombinations(struct, value, path),
    ]),
    ...checkContainers(ours, template),
  ];
}

interface ValueRule {
  readonly isGood: (value: string | number) => boolean;
  readonly wanted: string;
  readonly words?: readonly string[];
}

const oneOf = (...words: readonly string[]): ValueRule => ({
  words,
  isGood: (value) => words.includes(String(value)),
  wanted: `must be one of ${words.join(', ')}`,
});
const SUBDOMAIN: ValueRule = {
  isGood: (value) => String(value).length <= 253 && DNS_SUBDOMAIN.test(String(value)),
  wanted: 'must be lower-case letters, digits, "-" and "."',
};
const LABEL: ValueRule = {
  isGood: (value) => /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(String(value)),
  wanted: 'must be lower-case letters, digits and "-", at most 63',
};
/** YAML reads 644 as a decimal number, but the octal 0644 is meant. Decimal 644 is too large, so it is refused. */
const MODE: ValueRule = {
  isGood: (value) => Number(value) >= 0 && Number(value) <= 0o777,
  wanted: `must be between 0 and ${0o777}: write it in octal, e.g. 0644`,
};

const between = (least: number, most: number): ValueRule => ({
  isGood: (value) => Number(value) >= least && Number(value) <= most,
  wanted: `must be between ${least} and ${most}`,
});
const INT32 = 2 ** 31 - 1;
const ID = between(0, INT32);
const POSITIVE = between(1, INT32);
const PORT: ValueRule = {
  ...between(1, 65_535),
  isGood: (value) => typeof value === 'string' || (value >= 1 && value <= 65_535),
};
/** Kubernetes takes zeros at the begin of a number, as in 010.0.0.1. */
const ADDRESS: ValueRule = {
  isGood: (value) => isIP(String(value).replace(/(?<=^|\.)0+(?=\d)/g, '')) > 0,
  wanted: 'must be an IP address, e.g. 10.0.0.7, and no name',
};
const INSIDE: ValueRule = {
  isGood: (value) => !posix.isAbsolute(String(value)) && !String(value).split('/').includes('..'),
  wanted: 'must be a path below the volume, without "/" at its begin and without ".."',
};
const ABSOLUTE: ValueRule = {
  isGood: (value) => posix.isAbsolute(String(value)),
  wanted: 'must be an absolute path: write a "/" at its begin',
};
const FILE_KEY: ValueRule = {
  isGood: (value) => /^(?!\.$|\.\.)[-.\w]{1,253}$/.test(String(value)),
  wanted: 'must be letters, digits, "-", "_" and ".", at most 253',
};
const PORT_NAME: ValueRule = {
  isGood: (value) => /^(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?$/.test(String(value)),
  wanted: 'must be lower-case letters, digits and "-", at most 15',
};
const PROFILE = oneOf('RuntimeDefault', 'Localhost', 'Unconfined');
const HANDLING = oneOf('Honor', 'Ignore');
const MODES_OF_ACCESS = oneOf('ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod');
const KINDS_OF_PATH = 'DirectoryOrCreate Directory FileOrCreate File Socket CharDevice BlockDevice'.split(' ');

/** Returns true for media that the kubelet knows. With any other the pod never starts. */
const isMedium = (value: string | number) => /^(?:Memory|HugePages(?:-\w+)?)$/.test(`${value}`);

const RULES: readonly (readonly [ValueRule, ...(readonly string[])])[] = [
  [PORT, 'ContainerPort.containerPort', 'ContainerPort.hostPort', 'GRPCAction.port'],
  [PORT, 'HTTPGetAction.port', 'TCPSocketAction.port'],
  [PORT_NAME, 'ContainerPort.name'],
  [LABEL, 'Container.name', 'Volume.name', 'PodSpec.hostname', 'PodSpec.subdomain'],
  [ADDRESS, 'HostAlias.ip', 'PodDNSConfig.nameservers'],
  [SUBDOMAIN, 'HostAlias.hostnames'],
  [INSIDE, 'VolumeMount.subPath', 'VolumeMount.subPathExpr', 'KeyToPath.path', 'DownwardAPIVolumeFile.path'],
  [ABSOLUTE, 'NFSVolumeSource.path'],
  [FILE_KEY, 'ConfigMapKeySelector.key', 'SecretKeySelector.key'],
  [POSITIVE, 'TopologySpreadConstraint.maxSkew', 'TopologySpreadConstraint.minDomains'],
  [between(1, 100), 'PreferredSchedulingTerm.weight', 'WeightedPodAffinityTerm.weight'],
  [ID, 'PodSecurityContext.runAsUser', 'PodSecurityContext.runAsGroup', 'PodSecurityContext.fsGroup'],
  [ID, 'SecurityContext.runAsUser', 'SecurityContext.runAsGroup', 'PodSecurityContext.supplementalGroups'],
  [between(0, INT32), 'Probe.initialDelaySeconds', 'Probe.timeoutSeconds', 'Probe.periodSeconds'],
  [between(0, INT32), 'Probe.successThreshold', 'Probe.failureThreshold'],
  [SUBDOMAIN, 'PodSpec.priorityClassName', 'PodSpec.runtimeClassName', 'PodSpec.serviceAccountName'],
  [SUBDOMAIN, 'ConfigMapEnvSource.name', 'ConfigMapKeySelector.name', 'SecretEnvSource.name', 'SecretKeySelector.name'],
  [MODE, 'ConfigMapVolumeSource.defaultMode', 'ProjectedVolumeSource.defaultMode', 'SecretVolumeSource.defaultMode'],
  [MODE, 'DownwardAPIVolumeSource.defaultMode', 'KeyToPath.mode'],
  [oneOf('ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'), 'PodSpec.dnsPolicy'],
  [oneOf('Always', 'IfNotPresent', 'Never'), 'Container.imagePullPolicy'],
  [oneOf('File', 'FallbackToLogsOnError'), 'Container.terminationMessagePolicy'],
  [oneOf('None', 'HostToContainer', 'Bidirectional'), 'VolumeMount.mountPropagation'],
  [oneOf('Disabled', 'IfPossible', 'Enabled'), 'VolumeMount.recursiveReadOnly'],
  [MODES_OF_ACCESS, 'PersistentVolumeClaimSpec.accessModes'],
  [oneOf('Filesystem', 'Block'), 'PersistentVolumeClaimSpec.volumeMode'],
  [oneOf(...KINDS_OF_PATH), 'HostPathVolumeSource.type'],
  [oneOf('TCP', 'UDP', 'SCTP'), 'ContainerPort.protocol'],
  [oneOf('HTTP', 'HTTPS'), 'HTTPGetAction.scheme'],
  [PROFILE, 'SeccompProfile.type', 'AppArmorProfile.type'],
  [oneOf('Default', 'Unmasked'), 'SecurityContext.procMount'],
  [oneOf('OnRootMismatch', 'Always'), 'PodSecurityContext.fsGroupChangePolicy'],
  [oneOf('Merge', 'Strict'), 'PodSecurityContext.supplementalGroupsPolicy'],
  [HANDLING, 'TopologySpreadConstraint.nodeAffinityPolicy', 'TopologySpreadConstraint.nodeTaintsPolicy'],
  [oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute'), 'Toleration.effect'],
  [oneOf('Exists', 'Equal'), 'Toleration.operator'],
  [{ ...oneOf('Memory', 'HugePages'), isGood: isMedium }, 'EmptyDirVolumeSource.medium'],
  [oneOf('DoNotSchedule', 'ScheduleAnyway'), 'TopologySpreadConstraint.whenUnsatisfiable'],
  [oneOf('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'), 'NodeSelectorRequirement.operator'],
  [oneOf('In', 'NotIn', 'Exists', 'DoesNotExist'), 'LabelSelectorRequirement.operator'],
];
const RULE_OF = new Map(RULES.flatMap(([rule, ...fields]) => fields.map((field) => [field, rule] as const)));

/** An empty string counts as not set, as in Kubernetes. */
function checkValues(struct: string, value: Mapping, path: FieldPath): readonly TemplateFault[] {
  return Object.entries(value).flatMap(([field, set]) => {
    const rule = RULE_OF.get(`${struct}.${field}`);
    const judged = (one: Value, at: FieldPath): readonly TemplateFault[] => {
      const isSet = typeof one === 'number' || (typeof one === 'string' && one !== '');
      return rule && isSet && !rule.isGood(one) ? [{ path: at, message: rule.wanted + near(rule, one) }] : [];
    };
    const place = [...path, field];
    return isList(set) ? set.flatMap((one, index) => judged(one, [...place, index])) : judged(set, place);
  });
}

function near({ words = [] }: ValueRule, set: string | number): string {
  const isBegin = (begin: string, whole: string) => whole.toLowerCase().startsWith(begin.toLowerCase());
  const meant =
    words.find((word) => word.replace(/[^A-Z]/g, '') === set) ??
    words.find((word) => isBegin(String(set), word)) ??
    words.find((word) => isBegin(word, String(set))) ??
    nearestName(String(set), words);
  return words.length === 0
    ? ''
    : `, not ${JSON.stringify(set)}${meant === undefined ? '' : `; did you mean ${meant}?`}`;
}

const LABELS = new Set(['ObjectMeta.labels', 'PodSpec.nodeSelector', 'LabelSelector.matchLabels']);
const ANNOTATIONS = 'ObjectMeta.annotations';

/** Keys and values of labels, keys of annotations. */
function checkLabels(struct: string, value: Mapping, path: FieldPath): readonly TemplateFault[] {
  return Object.keys(value).flatMap((field) => {
    const isLabels = LABELS.has(`${struct}.${field}`);
    if (!isLabels && `${struct}.${field}` !== ANNOTATIONS) return [];
    return entriesOf(value, field).flatMap(([key, text]) => {
      const place = [...path, field, key];
      // Annotations: capitals of the prefix do not matter.
      if (!isQualifiedName(isLabels ? key : key.toLowerCase()))
        return [{ path: place, message: 'is no valid key: PREFIX/NAME with a DNS name and at most 63 characters' }];
      if (!isLabels || isLabelValue(String(text))) return [];
      return [{ path: place, message: 'must be at most 63 letters, digits, "-", "_" and "."' }];
    });
  });
}

/** Fields of one struct that do not go together, and references without a name, which the published schema lets pass. */
function checkCombinations(struct: string, value: Mapping, path: FieldPath): readonly TemplateFault[] {
  const isSet = (field: string): boolean => (fieldValue(value, field) ?? '') !== '';
  const fault = (isWrong: boolean, message: string, ...at: FieldPath): readonly TemplateFault[] =>
    isWrong ? [{ path: [...path, ...at], message }] : [];
  switch (struct) {
    case 'EnvVar':
      return fault(isSet('value') && isSet('valueFrom'), 'may have value or valueFrom, not both');
    case 'Volume': {
      const sources = Object.keys(value).filter((field) => field !== 'name' && isSet(field));
      return fault(sources.length > 1, `may have one of ${sources.join(' and ')}, not both`);
    }
    case 'ConfigMapEnvSource':
    case 'ConfigMapKeySelector':
    case 'ConfigMapVolumeSource':
    case 'SecretEnvSource':
    case 'SecretKeySelector':
      return fault(!isSet('name'), 'must not be empty', 'name');
    // A toleration says one thing; Kubernetes refuses what would have no effect.
    case 'Toleration': {
      const exists = stringOf(value, 'operator') === 'Exists';
      const lasts = stringOf(value, 'effect') === 'NoExecute';
      return [
        ...fault(exists && isSet('value'), 'must not be set with operator Exists', 'value'),
        ...fault(!exists && !isSet('key'), 'must be Exists when there is no key', 'operator'),
        ...fault(isSet('tolerationSeconds') && !lasts, 'must be NoExecute when tolerationSeconds is set', 'effect'),
      ];
    }
    case 'SeccompProfile':
    case 'AppArmorProfile': {
      const isLocal = stringOf(value, 'type') === 'Localhost';
      return [
        ...fault(isLocal && !isSet('localhostProfile'), 'is missing, and type Localhost needs it', 'localhostProfile'),
        ...fault(!isLocal && isSet('localhostProfile'), 'goes with type Localhost only', 'localhostProfile'),
      ];
    }
    case 'VolumeMount':
      return fault(isSet('subPath') && isSet('subPathExpr'), 'may have subPath or subPathExpr, not both');
    case 'NodeSelectorRequirement':
    case 'LabelSelectorRequirement': {
      const operator = stringOf(value, 'operator');
      const { length } = listOf(value, 'values');
      const isBound = ['Gt', 'Lt'].includes(operator);
      return [
        ...fault(/In$/.test(operator) && length === 0, `is missing, and operator ${operator} needs it`, 'values'),
        ...fault(/Exist/.test(operator) && length > 0, `does not go with operator ${operator}`, 'values'),
        ...fault(isBound && length !== 1, `must be one value with operator ${operator}`, 'values'),
      ];
    }
    case 'TopologySpreadConstraint': {
      const isForAny = stringOf(value, 'whenUnsatisfiable') === 'ScheduleAnyway';
      const message = 'goes with "whenUnsatisfiable: DoNotSchedule" only';
      return fault(isSet('minDomains') && isForAny, message, 'minDomains');
    }
    case 'PodSpec': {
      const hasNoServer = listOf(fieldValue(value, 'dnsConfig'), 'nameservers').length === 0;
      const isNone = stringOf(value, 'dnsPolicy') === 'None';
      const hasOverhead = entriesOf(value, 'overhead').length > 0;
      const ofClass = 'is of a runtime class: remove it, or name the class in runtimeClassName';
      return [
        ...fault(isNone && hasNoServer, 'needs nameservers, because dnsPolicy is None', 'dnsConfig'),
        ...fault(hasOverhead && !isSet('runtimeClassName'), ofClass, 'overhead'),
      ];
    }
    default:
      return [];
  }
}

/** Returns the containers of a final pod without those that follow `runner`: their faults are reported there. */
export const ownContainers: typeof containersOf = (pod) =>
  containersOf(pod).filter(({ container }) => !['register', 'prepare'].includes(stringOf(container, 'name')));

/** Fields that only a container that runs on may have. */
const OF_LASTING = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'];
const ROOT = 'is 0 beside runAsNonRoot: true, so it never starts: write another user, or "runAsNonRoot: false"';
const BOUND = 'with "allowPrivilegeEscalation: false" and "privileged: true" the API server refuses the pod:';
const SYS_ADMIN = 'is false beside the capability CAP_SYS_ADMIN, so the API server refuses the pod: remove one of them';
const UNMASKED = 'is Unmasked, which needs "hostUsers: false" of the pod: write that, or remove it';
const BOTH_WAYS = 'is Bidirectional, which only a privileged container may have: write HostToContainer, or remove it';
const LASTING = 'is for containers that run on: remove it, or write "restartPolicy: Always" to make this one a sidecar';

/**
 * Returns fields of a final pod that contradict each other. The API server refuses the pod (Kubernetes 1.37,
 * `ValidateSecurityContext`, `validateMountPropagation`, `validateInitContainers`), or the kubelet the container.
 */
export function contradictions(pod: Mapping, containerMode: string): readonly TemplateFault[] {
  return ownContainers(pod).flatMap(({ list, path, container }) => {
    const [own, ofPod] = [container, pod['spec']].map((holder) => fieldValue(holder, 'securityContext'));
    const isSet = (field: string, to: Value) => (fieldValue(own, field) ?? fieldValue(ofPod, field)) === to;
    const inContext = (field: string): FieldPath => [...path, 'securityContext', field];
    const ofUser =
      fieldValue(own, 'runAsUser') === undefined ? ['spec', 'securityContext', 'runAsUser'] : inContext('runAsUser');
    const [isBound, isPrivileged] = [isSet('allowPrivilegeEscalation', false), isSet('privileged', true)];
    const ofMode =
      containerMode === 'dind-rootless'
        ? 'remove it, or write "containerMode: dind"'
        : 'write "allowPrivilegeEscalation: true", too';
    const way = stringOf(container, 'name') === 'runner' ? ofMode : 'remove one of them';
    const hasUsersOfNode = fieldValue(pod['spec'], 'hostUsers') !== false;
    const isLasting = list === 'containers' || fieldValue(container, 'restartPolicy') === 'Always';
    const added = listOf(fieldValue(own, 'capabilities'), 'add');
    const shared = listOf(container, 'volumeMounts').findIndex(
      (mount) => stringOf(mount, 'mountPropagation') === 'Bidirectional',
    );
    const pairs: readonly (readonly [isWrong: boolean, at: FieldPath, message: string])[] = [
      [isSet('runAsUser', 0) && isSet('runAsNonRoot', true), ofUser, ROOT],
      // One of the two may be ours.
      [isBound && isPrivileged, inContext('privileged'), `${BOUND} ${way}`],
      [isBound && isPrivileged, inContext('allowPrivilegeEscalation'), `${BOUND} ${way}`],
      [isBound && added.includes('CAP_SYS_ADMIN'), inContext('allowPrivilegeEscalation'), SYS_ADMIN],
      [isSet('procMount', 'Unmasked') && hasUsersOfNode, inContext('procMount'), UNMASKED],
      [shared >= 0 && !isPrivileged, [...path, 'volumeMounts', shared, 'mountPropagation'], BOTH_WAYS],
      ...OF_LASTING.map(
        (field) => [!isLasting && fieldValue(container, field) !== undefined, [...path, field], LASTING] as const,
      ),
    ];
    const faults = pairs.flatMap(([isWrong, at, message]) => (isWrong ? [{ path: at, message }] : []));
    return [...faults, ...unknownPorts(container, path)];
  });
}

/** Containers that only one containerMode has. */
const OF_MODES: Readonly<Record<string, string>> = {
  docker: 'only containerMode dind has a container docker of its own',
  buildkit: 'only containerMode buildkit has a container buildkit of its own',
};

function checkContainers(ours: Mapping, template: Mapping): readonly TemplateFault[] {
  const ourNames = new Set(containersOf(ours).map(({ container }) => stringOf(container, 'name')));
  const listOfContainer = new Map(containersOf(ours).map(({ list, container }) => [stringOf(container, 'name'), list]));
  const volumes = new Set(
    [ours, template]
      .flatMap((pod) => listOf(fieldValue(pod, 'spec'), 'volumes'))
      .map((volume) => stringOf(volume, 'name')),
  );
  const faults = containersOf(template).flatMap(({ list, path, container }) => {
    const name = stringOf(container, 'name');
    const earlierList = listOfContainer.get(name);
    listOfContainer.set(name, list);
    const elsewhere = {
      path: [...path, 'name'],
      message: ourNames.has(name)
        ? `is a container of ${earlierList}: move it there`
        : `is the name of a container in ${earlierList}, too: give it another one`,
    };
    const ofList = list === 'containers' ? 'to change the runner, write "name: runner"' : 'write "image: …"';
    const noImage = { path: [...path, 'image'], message: `is missing; ${OF_MODES[name] ?? ofList}` };
    const unknown = ['volumeMounts', 'volumeDevices'].flatMap((field) =>
      listOf(container, field).flatMap((use, index) =>
        volumes.has(stringOf(use, 'name'))
          ? []
          : [{ path: [...path, field, index, 'name'], message: 'is no volume of this pod: add it to volumes' }],
      ),
    );
    return [
      ...(earlierList !== undefined && earlierList !== list ? [elsewhere] : []),
      ...(stringOf(container, 'image') === '' && earlierList === undefined ? [noImage] : []),
      ...checkRestart(list, fieldValue(container, 'restartPolicy'), [...path, 'restartPolicy']),
      ...unknown,
    ];
  });
  const lost = entriesOf(template['metadata'], 'annotations').flatMap(([key]) => {
    const [prefix, name = ''] = key.split(/(?<=\/)/);
    const message = 'ends with the name of no container of this pod: correct or remove it';
    return prefix === APPARMOR_ANNOTATION && !listOfContainer.has(name)
      ? [{ path: ['metadata', 'annotations', key], message }]
      : [];
  });
  return [...faults, ...lost];
}

/** Probes of a port by a name that the container does not give to one: the kubelet counts them as failed. */
function unknownPorts(container: Value, path: FieldPath): readonly TemplateFault[] {
  const names = listOf(container, 'ports').map((port) => stringOf(port, 'name'));
  const message = 'is the name of no port of this container: write its number, or add it to ports';
  return ['livenessProbe', 'readinessProbe', 'startupProbe'].flatMap((probe) =>
    ['httpGet', 'tcpSocket'].flatMap((way) => {
      const port = stringOf(fieldValue(fieldValue(container, probe), way), 'port');
      return port === '' || names.includes(port) ? [] : [{ path: [...path, probe, way, 'port'], message }];
    }),
  );
}

/** Kubernetes 1.34 silently drops restartPolicy, but for Always of init containers: a sidecar. */
function checkRestart(list: string, policy: Value | undefined, path: FieldPath): readonly TemplateFault[] {
  if (policy === undefined) return [];
  if (list === 'containers') return [{ path, message: 'is for initContainers only' }];
  return policy === 'Always' ? [] : [{ path, message: 'must be Always: then the container is a sidecar' }];
}
