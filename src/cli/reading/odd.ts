/** Parts of a RunnerGroup with their places, for what is legal in it and cannot be meant. Pure. */
import type { Path } from '../../config/runnergroup/documents.ts';
import { isMapping, valueAt } from '../../config/runnergroup/paths.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';

/** A field, and what cannot be meant about it. */
export type Odd = readonly [path: Path, message: string];

/** A value of a RunnerGroup, with its path from the root of the document. */
export type Part = Readonly<{ path: Path; value: unknown }>;

/** Returns the rows of which the condition is true. */
export function oddIf(...rows: readonly (readonly [condition: boolean, ...odd: Odd])[]): readonly Odd[] {
  return rows.flatMap(([condition, ...odd]) => (condition ? [odd] : []));
}

export function partAt({ path, value }: Part, ...steps: Path): Part {
  return { path: [...path, ...steps], value: valueAt(value, steps) };
}

/** Returns the elements of a list, or the fields of a mapping. Empty for other values. */
export function childrenAt(part: Part, ...steps: Path): readonly Part[] {
  const { path, value } = partAt(part, ...steps);
  if (Array.isArray(value)) return value.map((each, index) => ({ path: [...path, index], value: each }));
  return isMapping(value) ? Object.entries(value).map(([key, each]) => ({ path: [...path, key], value: each })) : [];
}

/** Returns the elements of a list. Empty: there is no list. */
export function elementsAt(part: Part, ...steps: Path): readonly Part[] {
  return Array.isArray(valueAt(part.value, steps)) ? childrenAt(part, ...steps) : [];
}

export function listAt(value: unknown, path: Path): readonly unknown[] {
  const listOrOther = valueAt(value, path);
  return Array.isArray(listOrOther) ? listOrOther : [];
}

export function specOf({ manifest }: RunnerGroup): Part {
  return partAt({ path: [], value: manifest }, 'spec');
}

/** Returns the pods of the podTemplates: of the group and of its sizes. */
export function podsOf(group: RunnerGroup) {
  const spec = specOf(group);
  return [spec, ...elementsAt(spec, 'sizes')].map((owner) => {
    const pod = partAt(owner, 'podTemplate', 'spec');
    const containers = ['containers', 'initContainers'].flatMap((list) => elementsAt(pod, list));
    const runners = containers.filter(({ value }) => valueAt(value, ['name']) === 'runner');
    return { owner, pod, containers, runners, labels: valueAt(owner.value, ['podTemplate', 'metadata', 'labels']) };
  });
}

export function containersOf(group: RunnerGroup): readonly Part[] {
  return podsOf(group).flatMap(({ containers }) => containers);
}

/** Returns the containers of podTemplates that are merged over the runner's own. */
export function runnersOf(group: RunnerGroup): readonly Part[] {
  return podsOf(group).flatMap(({ runners }) => runners);
}

/** Variables of containers, and of the runner's configuration, whose container is `runner`, too. */
export function variablesOf(group: RunnerGroup) {
  const ofContainers = containersOf(group).flatMap((container) =>
    elementsAt(container, 'env').map(({ path, value }) => ({
      container: valueAt(container.value, ['name']),
      name: String(valueAt(value, ['name'])),
      value: valueAt(value, ['value']),
      path,
    })),
  );
  const ofConfig = childrenAt(specOf(group), 'runnerConfig', 'runner', 'envs').map(({ path, value }) => {
    return { container: 'runner', name: String(path.at(-1)), value, path };
  });
  return [...ofContainers, ...ofConfig];
}
