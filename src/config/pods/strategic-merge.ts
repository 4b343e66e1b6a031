/**
 * Kubernetes' strategic merge of two PodTemplateSpecs (docs/adr/0028; apimachinery, `pkg/util/strategicpatch/patch.go`).
 *
 *   mapping   field by field; null takes the earlier field away
 *   list      takes the earlier list's place, or is merged where pod-schema.json says so: elements with the same merge key are one
 *   order     elements of the template first, in its order; ours where they stood before them, else at the end
 *   anything  of another kind than before takes the earlier one's place
 *
 * Patch directives (`$patch` and its kin) are unknown fields here: check-shape.ts refuses them.
 */
import { fieldsOf, type ListMerge, TEMPLATE_TYPE, type ValueType } from './schema.ts';
import { isList, isMapping, type Mapping, type Value } from './value.ts';

/** Name of the container that every runner pod has. */
const RUNNER_CONTAINER = 'runner';

/**
 * `ours` with the group's podTemplate merged over it. The template must have passed `boundFault` and `checkShape`; what they refuse is
 * an error here. Neither argument is changed. No null is left.
 */
export function mergePodTemplate(ours: Mapping, template: Mapping): Mapping {
  return mergeMappings(ours, template, (field) => typeOfField(TEMPLATE_TYPE, field));
}

/** The template with container `runner`: prepended when it names none, so that it comes first in the pod, too. */
export function withRunner(template: Mapping): Mapping {
  const spec = template['spec'];
  const own = isMapping(spec) ? spec : {};
  const containers = isList(own['containers']) ? own['containers'] : [];
  if (containers.some((container) => isMapping(container) && container['name'] === RUNNER_CONTAINER)) return template;
  return { ...template, spec: { ...own, containers: [{ name: RUNNER_CONTAINER }, ...containers] } };
}

function typeOfField(struct: string, name: string): ValueType {
  const field = fieldsOf(struct).get(name);
  if (!field) throw new Error(`a template with the unknown field ${JSON.stringify(name)} cannot be merged`);
  return field.type;
}

function mergeMappings(ours: Mapping, later: Mapping, typeOf: (field: string) => ValueType): Mapping {
  const merged = new Map(Object.entries(ours));
  for (const [name, value] of Object.entries(later)) {
    const type = typeOf(name);
    if (value === null) merged.delete(name);
    else merged.set(name, mergeValues(merged.get(name), value, type));
  }
  return Object.fromEntries(merged);
}

function mergeValues(ours: Value | undefined, later: Value, type: ValueType): Value {
  if (isMapping(ours) && isMapping(later)) {
    if (type.is === 'struct') return mergeMappings(ours, later, (field) => typeOfField(type.name, field));
    if (type.is === 'mapping') return mergeMappings(ours, later, () => type.of);
  }
  if (isList(ours) && isList(later) && type.is === 'list' && type.merge)
    return mergeLists(ours, later, type.of, type.merge);
  return withoutNulls(later);
}

function mergeLists(
  ours: readonly Value[],
  later: readonly Value[],
  type: ValueType,
  merge: ListMerge,
): readonly Value[] {
  const { key } = merge;
  const identity = key === undefined ? (element: Value) => element : (element: Value) => identityOf(element, key);
  const merged = new Map(ours.map((element) => [identity(element), element]));
  for (const element of later) {
    const id = identity(element);
    const before = merged.get(id);
    merged.set(id, before === undefined ? withoutNulls(element) : mergeElements(before, element, type, merge));
  }
  return inOrder(ours.map(identity), later.map(identity)).map((id) => merged.get(id) ?? null);
}

function mergeElements(ours: Value, later: Value, type: ValueType, { retainKeys }: ListMerge): Value {
  if (!retainKeys || !isMapping(ours) || !isMapping(later)) return mergeValues(ours, later, type);
  const retained = Object.entries(ours).filter(([field]) => (later[field] ?? null) !== null);
  return mergeValues(Object.fromEntries(retained), later, type);
}

function identityOf(element: Value, key: string): Value {
  const value = isMapping(element) ? (element[key] ?? null) : null;
  if (value === null) throw new Error(`a template with an element without its merge key ${key} cannot be merged`);
  return value;
}

/** `mergeSortedSlice`: one of ours goes before the next of the template only when it stood before it in our list. */
function inOrder(ours: readonly Value[], later: readonly Value[]): readonly Value[] {
  const place = new Map(ours.map((id, index) => [id, index]));
  const right = [...new Set(later)];
  const inLater = new Set(right);
  const left = ours.filter((id) => !inLater.has(id));
  const ordered: Value[] = [];
  let next = 0;
  for (const id of right) {
    const limit = place.get(id) ?? -1;
    for (let mine = left[next]; mine !== undefined && (place.get(mine) ?? 0) < limit; mine = left[next]) {
      ordered.push(mine);
      next += 1;
    }
    ordered.push(id);
  }
  return [...ordered, ...left.slice(next)];
}

/** Kubernetes reads null as absent. */
function withoutNulls(value: Value): Value {
  if (isList(value)) return value.map(withoutNulls);
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== null);
  return Object.fromEntries(entries.map(([name, entry]) => [name, withoutNulls(entry)]));
}
