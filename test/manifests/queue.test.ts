/** The Job of a runner that waits in a queue of Kueue (law P48): it is born suspended, and what lives is printed as it lives. */
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { EmittedRunner } from '../../src/planner/decisions.ts';
import { generated, group, runner } from './fixtures.ts';

const QUEUE = 'kueue.x-k8s.io/queue-name';

function jobOf(over: Partial<EmittedRunner> = {}) {
  return parse(generated([{ group: group(), runners: [runner(over)] }], { emitGroups: false }).replace(/^---\n/, ''));
}

test('a new one has the label and is suspended, and its pods have no label: Kueue would count them besides', () => {
  const { metadata, spec } = jobOf({ queue: 'team-a' });

  expect([metadata.labels[QUEUE], spec.suspend, spec.template.metadata.labels[QUEUE]]).toEqual([
    'team-a',
    true,
    undefined,
  ]);
  expect(Object.keys(spec)).toEqual(Object.keys(spec).sort());
});

test('nothing else differs from one that waits for nobody', () => {
  const { metadata, spec } = jobOf({ queue: 'team-a' });
  const plain = jobOf();
  const { [QUEUE]: _, ...labels } = metadata.labels;
  const { suspend: __, ...rest } = spec;

  expect([labels, rest]).toEqual([plain.metadata.labels, plain.spec]);
});

test('backoffLimit 0 and podReplacementPolicy Failed make a runner that Kueue has preempted end, and never start again (P51)', () => {
  expect(jobOf({ queue: 'team-a' }).spec).toMatchObject({
    backoffLimit: 0,
    podReplacementPolicy: 'Failed',
    completions: 1,
  });
});
