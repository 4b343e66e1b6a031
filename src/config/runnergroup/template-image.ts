import type { Path } from './documents.ts';

/**
 * The image that a podTemplate names for container `runner`, and where it stands below `spec`. It is the group's image, so that the init
 * container that registers has it, too. The template's shape is checked later, with the whole pod (src/observe/final-pods.ts).
 */
export function imageInTemplate(template: unknown): { readonly image: string; readonly path: Path } | undefined {
  const containers = fieldOf(fieldOf(template, 'spec'), 'containers');
  if (!Array.isArray(containers)) return undefined;
  const index = containers.findIndex((container) => fieldOf(container, 'name') === 'runner');
  const image = fieldOf(containers[index], 'image');
  if (typeof image !== 'string' || image === '') return undefined;
  return { image, path: ['podTemplate', 'spec', 'containers', index, 'image'] };
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, field)?.value;
}
