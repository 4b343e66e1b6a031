/**
 * Kubernetes' Pod Security Standards, as the API server's admission plugin judges a pod (k8s.io/pod-security-admission,
 * `policy/check_*.go`). A rule has the id of its check. Windows pods need not set what Windows does not know.
 */
import type { SECURITY_PROFILES } from '../runnergroup/words.ts';
import {
  containersOf,
  entriesOf,
  type FieldPath,
  fieldValue,
  isMapping,
  listOf,
  type Mapping,
  stringOf,
  type TemplateFault,
  type Value,
} from './pod-schema.ts';

export type SecurityLevel = (typeof SECURITY_PROFILES)[number];

/** A field that breaks a rule. If the rule requires a field, the place of the missing field. */
export interface Violation extends TemplateFault {
  /** Id of the check in k8s.io/pod-security-admission, e.g. `runAsNonRoot`. */
  readonly rule: string;
}

/** Returns all violations of a finished pod template that passed `checkShape`, in the order of the admission plugin. */
export function securityViolations(template: Mapping, level: SecurityLevel): readonly Violation[] {
  const pod = podForSecurity(template);
  const rules: Readonly<Record<string, Check>> = {
    privileged: {},
    baseline: BASELINE,
    restricted: { ...BASELINE, ...RESTRICTED },
  }[level];
  return Object.entries(rules)
    .filter(([rule]) => level !== 'restricted' || !REPLACED_BY_RESTRICTED.has(rule))
    .flatMap(([rule, check]) => check(pod).map((found) => ({ rule, ...found })));
}

/** A security context and its place, or the place where it is missing. */
type Context = Readonly<{ path: FieldPath; context: Value | undefined }>;

type Check = (pod: ReturnType<typeof podForSecurity>) => readonly TemplateFault[];

function podForSecurity(template: Mapping) {
  const spec = fieldValue(template, 'spec');
  const containers = containersOf(template, ['initContainers', 'containers', 'ephemeralContainers']);
  const podContext = { path: ['spec', 'securityContext'], context: fieldValue(spec, 'securityContext') };
  const ofContainers = containers.map(({ path, container }) => ({
    path: [...path, 'securityContext'],
    context: fieldValue(container, 'securityContext'),
  }));
  return {
    metadata: fieldValue(template, 'metadata'),
    spec,
    own: podContext,
    ofContainers,
    /** The pod's own first. */
    contexts: [podContext, ...ofContainers],
    containers,
    isWindows: fieldValue(fieldValue(spec, 'os'), 'name') === 'windows',
  };
}

type IsWrong = (value: Value | undefined) => boolean;

/** `below`: the place in that field. */
type FieldRule = [field: string, isWrong: IsWrong, message: string, ...below: FieldPath];

function wrongIn(contexts: readonly Context[], ...[field, isWrong, message, ...below]: FieldRule) {
  return contexts
    .filter(({ context }) => isWrong(fieldValue(context, field)))
    .map(({ path }): TemplateFault => ({ path: [...path, field, ...below], message }));
}

const inContainers =
  (...rule: FieldRule): Check =>
  ({ ofContainers }) =>
    wrongIn(ofContainers, ...rule);

const everywhere =
  (...rule: FieldRule): Check =>
  ({ contexts }) =>
    wrongIn(contexts, ...rule);

const notOnWindows =
  (check: Check): Check =>
  (pod) =>
    pod.isWindows ? [] : check(pod);

/** Elements of the list at `path` that are wrong. @param below the place in such an element */
function wrongElements(
  elements: Value | undefined,
  path: FieldPath,
  isWrong: IsWrong,
  message: string,
  ...below: FieldPath
): readonly TemplateFault[] {
  return listOf(elements, String(path.at(-1))).flatMap((element, index) =>
    isWrong(element) ? [{ path: [...path, index, ...below], message }] : [],
  );
}

