/** Templates with one mistake each, for the comparison with the API server's strict decoding. */
import { isList, isMapping, type Mapping, type Value } from '../../../src/config/pods/pod-schema.ts';
import { pick, type Random, randomFrom, randomTemplate } from './random-template.ts';

/** Put in the place of any value of a template, where its type is nearly always wrong. `.` and `Ki` are left out: Kubernetes reads them as 0, and we refuse them. */
const WRONG: readonly Value[] = [
  'a',
  '1Gi',
  '12e',
  '1e3',
  '-1',
  7,
  1.5,
  -3,
  2 ** 31,
  true,
  [],
  ['a'],
  [{}],
  {},
  { a: 'b' },
  { name: 'a' },
];

/** Returns templates. Half of them are valid, half have one mistake. */
export function shapeCases(count: number, seed: number): readonly Mapping[] {
  return Array.from({ length: count }, (_, index) => {
    const random = randomFrom(seed + index);
    const template = randomTemplate(random, { set: 0.15, nulls: 0.05 });
    return random() < 0.5 ? template : (withMistake(random, template) as Mapping);
  });
}

/** Picks a path at random, and changes the value there or the name of the field. */
function withMistake(random: Random, value: Value): Value {
  if (isList(value) && value.length > 0) {
    const index = Math.floor(random() * value.length);
    return value.map((element, at) => (at === index ? withMistake(random, element) : element));
  }
  if (!isMapping(value) || Object.keys(value).length === 0) return pick(random, WRONG);
  const name = pick(random, Object.keys(value));
  const kind = random();
  if (kind < 0.1) return { ...value, [`${name}s`]: value[name] ?? null };
  if (kind < 0.2) return { ...value, [name]: pick(random, WRONG) };
  return { ...value, [name]: withMistake(random, value[name] ?? null) };
}
