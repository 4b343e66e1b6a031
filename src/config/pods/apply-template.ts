/** Makes a group's pod from its podTemplate: all checks of this folder, then the merge (docs/adr/0028). */
import { checkPod } from './check-pod.ts';
import { checkShape } from './check-shape.ts';
import {
  boundFault,
  fieldsOf,
  fieldValue,
  isList,
  isMapping,
  type ListMerge,
  listOf,
  type Mapping,
  stringOf,
  TEMPLATE_TYPE,
  type TemplateFault,
  type Value,
  type ValueType,
} from './pod-schema.ts';
import { type SecurityLevel, securityViolations, type Violation } from './pod-security.ts';
import { reservedFields } from './reserved.ts';

type AppliedTemplate =
  /** The template is wrong. Paths are the template's. */
  | { readonly faults: readonly TemplateFault[] }
  /** The final pod, and where it is weaker than the level. Paths are the pod's. */
  | { readonly pod: Mapping; readonly violations: readonly Violation[] };

/** Checks a podTemplate, merges it over `ours` and holds the pod to `level`. @param secrets with tokens of Gitea */
export function applyTemplate(
  ours: Mapping,
  template: Value,
  secrets: readonly string[],
  level: SecurityLevel,
): AppliedTemplate {
  const tooLarge = boundFault(template);
  if (tooLarge) return { faults: [tooLarge] };
  const shape = checkShape(template);
  if (shape.length > 0 || !isMapping(template)) return { faults: shape };
  const faults = [...reservedFields(ours, template, secrets), ...checkPod(ours, template)];
  if (faults.length > 0) return { faults };
  const pod = followRunner(mergePodTemplate(ours, withRunner(template)), ours);
  return { pod, violations: securityViolations(pod, level) };
}

/** Copied from the runner to the container before it: one registry to pull from, and resources for a quota. */
const FIELDS = ['image', 'imagePullPolicy', 'resources'];
/** Copied, too, so that both read the same files. Privileges are not: the runner of dind-rootless has all. */
const IDENTITY = ['runAsUser', 'runAsGroup', 'runAsNonRoot', 'seLinuxOptions'];

/** The final pod with our init container `register` or `prepare` made like container `runner`. */
export function followRunner(pod: Mapping, ours: Mapping): Mapping {
  const spec = fieldValue(pod, 'spec');
  const ownNames = listOf(fieldValue(ours, 'spec'), 'initContainers').map((container) => stringOf(container, 'name'));
  const following = ['register', 'prepare'].filter((name) => ownNames.includes(name));
  const runner = listOf(spec, 'containers').find((container) => stringOf(container, 'name') === 'runner');
  const initContainers = listOf(spec, 'initContainers').map((container) => {
    if (!following.includes(stringOf(container, 'name'))) return container;
    const [own, ofRunner] = [container, runner].map((each) => fieldValue(each, 'securityContext'));
    const securityContext = withFieldsOf(IDENTITY, own, ofRunner);
    return { ...withFieldsOf(FIELDS, container, runner), securityContext };
  });
  return { ...pod, spec: { ...(isMapping(spec) ? spec : {}), initContainers } };
}

/** `to` with these fields as they are in `from`, also when they are absent there. */
function withFieldsOf(fields: readonly string[], to: Value | undefined, from: Value | undefined): Mapping {
  const kept = Object.entries(isMapping(to) ? to : {}).filter(([field]) => !fields.includes(field));
  const takenFields = Object.entries(isMapping(from) ? from : {}).filter(([field]) => fields.includes(field));
  return Object.fromEntries([...kept, ...takenFields]);
}

/**
 * Merges a podTemplate over `ours`, as Kubernetes' strategic merge does (apimachinery, strategicpatch/patch.go):
 *
 *   mapping   field by field; null takes the earlier field away
 *   list      replaces the earlier one, or is merged by the key in pod-schema.json
 *   order     elements of the template first, in its order; ours where they stood before them, else at the end
 *   anything  of another kind replaces the earlier value
 *
 * The template has passed `boundFault` and `checkShape`: patch directives throw. No null is left.
 */
export function mergePodTemplate(ours: Mapping, template: Mapping): Mapping {
  return withoutNulls(mergeTemplates(ours, template)) as Mapping;
}

/** Merges two templates. A null in the later one stays: it also removes the pod's value. */
export function mergeTemplates(earlier: Mapping, later: Mapping): Mapping {
  return mergeMappings(earlier, later, (field) => typeOfField(TEMPLATE_TYPE, field));
}

/** The template with container `runner`: prepended when it names none, so that it comes first in the pod, too. */
export function withRunner(template: Mapping): Mapping {
  const spec = template['spec'];
  const ownSpec = isMapping(spec) ? spec : {};
  const containers = isList(ownSpec['containers']) ? ownSpec['containers'] : [];
  if (containers.some((container) => isMapping(container) && container['name'] === 'runner')) return template;
  return { ...template, spec: { ...ownSpec, containers: [{ name: 'runner' }, ...containers] } };
}

function typeOfField(struct: string, name: string): ValueType {
  const field = fieldsOf(struct).get(name);
  if (!field) throw new Error(`a template with the unknown field ${JSON.stringify(name)} cannot be merged`);
  return field.type;
}

function mergeMappings(ours: Mapping, later: Mapping, typeOf: (field: string) => ValueType): Mapping {
  const merged = new Map(Object.entries(ours));
  for (const [name, value] of Object.entries(later)) {
    merged.set(name, mergeValues(merged.get(name), value, typeOf(name)));
  }
  return Object.fromEntries(merged);
}

function mergeValues(ours: Value | undefined, later: Value, type: ValueType): Value {
  if (isMapping(ours) && isMapping(later)) {
    if (type.kind === 'struct') return mergeMappings(ours, later, (field) => typeOfField(type.name, field));
    if (type.kind === 'mapping') return mergeMappings(ours, later, () => type.element);
  }
  if (isList(ours) && isList(later) && type.kind === 'list' && type.merge)
    return mergeLists(ours, later, type.element, type.merge);
  return later;
}

function mergeLists(ours: readonly Value[], later: readonly Value[], type: ValueType, merge: ListMerge) {
  const { key } = merge;
  const identity = key === undefined ? (element: Value) => element : (element: Value) => identityOf(element, key);
  const merged = new Map(ours.map((element) => [identity(element), element]));
  for (const element of later) {
    const id = identity(element);
    const earlierElement = merged.get(id);
    merged.set(id, earlierElement === undefined ? element : mergeElements(earlierElement, element, type, merge));
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

/** Orders as Kubernetes' `mergeSortedSlice`: ours goes before one of the template only if it did so in our list. */
function inOrder(ours: readonly Value[], later: readonly Value[]): readonly Value[] {
  const place = new Map(ours.map((id, index) => [id, index]));
  const right = [...new Set(later)];
  const inLater = new Set(right);
  const ownOnly = ours.filter((id) => !inLater.has(id));
  const ordered: Value[] = [];
  let next = 0;
  for (const id of right) {
    const limit = place.get(id) ?? -1;
    for (let mine = ownOnly[next]; mine !== undefined && (place.get(mine) ?? 0) < limit; mine = ownOnly[next]) {
      ordered.push(mine);
      next += 1;
    }
    ordered.push(id);
  }
  return [...ordered, ...ownOnly.slice(next)];
}

/** Kubernetes reads null as absent. */
function withoutNulls(value: Value): Value {
  if (isList(value)) return value.map(withoutNulls);
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== null);
  return Object.fromEntries(entries.map(([name, entry]) => [name, withoutNulls(entry)]));
}