function wrongCapabilities(contexts: readonly Context[], allowed: RegExp, message: string): readonly TemplateFault[] {
  const isTooMuch = (name: Value | undefined) => !allowed.test(String(name));
  return contexts.flatMap(({ path, context }) =>
    wrongElements(fieldValue(context, 'capabilities'), [...path, 'capabilities', 'add'], isTooMuch, message),
  );
}

const PROFILES = 'must be RuntimeDefault or Localhost';

const isGoodProfile = (profile: Value | undefined): boolean =>
  ['RuntimeDefault', 'Localhost'].includes(stringOf(profile, 'type'));

/** Profiles that are set, and to something else than the two good ones. */
const wrongProfile: IsWrong = (profile) => profile !== undefined && !isGoodProfile(profile);

const CAPABILITIES =
  /^(?:AUDIT_WRITE|CHOWN|DAC_OVERRIDE|FOWNER|FSETID|KILL|MKNOD|NET_BIND_SERVICE|SETFCAP|SETGID|SETPCAP|SETUID|SYS_CHROOT)$/;
const SYSCTLS =
  /^(?:kernel\.shm_rmid_forced|net\.ipv4\.(?:ip_local_port_range|ip_local_reserved_ports|ip_unprivileged_port_start|ping_group_range|tcp_fin_timeout|tcp_keepalive_(?:intvl|probes|time)|tcp_rmem|tcp_syncookies|tcp_wmem))$/;
const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'];
export const APPARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';
const APPARMOR_PROFILE = /^$|^runtime\/default$|^localhost\//;
const HANDLERS = ['httpGet', 'tcpSocket'];
const ACTIONS = ['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle.postStart', 'lifecycle.preStop'];
const VOLUME_SOURCES =
  'configMap, csi, downwardAPI, emptyDir, ephemeral, image, persistentVolumeClaim, projected, secret';

/** Level baseline: nothing that reaches the node or other pods. Values are those of Kubernetes 1.34. */
const BASELINE: Readonly<Record<string, Check>> = {
  appArmorProfile: ({ contexts, metadata }) => [
    ...wrongIn(contexts, 'appArmorProfile', wrongProfile, PROFILES, 'type'),
    ...entriesOf(metadata, 'annotations')
      .filter(([key, value]) => key.startsWith(APPARMOR_ANNOTATION) && !APPARMOR_PROFILE.test(String(value)))
      .map(([key]) => ({ path: ['metadata', 'annotations', key], message: 'must be runtime/default or localhost/…' })),
  ],
  capabilities_baseline: ({ ofContainers }) =>
    wrongCapabilities(ofContainers, CAPABILITIES, 'is more than the capabilities that containers have by default'),
  hostNamespaces: ({ spec }) =>
    ['hostNetwork', 'hostPID', 'hostIPC']
      .filter((field) => fieldValue(spec, field) === true)
      .map((field) => ({ path: ['spec', field], message: 'must not be true: the pod would share it with the node' })),
  hostPathVolumes: ({ spec }) => {
    const isOfNode = (volume: Value | undefined) => fieldValue(volume, 'hostPath') !== undefined;
    const message = 'must not be set: it is a folder of the node';
    return wrongElements(spec, ['spec', 'volumes'], isOfNode, message, 'hostPath');
  },
  hostPorts: ({ containers }) => {
    const isOfNode = (port: Value | undefined) => (fieldValue(port, 'hostPort') ?? 0) !== 0;
    const message = 'must not be set: it is a port of the node';
    return containers.flatMap(({ path, container }) =>
      wrongElements(container, [...path, 'ports'], isOfNode, message, 'hostPort'),
    );
  },
  hostProbesAndHostLifecycle: ({ containers }) =>
    containers.flatMap(({ path, container }) =>
      ACTIONS.flatMap((place) => {
        const steps = place.split('.');
        const action = steps.reduce<Value | undefined>(fieldValue, container);
        return HANDLERS.filter((handler) => stringOf(fieldValue(action, handler), 'host') !== '').map((handler) => ({
          path: [...path, ...steps, handler, 'host'],
          message: 'must not be set: the kubelet would send requests to another host than the pod',
        }));
      }),
    ),
  privileged: inContainers('privileged', (value) => value === true, 'must not be true'),
  procMount: inContainers('procMount', (value = 'Default') => value !== 'Default', 'must be Default'),
  seLinuxOptions: ({ contexts }) =>
    contexts.flatMap((context) => {
      const wrong = (field: string, isWrong: (text: string) => boolean, message: string) =>
        wrongIn([context], 'seLinuxOptions', (options) => isWrong(stringOf(options, field)), message, field);
      return [
        ...wrong('type', (type) => !SELINUX_TYPES.includes(type), 'is a type that pods may not choose'),
        ...wrong('user', (user) => user !== '', 'must not be set'),
        ...wrong('role', (role) => role !== '', 'must not be set'),
      ];
    }),
  seccompProfile_baseline: everywhere('seccompProfile', wrongProfile, PROFILES, 'type'),
  sysctls: ({ own }) => {
    const isUnsafe = (sysctl: Value | undefined) => !SYSCTLS.test(stringOf(sysctl, 'name'));
    return wrongElements(own.context, [...own.path, 'sysctls'], isUnsafe, 'is not one of the safe sysctls', 'name');
  },
  windowsHostProcess: ({ contexts }) => {
    const isOnHost = (options: Value | undefined) => fieldValue(options, 'hostProcess') === true;
    return wrongIn(contexts, 'windowsOptions', isOnHost, 'must not be true', 'hostProcess');
  },
};

