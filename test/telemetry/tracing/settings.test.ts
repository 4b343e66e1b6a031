import { ROOT_CONTEXT } from '@opentelemetry/api';
import { TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contextOf, isKept, readTraceparent } from '../../../src/telemetry/tracing/span.ts';

const ids = fc.stringMatching(/^[0-9a-f]{32}$/).filter((id) => !/^0+$/.test(id));

describe('which traces are kept', () => {
  it('the kept traces are those that the sampler of OpenTelemetry keeps, for every share', () => {
    fc.assert(
      fc.property(ids, fc.double({ min: 0, max: 1, noNaN: true }), (traceId, ratio) => {
        const { decision } = new TraceIdRatioBasedSampler(ratio).shouldSample(ROOT_CONTEXT, traceId);
        return isKept({ sampler: 'traceidratio', ratio }, traceId) === decision > 0;
      }),
    );
  });

  it('follows the caller only with a parent-based sampler', () => {
    const traceId = 'a'.repeat(32);
    const kept = (sampler: 'parentbased_always_on' | 'always_on' | 'parentbased_always_off', isSampled: boolean) =>
      isKept({ sampler, ratio: 1 }, traceId, { isSampled });

    expect(kept('parentbased_always_on', false)).toBe(false);
    expect(kept('parentbased_always_off', true)).toBe(true);
    expect(kept('always_on', false)).toBe(true);
  });
});

it('the trace of a CI job is another one for another Gitea, job or attempt, and has valid ids', () => {
  const stay = { origin: 'https://gitea.example.com', job: { id: 7, attempt: 1 } };
  const all = [
    stay,
    { ...stay, origin: 'https://other.example.com' },
    { ...stay, job: { id: 8, attempt: 1 } },
    { ...stay, job: { id: 7, attempt: 2 } },
  ];
  const found = all.map(contextOf);

  expect(new Set(found.map(({ traceId }) => traceId)).size).toBe(4);
  expect(contextOf({ ...stay })).toEqual(found[0]);
  for (const { traceId, spanId } of found)
    expect(readTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, isSampled: true });
});

it.each([
  undefined,
  '',
  `00-${'0'.repeat(32)}-${'a'.repeat(16)}-01`,
  `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`,
  `ff-${'a'.repeat(32)}-${'a'.repeat(16)}-01`,
  `00-${'A'.repeat(32)}-${'a'.repeat(16)}-01`,
  `00-${'a'.repeat(32)}-${'a'.repeat(16)}-01-more`,
])('a TRACEPARENT that is not valid does not count: %j', (text) => {
  expect(readTraceparent(text)).toBeUndefined();
});
