/** Rules that level `restricted` adds: no root, no privileges, no unconfined container, no volume but the harmless kinds. */
import { wrongSeccomp } from './security-baseline.ts';
import {
  POD_CONTEXT,
  type SecuredContainer,
  type SecuredPod,
  type SecurityRule,
  type Violation,
} from './security-rule.ts';
import { fieldValue, isMapping, listOf } from './value.ts';

const VOLUME_SOURCES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

const allowPrivilegeEscalation: SecurityRule = ({ containers, isWindows }) => {
  if (isWindows) return [];
  return containers
    .filter(({ context }) => fieldValue(context, 'allowPrivilegeEscalation') !== false)
    .map(({ path }) => ({
      rule: 'allowPrivilegeEscalation',
      path: [...path, 'securityContext', 'allowPrivilegeEscalation'],
      message: 'must be false',
    }));
};

const capabilities: SecurityRule = ({ containers, isWindows }) => (isWindows ? [] : containers.flatMap(ofContainer));

function ofContainer({ path, context }: SecuredContainer): readonly Violation[] {
  const rule = 'capabilities_restricted';
  const place = [...path, 'securityContext', 'capabilities'];
  const set = fieldValue(context, 'capabilities');
  const kept = listOf(set, 'drop').includes('ALL')
    ? []
    : [{ rule, path: [...place, 'drop'], message: 'must have ALL' }];
  const added = listOf(set, 'add').flatMap((name, index) =>
    name === 'NET_BIND_SERVICE'
      ? []
      : [{ rule, path: [...place, 'add', index], message: 'must be NET_BIND_SERVICE or go' }],
  );
  return [...kept, ...added];
}

const restrictedVolumes: SecurityRule = ({ spec }) =>
  listOf(spec, 'volumes').flatMap((volume, index) => {
    if (!isMapping(volume) || VOLUME_SOURCES.some((source) => fieldValue(volume, source) !== undefined)) return [];
    const [source] = Object.keys(volume).filter((field) => field !== 'name' && fieldValue(volume, field) !== undefined);
    // The API server makes an emptyDir of a volume without a source before it looks.
    if (source === undefined) return [];
    return [
      {
        rule: 'restrictedVolumes',
        path: ['spec', 'volumes', index, source],
        message: `must be one of ${VOLUME_SOURCES.join(', ')}`,
      },
    ];
  });

const runAsNonRoot: SecurityRule = (pod) => {
  const rule = 'runAsNonRoot';
  if (pod.isRelaxed) return [];
  const ofPod = fieldValue(pod.context, rule);
  const own = ofPod === false ? [{ rule, path: [...POD_CONTEXT, rule], message: 'must be true' }] : [];
  const needed = pod.containers.filter(({ context }) => {
    const set = fieldValue(context, rule);
    return set === undefined ? ofPod !== true : set !== true;
  });
  return [
    ...own,
    ...needed.map(({ path }) => ({
      rule,
      path: [...path, 'securityContext', rule],
      message: 'must be true, here or of the pod',
    })),
  ];
};

const runAsUser: SecurityRule = (pod) => {
  const rule = 'runAsUser';
  if (pod.isRelaxed) return [];
  const places = [
    { path: POD_CONTEXT, context: pod.context },
    ...pod.containers.map(({ path, context }) => ({ path: [...path, 'securityContext'], context })),
  ];
  return places
    .filter(({ context }) => fieldValue(context, rule) === 0)
    .map(({ path }) => ({ rule, path: [...path, rule], message: 'must not be 0' }));
};

const seccompProfile: SecurityRule = (pod) => {
  if (pod.isWindows) return [];
  const rule = 'seccompProfile_restricted';
  const wrong = wrongSeccomp(pod, rule);
  return [...wrong, ...(hasGoodSeccomp(pod) ? [] : withoutSeccomp(pod, rule))];
};

function hasGoodSeccomp(pod: SecuredPod): boolean {
  if (fieldValue(pod.context, 'seccompProfile') === undefined) return false;
  return wrongSeccomp({ ...pod, containers: [] }, '').length === 0;
}

function withoutSeccomp({ containers }: SecuredPod, rule: string): readonly Violation[] {
  return containers
    .filter(({ context }) => fieldValue(context, 'seccompProfile') === undefined)
    .map(({ path }) => ({
      rule,
      path: [...path, 'securityContext', 'seccompProfile', 'type'],
      message: 'must be RuntimeDefault or Localhost, here or of the pod',
    }));
}

export const RESTRICTED_RULES: readonly SecurityRule[] = [
  allowPrivilegeEscalation,
  capabilities,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  seccompProfile,
];
