/**
 * What Kubernetes refuses although every field is right: parts of a template that do not fit each other, or our pod. Checks that
 * look at one field only stand in check-values.ts. docs/adr/0028 lists what is left to the API server.
 */
import { checkLabels, checkToleration, checkValues } from './check-values.ts';
import { type FieldPath, fieldValue, isMapping, listOf, type Mapping, stringOf, type TemplateFault } from './value.ts';
import { visitStructs } from './visit.ts';

/**
 * The faults of a template that `checkShape` let pass, merged over `ours`. Paths are those of the template: the merged pod has other
 * indices.
 */
export function checkPod(ours: Mapping, template: Mapping): readonly TemplateFault[] {
  return [
    ...visitStructs(template, (struct, value, path) => [
      ...checkValues(struct, value, path),
      ...checkLabels(struct, value, path),
      ...(struct === 'Toleration' ? checkToleration(value, path) : []),
      ...(struct === 'EnvVar' ? checkEnvironment(value, path) : []),
      ...(struct === 'VolumeMount' ? checkMount(value, path) : []),
    ]),
    ...checkContainers(ours, template),
    ...checkMountedVolumes(ours, template),
  ];
}

function checkEnvironment(value: Mapping, path: FieldPath): readonly TemplateFault[] {
  if (stringOf(value, 'value') === '' || fieldValue(value, 'valueFrom') === undefined) return [];
  return [{ path, message: 'may have value or valueFrom, not both' }];
}

function checkMount(value: Mapping, path: FieldPath): readonly TemplateFault[] {
  const subPaths = ['subPath', 'subPathExpr'].filter((field) => stringOf(value, field) !== '');
  const climbing = subPaths.filter((field) => {
    const text = stringOf(value, field);
    return text.startsWith('/') || text.split('/').includes('..');
  });
  return [
    ...(stringOf(value, 'mountPath') === '' ? [{ path: [...path, 'mountPath'], message: 'must not be empty' }] : []),
    ...climbing.map((field) => ({ path: [...path, field], message: 'must be a relative path without ".."' })),
    ...(subPaths.length > 1 ? [{ path, message: 'may have subPath or subPathExpr, not both' }] : []),
  ];
}

/** Lists of containers that a template may write. */
const CONTAINER_LISTS = ['initContainers', 'containers'] as const;

interface ContainerPlace {
  readonly list: (typeof CONTAINER_LISTS)[number];
  readonly path: FieldPath;
  readonly container: Mapping;
}

/** All containers of a template with their places. */
function containersOf(template: Mapping): readonly ContainerPlace[] {
  const spec = fieldValue(template, 'spec');
  return CONTAINER_LISTS.flatMap((list) =>
    listOf(spec, list).flatMap((container, index) =>
      isMapping(container) ? [{ list, path: ['spec', list, index], container }] : [],
    ),
  );
}

function checkContainers(ours: Mapping, template: Mapping): readonly TemplateFault[] {
  const known = new Map(containersOf(ours).map(({ list, container }) => [stringOf(container, 'name'), list]));
  return containersOf(template).flatMap((place) => {
    const { list, path, container } = place;
    const name = stringOf(container, 'name');
    const before = known.get(name);
    known.set(name, list);
    const elsewhere = { path: [...path, 'name'], message: `is the name of a container in ${before}, too` };
    const image = stringOf(container, 'image');
    const noImage = { path: [...path, 'image'], message: 'is missing' };
    const spaces = { path: [...path, 'image'], message: 'must not begin or end with a space' };
    return [
      ...(before !== undefined && before !== list ? [elsewhere] : []),
      ...(image === '' && before === undefined ? [noImage] : []),
      ...(image === image.trim() ? [] : [spaces]),
      ...checkRestart(place),
    ];
  });
}

/** Kubernetes 1.34 keeps restartPolicy of init containers only, and of its values Always: a sidecar. Others it drops without a word. */
function checkRestart({ list, path, container }: ContainerPlace): readonly TemplateFault[] {
  const policy = fieldValue(container, 'restartPolicy');
  const isSidecar = policy === 'Always';
  if (list === 'containers')
    return policy === undefined ? [] : [{ path: [...path, 'restartPolicy'], message: 'is for initContainers only' }];
  const wrong = policy !== undefined && !isSidecar;
  const ofSidecars = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'].filter(
    (field) => fieldValue(container, field) !== undefined,
  );
  return [
    ...(wrong
      ? [{ path: [...path, 'restartPolicy'], message: 'must be Always: then the container is a sidecar' }]
      : []),
    ...(isSidecar ? [] : ofSidecars).map((field) => ({
      path: [...path, field],
      message: 'needs restartPolicy: Always in an init container',
    })),
  ];
}

function checkMountedVolumes(ours: Mapping, template: Mapping): readonly TemplateFault[] {
  const volumes = new Set([ours, template].flatMap(volumeNames));
  return containersOf(template).flatMap(({ path, container }) =>
    listOf(container, 'volumeMounts').flatMap((mount, index) => {
      if (volumes.has(stringOf(mount, 'name'))) return [];
      return [{ path: [...path, 'volumeMounts', index, 'name'], message: 'is no volume of this pod' }];
    }),
  );
}

function volumeNames(template: Mapping): readonly string[] {
  return listOf(fieldValue(template, 'spec'), 'volumes').map((volume) => stringOf(volume, 'name'));
}
