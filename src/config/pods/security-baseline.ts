/** Rules of level `baseline`: nothing that reaches the node or other pods. Lists of values are those of Kubernetes 1.34. */
import { contextsOf, type SecuredPod, type SecurityRule, type Violation } from './security-rule.ts';
import { entriesOf, type FieldPath, fieldValue, listOf, stringOf, type Value } from './value.ts';

const CAPABILITIES =
  /^(?:AUDIT_WRITE|CHOWN|DAC_OVERRIDE|FOWNER|FSETID|KILL|MKNOD|NET_BIND_SERVICE|SETFCAP|SETGID|SETPCAP|SETUID|SYS_CHROOT)$/;

const SYSCTLS = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_wmem',
]);

const SELINUX_TYPES = new Set(['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']);
/** Of seccomp and AppArmor. */
const PROFILES: ReadonlySet<string> = new Set(['RuntimeDefault', 'Localhost']);
const APPARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];
const HOOKS = ['postStart', 'preStop'];
const HANDLERS = ['httpGet', 'tcpSocket'];
const HOST_NAMESPACES = ['hostNetwork', 'hostPID', 'hostIPC'];

const appArmorProfile: SecurityRule = (pod) => {
  const rule = 'appArmorProfile';
  const fields = profileTypes(pod, 'appArmorProfile').filter(({ type }) => !PROFILES.has(type));
  const annotations = entriesOf(pod.metadata, 'annotations').filter(
    ([key, value]) => key.startsWith(APPARMOR_ANNOTATION) && !isAllowedAppArmor(value),
  );
  return [
    ...fields.map(({ path }) => ({ rule, path, message: 'must be RuntimeDefault or Localhost' })),
    ...annotations.map(([key]) => ({
      rule,
      path: ['metadata', 'annotations', key],
      message: 'must be runtime/default or localhost/…',
    })),
  ];
};

function isAllowedAppArmor(value: Value): boolean {
  return value === '' || value === 'runtime/default' || (typeof value === 'string' && value.startsWith('localhost/'));
}

const capabilities: SecurityRule = ({ containers }) =>
  containers.flatMap(({ path, context }) =>
    listOf(fieldValue(context, 'capabilities'), 'add').flatMap((added, index) =>
      CAPABILITIES.test(String(added))
        ? []
        : [
            {
              rule: 'capabilities_baseline',
              path: [...path, 'securityContext', 'capabilities', 'add', index],
              message: 'is more than the capabilities that containers have by default',
            },
          ],
    ),
  );

const hostNamespaces: SecurityRule = ({ spec }) =>
  HOST_NAMESPACES.filter((field) => fieldValue(spec, field) === true).map((field) => ({
    rule: 'hostNamespaces',
    path: ['spec', field],
    message: 'must not be true: the pod would share it with the node',
  }));

const hostPathVolumes: SecurityRule = ({ spec }) =>
  listOf(spec, 'volumes').flatMap((volume, index) =>
    fieldValue(volume, 'hostPath') === undefined
      ? []
      : [
          {
            rule: 'hostPathVolumes',
            path: ['spec', 'volumes', index, 'hostPath'],
            message: 'must not be set: it is a folder of the node',
          },
        ],
  );

const hostPorts: SecurityRule = ({ containers }) =>
  containers.flatMap(({ path, container }) =>
    listOf(container, 'ports').flatMap((port, index) =>
      (fieldValue(port, 'hostPort') ?? 0) === 0
        ? []
        : [
            {
              rule: 'hostPorts',
              path: [...path, 'ports', index, 'hostPort'],
              message: 'must not be set: it is a port of the node',
            },
          ],
    ),
  );

