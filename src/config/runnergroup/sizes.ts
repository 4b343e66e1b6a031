/** The sizes of a RunnerGroup, each as a group of the same name with other runners. */
import { valueAt } from './paths.ts';
import type { RunnerGroup } from './runner-group.ts';
import { labelNamed } from './words.ts';

const groupsOfSizes = new WeakMap<RunnerGroup, readonly RunnerGroup[]>();

/** The group, and one more for each of its sizes. Always the same objects. */
export function withSizes(group: RunnerGroup): readonly RunnerGroup[] {
  if (group.size || group.sizes.length === 0) return [group];
  const made = groupsOfSizes.get(group) ?? [group, ...group.sizes.map((_, index) => ofSize(group, index))];
  groupsOfSizes.set(group, made);
  return made;
}

export function baseOf(group: RunnerGroup): RunnerGroup {
  return group.size?.group ?? group;
}

/** A path below the document of a group that stands for a size, as it is in the document of its RunnerGroup. */
export function writtenPath<T>({ size }: RunnerGroup, path: readonly T[]): readonly (T | string | number)[] {
  const [root, field, ...fieldPath] = path;
  const { podTemplate, resources } = size?.group.sizes[size.index] ?? {};
  const isOfSize = (field === 'podTemplate' && podTemplate) || (field === 'resources' && resources);
  return size && isOfSize ? [root as T, 'sizes', size.index, field, ...fieldPath] : path;
}

/** A pool is of runners without a size, and only a job that names a size gets one. */
function ofSize(group: RunnerGroup, index: number): RunnerGroup {
  const { name = '', weight = 1, resources = group.resources, podTemplate } = group.sizes[index] ?? {};
  return {
    ...group,
    size: { name, weight, index, group },
    labels: [...group.labels, labelNamed(group.labels, name)],
    minIdleRunners: 0,
    idleSchedule: [],
    idleDemand: undefined,
    acceptUnlabelledJobs: false,
    image: imageInTemplate(podTemplate)?.image ?? group.image,
    resources,
    ...(podTemplate && { podTemplate }),
  };
}

/** Returns the image that a podTemplate names for container `runner`, and its path below `spec`. */
export function imageInTemplate(template: unknown) {
  const containers = valueAt(template, ['spec', 'containers']);
  if (!Array.isArray(containers)) return undefined;
  const index = containers.findIndex((container: unknown) => valueAt(container, ['name']) === 'runner');
  const image = valueAt(containers, [index, 'image']);
  if (typeof image !== 'string' || image === '') return undefined;
  return { image, path: ['podTemplate', 'spec', 'containers', index, 'image'] };
}
