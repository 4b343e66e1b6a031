/** Random PodTemplateSpecs: of the right types, of no meaning. Made from the schema, so a new field of Kubernetes is in them, too. */
import {
  fieldsOf,
  type ListType,
  type Mapping,
  TEMPLATE_TYPE,
  type Value,
  type ValueType,
} from '../../../src/config/pods/pod-schema.ts';

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
export type Random = () => number;

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  const chosen = choices[Math.floor(random() * choices.length)];
  if (chosen === undefined) throw new Error('nothing to choose from');
  return chosen;
}

/** Few, so that two templates often name the same element. */
const NAMES = ['runner', 'data', 'a', 'b', 'c'];
const NUMBERS = [0, 1, 53, 80, 443, 8080];
const QUANTITIES = ['1', '500m', '2Gi', 0.5, 3];

/** How often the fields are set that matter most to a merge. */
const OFTEN: ReadonlyMap<string, number> = new Map([
  ['PodTemplateSpec.metadata', 0.7],
  ['PodTemplateSpec.spec', 1],
  ['PodSpec.containers', 0.9],
  ['PodSpec.initContainers', 0.6],
  ['PodSpec.volumes', 0.7],
  ['Container.env', 0.7],
  ['Container.volumeMounts', 0.7],
]);

/** How often an optional field is set, and how often it is null then. */
export interface Density {
  readonly set: number;
  readonly nulls: number;
}

export function randomTemplate(random: Random, density: Density): Mapping {
  return randomStruct(random, TEMPLATE_TYPE, density, 0);
}

function randomStruct(random: Random, struct: string, density: Density, depth: number): Mapping {
  const fields = [...fieldsOf(struct)].flatMap(([name, { required, type }]): (readonly [string, Value])[] => {
    const usual = depth > 5 ? density.set / 2 : density.set;
    if (!required && random() > (OFTEN.get(`${struct}.${name}`) ?? usual)) return [];
    if (!required && random() < density.nulls) return [[name, null]];
    return [[name, randomValue(random, type, density, depth + 1)]];
  });
  return Object.fromEntries(fields);
}

function randomValue(random: Random, type: ValueType, density: Density, depth: number): Value {
  switch (type.kind) {
    case 'scalar':
      return randomScalar(random, type.scalar);
    case 'mapping':
      return Object.fromEntries(
        NAMES.filter(() => random() < 0.4).map((key) => [
          key,
          random() < density.nulls ? null : randomValue(random, type.element, density, depth + 1),
        ]),
      );
    case 'struct':
      return randomStruct(random, type.name, density, depth);
    case 'list':
      return randomList(random, type, density, depth);
    default:
      return type satisfies never;
  }
}

/** Elements differ in the merge key; scalars that are merged differ. */
function randomList(
  random: Random,
  { element: elementType, distinctBy, merge }: ListType,
  density: Density,
  depth: number,
): readonly Value[] {
  const length = Math.floor(random() * (depth > 5 ? 2 : 4));
  const elements = Array.from({ length }, () => randomValue(random, elementType, density, depth + 1));
  const [key] = distinctBy;
  if (merge && key === undefined) return [...new Set(elements)];
  if (key === undefined || elementType.kind !== 'struct') return elements;
  const pool: readonly Value[] = key === 'containerPort' ? NUMBERS : NAMES;
  const shuffled = [...pool].sort(() => random() - 0.5);
  return elements.map((element, index) => ({ ...(element as Mapping), [key]: shuffled[index] ?? null }));
}

function randomScalar(random: Random, scalar: string): Value {
  switch (scalar) {
    case 'string':
      return pick(random, NAMES);
    case 'boolean':
      return random() < 0.5;
    case 'int32':
    case 'int64':
      return pick(random, NUMBERS);
    case 'quantity':
      return pick(random, QUANTITIES);
    case 'integer or string':
      return random() < 0.5 ? pick(random, NUMBERS) : pick(random, NAMES);
    case 'date-time':
      return '2026-11-22T10:00:00Z';
    default:
      return {};
  }
}
