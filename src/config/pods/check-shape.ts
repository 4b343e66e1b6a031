/** Checks that a podTemplate has the shape of a PodTemplateSpec: a typo is found at commit, not in a failed sync. */
import { LONGEST_QUANTITY, MOST_NAMES, nearestName } from '../runnergroup/words.ts';
import {
  type FieldPath,
  fieldsOf,
  isList,
  isMapping,
  type ListType,
  type Mapping,
  requiredFields,
  type ScalarType,
  TEMPLATE_TYPE,
  type TemplateFault,
  type Value,
  type ValueType,
} from './pod-schema.ts';

/** The known name that was most likely meant. */
type Suggest = typeof nearestName;

/** Returns the faults of a template that passed `boundFault`. Never repeats a value: it may be a misplaced secret. */
export function checkShape(template: Value, suggest: Suggest = nearestName): readonly TemplateFault[] {
  return check(template, { kind: 'struct', name: TEMPLATE_TYPE }, [], suggest);
}

function check(value: Value, type: ValueType, path: FieldPath, suggest: Suggest): readonly TemplateFault[] {
  switch (type.kind) {
    case 'scalar': {
      const { test, wanted } = WANTED[type.scalar];
      return test(value) ? [] : [{ path, message: wrongScalar(value, wanted), wanted }];
    }
    case 'list':
      if (!isList(value))
        return [{ path, message: `must be a list, not ${kindOf(value)}${listInstead(value, type)}`, wanted: 'a list' }];
      return [
        ...value.flatMap((element, index) => check(element, type.element, [...path, index], suggest)),
        ...repeatedElements(value, type, path),
      ];
    case 'mapping':
      if (!isMapping(value)) return [{ path, message: `must be a mapping, not ${kindOf(value)}` }];
      return Object.entries(value).flatMap(([key, entry]) => {
        if (isDirective(key)) return [{ path: [...path, key], message: DIRECTIVE }];
        return entry === null ? [] : check(entry, type.element, [...path, key], suggest);
      });
    case 'struct':
      if (!isMapping(value))
        return [{ path, message: `must be a mapping, not ${kindOf(value)}${structInstead(type.name, path)}` }];
      return checkStruct(value, type.name, path, suggest);
    default:
      return type satisfies never;
  }
}

/** A field that is null is absent, as Kubernetes reads it; it must be one of its fields all the same. */
function checkStruct(value: Mapping, struct: string, path: FieldPath, suggest: Suggest): readonly TemplateFault[] {
  const fields = fieldsOf(struct);
  let guesses = MOST_GUESSES;
  const entryFaults = Object.entries(value).flatMap(([name, entry]) => {
    const field = fields.get(name);
    if (!field) {
      guesses -= 1;
      return [{ path: [...path, name], message: unknownField(name, struct, guesses < 0 ? () => undefined : suggest) }];
    }
    return entry === null ? [] : check(entry, field.type, [...path, name], suggest);
  });
  const missing = requiredFields(struct).filter((name) => (value[name] ?? null) === null);
  return [...entryFaults, ...missing.map((name) => ({ path: [...path, name], message: 'is missing' }))];
}

/** Most fields of a struct that a message lists. */
const MOST_SHOWN = 5;

/** Describes the form of a struct: its required fields, else its field `name`, else all fields if they are few. */
function structInstead(struct: string, path: FieldPath): string {
  const [fields, needed] = [[...fieldsOf(struct).keys()], requiredFields(struct)];
  const ofName = fields.filter((field) => field === 'name');
  const [shown] = [needed, ofName, fields].filter(({ length }) => length > 0 && length <= MOST_SHOWN);
  if (!shown) return '';
  const [place, form] = [path.at(-1), shown.map((field) => `${field}: …`).join(', ')];
  if (typeof place === 'number') return `; write "- ${shown.length === 1 ? form : `{${form}}`}"`;
  return `; write "${place}: {${form}}"`;
}

const DIRECTIVE = 'patch directives are not allowed: podTemplate is a template, not a patch';

function isDirective(key: string): boolean {
  return /^\$(?:patch$|retainKeys$|deleteFromPrimitiveList(?:\/|$)|setElementOrder(?:\/|$))/.test(key);
}

/** A guess takes time, and a hostile mapping has thousands of unknown fields. */
const MOST_GUESSES = 20;

/** Structs that may be meant by an unknown field of a struct, as `STRUCT=place`. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  SecurityContext: ['PodSecurityContext=securityContext of the pod'],
  PodSecurityContext: ['SecurityContext=securityContext of a container'],
  ...{ PodTemplateSpec: ['PodSpec=spec', 'Container=a container in spec'], ObjectMeta: ['PodSpec=spec'] },
  ...{ PodSpec: ['Container=a container', 'ObjectMeta=metadata'], Container: ['PodSpec=spec'] },
};

/** Fields of a Job, a Deployment or a CronJob around a pod template. */
const AROUND_TEMPLATE = new Set('template jobTemplate spec replicas selector strategy backoffLimit'.split(' '));