/** Level restricted: no root, no privileges, no unconfined container, and only harmless kinds of volumes. */
const RESTRICTED: Readonly<Record<string, Check>> = {
  allowPrivilegeEscalation: notOnWindows(
    inContainers('allowPrivilegeEscalation', (value) => value !== false, 'must be false'),
  ),
  capabilities_restricted: notOnWindows(({ ofContainers }) =>
    ofContainers.flatMap((context) => [
      ...wrongIn([context], 'capabilities', (set) => !listOf(set, 'drop').includes('ALL'), 'must have ALL', 'drop'),
      ...wrongCapabilities([context], /^NET_BIND_SERVICE$/, 'must be NET_BIND_SERVICE or go'),
    ]),
  ),
  restrictedVolumes: ({ spec }) =>
    listOf(spec, 'volumes').flatMap((volume, index) => {
      const sources = Object.keys(isMapping(volume) ? volume : {}).filter(
        (field) => field !== 'name' && fieldValue(volume, field) !== undefined,
      );
      const [source] = sources;
      // The API server makes an emptyDir of a volume without a source before it looks.
      if (source === undefined || sources.some((field) => VOLUME_SOURCES.split(', ').includes(field))) return [];
      return [{ path: ['spec', 'volumes', index, source], message: `must be one of ${VOLUME_SOURCES}` }];
    }),
  runAsNonRoot: ({ own, ofContainers }) => {
    const ofPod = fieldValue(own.context, 'runAsNonRoot');
    return [
      ...wrongIn([own], 'runAsNonRoot', (value) => value === false, 'must be true'),
      ...wrongIn(ofContainers, 'runAsNonRoot', (value = ofPod) => value !== true, 'must be true, here or of the pod'),
    ];
  },
  runAsUser: everywhere('runAsUser', (value) => value === 0, 'must not be 0'),
  seccompProfile_restricted: notOnWindows(({ own, ofContainers, contexts }) => {
    const isSetForAll = isGoodProfile(fieldValue(own.context, 'seccompProfile'));
    const message = `${PROFILES}, here or of the pod`;
    return [
      ...wrongIn(contexts, 'seccompProfile', wrongProfile, PROFILES, 'type'),
      ...wrongIn(isSetForAll ? [] : ofContainers, 'seccompProfile', (value) => value === undefined, message, 'type'),
    ];
  }),
};

/** `OverrideCheckIDs` of the restricted checks: they say the same, and more. */
const REPLACED_BY_RESTRICTED = new Set(['capabilities_baseline', 'hostPathVolumes', 'seccompProfile_baseline']);