const hostProbes: SecurityRule = ({ containers }) =>
  containers.flatMap(({ path, container }) => {
    const lifecycle = fieldValue(container, 'lifecycle');
    const actions = [
      ...PROBES.map((probe) => ({ path: [...path, probe], action: fieldValue(container, probe) })),
      ...HOOKS.map((hook) => ({ path: [...path, 'lifecycle', hook], action: fieldValue(lifecycle, hook) })),
    ];
    return actions.flatMap(({ path: ofAction, action }) =>
      HANDLERS.filter((handler) => stringOf(fieldValue(action, handler), 'host') !== '').map((handler) => ({
        rule: 'hostProbesAndHostLifecycle',
        path: [...ofAction, handler, 'host'],
        message: 'must not be set: the kubelet would send requests to another host than the pod',
      })),
    );
  });

const privileged: SecurityRule = ({ containers }) =>
  containers
    .filter(({ context }) => fieldValue(context, 'privileged') === true)
    .map(({ path }) => ({
      rule: 'privileged',
      path: [...path, 'securityContext', 'privileged'],
      message: 'must not be true',
    }));

const procMount: SecurityRule = ({ containers, isRelaxed }) => {
  if (isRelaxed) return [];
  return containers
    .filter(({ context }) => (fieldValue(context, 'procMount') ?? 'Default') !== 'Default')
    .map(({ path }) => ({
      rule: 'procMount',
      path: [...path, 'securityContext', 'procMount'],
      message: 'must be Default',
    }));
};

const seLinuxOptions: SecurityRule = (pod) => {
  const rule = 'seLinuxOptions';
  return contextsOf(pod).flatMap(({ path, context }) => {
    const options = fieldValue(context, 'seLinuxOptions');
    const place = [...path, 'seLinuxOptions'];
    const type = { rule, path: [...place, 'type'], message: 'is a type that pods may not choose' };
    const set = ['user', 'role'].filter((field) => stringOf(options, field) !== '');
    return [
      ...(SELINUX_TYPES.has(stringOf(options, 'type')) ? [] : [type]),
      ...set.map((field) => ({ rule, path: [...place, field], message: 'must not be set' })),
    ];
  });
};

const seccompProfile: SecurityRule = (pod) => wrongSeccomp(pod, 'seccompProfile_baseline');

/** Profiles that are set, and to something else than the two good ones. */
export function wrongSeccomp(pod: SecuredPod, rule: string): readonly Violation[] {
  return profileTypes(pod, 'seccompProfile')
    .filter(({ type }) => !PROFILES.has(type))
    .map(({ path }) => ({ rule, path, message: 'must be RuntimeDefault or Localhost' }));
}

function profileTypes(pod: SecuredPod, field: string): readonly { readonly path: FieldPath; readonly type: string }[] {
  return contextsOf(pod).flatMap(({ path, context }) => {
    const profile = fieldValue(context, field);
    return profile === undefined ? [] : [{ path: [...path, field, 'type'], type: stringOf(profile, 'type') }];
  });
}

const sysctls: SecurityRule = ({ context }) =>
  listOf(context, 'sysctls').flatMap((sysctl, index) =>
    SYSCTLS.has(stringOf(sysctl, 'name'))
      ? []
      : [
          {
            rule: 'sysctls',
            path: ['spec', 'securityContext', 'sysctls', index, 'name'],
            message: 'is not one of the safe sysctls',
          },
        ],
  );

const windowsHostProcess: SecurityRule = (pod) =>
  contextsOf(pod)
    .filter(({ context }) => fieldValue(fieldValue(context, 'windowsOptions'), 'hostProcess') === true)
    .map(({ path }) => ({
      rule: 'windowsHostProcess',
      path: [...path, 'windowsOptions', 'hostProcess'],
      message: 'must not be true',
    }));

export const BASELINE_RULES: readonly SecurityRule[] = [
  appArmorProfile,
  capabilities,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbes,
  privileged,
  procMount,
  seLinuxOptions,
  seccompProfile,
  sysctls,
  windowsHostProcess,
];

/** `OverrideCheckIDs` of the restricted checks: they say the same, and more. */
export const REPLACED_BY_RESTRICTED: ReadonlySet<SecurityRule> = new Set([
  capabilities,
  hostPathVolumes,
  seccompProfile,
]);
