/** Law T1. The comparison with Kubernetes itself: test/servers/pods.test.ts; what it said of 100 pairs is recorded. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { mergePodTemplate, withRunner } from '../../../src/config/pods/apply-template.ts';
import type { Mapping } from '../../../src/config/pods/pod-schema.ts';
import type { MergePair } from './merge-cases.ts';

interface Row extends MergePair {
  readonly merged: Mapping;
}
const ROWS = JSON.parse(readFileSync('test/config/pods/recorded/merge.json', 'utf8')) as readonly Row[];

const spec = (fields: Mapping): Mapping => ({ spec: fields });

it.each(ROWS.map((row, index) => [index, row] as const))(
  'mergePodTemplate does as Kubernetes does, pair %i',
  (_index, { base, patch, merged: wanted }) => {
    expect(mergePodTemplate(base, patch)).toEqual(wanted);
  },
);

it('mergePodTemplate has enough pairs', () => {
  expect(ROWS).toHaveLength(100);
});

it('mergePodTemplate changes neither argument', () => {
  const ours = Object.freeze({
    spec: Object.freeze({ containers: Object.freeze([Object.freeze({ name: 'runner' })]) }),
  });
  const template = Object.freeze({
    spec: Object.freeze({ containers: Object.freeze([Object.freeze({ name: 'runner', image: 'x' })]) }),
  });

  expect(mergePodTemplate(ours, template)).toEqual(template);
  expect(ours).toEqual({ spec: { containers: [{ name: 'runner' }] } });
});

it('mergePodTemplate sets no prototype', () => {
  const template = JSON.parse('{"metadata": {"labels": {"__proto__": "x"}}}') as Mapping;

  const result = mergePodTemplate({ metadata: { labels: { a: 'b' } } }, template);

  expect(Object.getPrototypeOf(result['metadata'])).toBe(Object.prototype);
  expect(({} as Mapping)['x']).toBeUndefined();
});

it.each([
  ['an unknown field', spec({ containersX: [] }), /unknown field "containersX"/],
  ['an element without its merge key', spec({ containers: [{ image: 'x' }] }), /without its merge key name/],
])('mergePodTemplate fails on %s, which checkShape finds before', (_name, template, message) => {
  expect(() => mergePodTemplate(spec({ containers: [{ name: 'runner' }] }), template)).toThrow(message);
});

it('withRunner prepends the container when it is missing', () => {
  expect(withRunner(spec({ containers: [{ name: 'side' }] }))).toEqual(
    spec({ containers: [{ name: 'runner' }, { name: 'side' }] }),
  );
  expect(withRunner({})).toEqual(spec({ containers: [{ name: 'runner' }] }));
});

it('withRunner leaves it where it stands', () => {
  const template = spec({ containers: [{ name: 'side' }, { name: 'runner' }] });

  expect(withRunner(template)).toBe(template);
});