function unknownField(name: string, struct: string, suggest: Suggest): string {
  if (isDirective(name)) return DIRECTIVE;
  if (AROUND_TEMPLATE.has(name) && (struct === 'PodSpec' || struct === 'PodTemplateSpec'))
    return 'unknown field; podTemplate is the template itself: write the spec of the pod below podTemplate.spec';
  const knownNames = [...fieldsOf(struct).keys()];
  const homes = (HOMES[struct] ?? []).map((text) => text.split('='));
  const [, home] = homes.find(([type = '']) => fieldsOf(type).has(name)) ?? [];
  if (home !== undefined) return `unknown field; it belongs into ${home}`;
  const below = [...fieldsOf(struct)].filter(([, { type }]) => type.kind === 'struct' && fieldsOf(type.name).has(name));
  if (below.length === 1) return `unknown field; write "${below[0]?.[0]}: {${name}: …}"`;
  const meant = suggest(name, knownNames);
  if (meant !== undefined) return `unknown field; did you mean "${meant}"?`;
  return knownNames.length > MOST_NAMES ? 'unknown field' : `unknown field; known here: ${knownNames.join(', ')}`;
}

/** Finds elements that Kubernetes would take for one and merge silently, and those without their merge key. */
function repeatedElements(
  list: readonly Value[],
  { element: elementType, distinctBy: keys }: ListType,
  path: FieldPath,
): readonly TemplateFault[] {
  const [mergeKey] = keys;
  if (mergeKey === undefined) return [];
  const toldByStruct = elementType.kind === 'struct' && fieldsOf(elementType.name).get(mergeKey)?.required;
  const identities = new Set<string>();
  return list.flatMap((element, index) => {
    if (!isMapping(element)) return [];
    const values = keys.map((key) => element[key] ?? null);
    const noKey = { path: [...path, index, mergeKey], message: 'is missing: elements are told apart by it' };
    if (values[0] === null) return toldByStruct ? [] : [noKey];
    // A port without a protocol is a TCP port.
    const identity = JSON.stringify(values.map((value, at) => (keys[at] === 'protocol' ? (value ?? 'TCP') : value)));
    if (identities.has(identity))
      return [{ path: [...path, index], message: `repeats an earlier element: ${keys.join(' and ')} must differ` }];
    identities.add(identity);
    return [];
  });
}

const QUANTITY = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/;
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const INT32 = 2 ** 31;

function wrongScalar(value: Value, expected: string): string {
  const message = `must be ${expected}, ${expected === 'a quantity' ? 'e.g. 500m or 2Gi' : `not ${kindOf(value)}`}`;
  if (expected !== 'a string' || !/^(?:number|boolean)$/.test(typeof value)) return message;
  const why = typeof value === 'boolean' ? ', which YAML makes of y, n, yes, no, on and off, too' : '';
  return `${message}${why}; write it in quotes`;
}

const WANTED: Readonly<Record<ScalarType, { readonly test: (value: Value) => boolean; readonly wanted: string }>> = {
  string: { test: (value) => typeof value === 'string', wanted: 'a string' },
  boolean: { test: (value) => typeof value === 'boolean', wanted: 'true or false' },
  int32: { test: isInt32, wanted: 'a whole number of 32 bits' },
  int64: { test: Number.isSafeInteger, wanted: 'a whole number' },
  'integer or string': {
    test: (value) => typeof value === 'string' || isInt32(value),
    wanted: 'a whole number or a string',
  },
  quantity: { test: isQuantity, wanted: 'a quantity' },
  'date-time': { test: (value) => typeof value === 'string' && DATE_TIME.test(value), wanted: 'a time' },
  'any object': { test: isMapping, wanted: 'a mapping' },
};

function isInt32(value: Value): boolean {
  return Number.isInteger(value) && Number(value) >= -INT32 && Number(value) < INT32;
}

/** True for a quantity as the API server reads it, below zero, too. The rules of the pod judge its value. */
function isQuantity(value: Value): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' && value.length <= LONGEST_QUANTITY && QUANTITY.test(value);
}

/** Returns what to write for an element without its dash, or for `env: {TZ: …}`. Repeats no value. */
function listInstead(value: Value, { element, distinctBy: [mergeKey] }: ListType): string {
  if (element.kind !== 'struct' || !isMapping(value)) return '';
  const fields = fieldsOf(element.name);
  const keys = Object.keys(value);
  const known = keys.filter((key) => fields.has(key));
  if (known.length > 0)
    return known.length === keys.length && (mergeKey === undefined || mergeKey in value)
      ? '; write a dash before its first field'
      : '';
  const [name = ''] = keys;
  if (mergeKey !== 'name' || !/^[\w.-]{1,63}$/.test(name)) return '';
  return `; write "- {name: ${name}, ${typeof value[name] === 'string' && fields.has('value') ? 'value: …' : '…'}}"`;
}

function kindOf(value: Value): string {
  if (value === null) return 'null';
  if (isList(value)) return 'a list';
  if (isMapping(value)) return 'a mapping';
  if (typeof value === 'number') return Number.isInteger(value) ? 'a number' : 'a fraction';
  return typeof value === 'string' ? 'a string' : 'true or false';
}
