import { expect, it } from 'vitest';
import {
  boundFault,
  DEEPEST,
  type Mapping,
  MOST_CHARACTERS,
  MOST_VALUES,
  type Value,
} from '../../../src/config/pods/pod-schema.ts';

const nested = (levels: number): Value => (levels === 0 ? 'x' : { a: nested(levels - 1) });

it('boundFault lets a template of the largest size pass', () => {
  expect(boundFault(nested(DEEPEST))).toBeUndefined();
  expect(boundFault({ a: 'x'.repeat(MOST_CHARACTERS - 1) })).toBeUndefined();
  expect(boundFault(Array.from({ length: MOST_VALUES - 1 }, () => 1))).toBeUndefined();
});

it.each([
  ['one level more', nested(DEEPEST + 1), /nested deeper than 32/],
  ['one character more', { a: 'x'.repeat(MOST_CHARACTERS) }, /more than 131072 characters.*ConfigMap/],
  ['characters in keys', { ['x'.repeat(MOST_CHARACTERS + 1)]: 1, b: 'x' }, /characters/],
  ['one value more', Array.from({ length: MOST_VALUES }, () => 1), /more than 10000 values/],
  ['__proto__', JSON.parse('{"a": {"__proto__": {}}}') as Value, /unknown field/],
])('boundFault stops at %s', (_name, template, message) => {
  expect(boundFault(template)?.message).toMatch(message);
});

it('boundFault ends at a value that holds itself', () => {
  const circle: Record<string, Value> = {};
  circle['spec'] = circle;

  expect(boundFault(circle)?.message).toMatch(/nested deeper/);
});

it('boundFault counts what a YAML alias repeats as often as it stands there', () => {
  const bomb = Array.from({ length: 12 }).reduce<Mapping>((inner) => ({ a: inner, b: inner, c: inner }), { x: 1 });

  expect(boundFault(bomb)?.message).toMatch(/more than 10000 values/);
});
