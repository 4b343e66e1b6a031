import { expect, it } from 'vitest';
import { NO_DIFFERENCE } from '../../../src/serve/planning/difference.ts';
import { dueMs, follow, NEVER_WOKEN } from '../../../src/serve/waking/wake-state.ts';

it('an Application that shows its plan after a wake is not due, whatever it had waited for', () => {
  const difference = { ...NO_DIFFERENCE, missing: ['runners/ci-1'] };
  const gathering = follow(NEVER_WOKEN, { is: 'planned', difference, settled: true }, 1_000);
  const waking = follow(gathering, { is: 'its-turn' }, 1_100);
  const pausing = follow(waking, { is: 'woken', outcome: { is: 'synced' } }, 1_200);
  const shown = follow(pausing, { is: 'planned', difference: NO_DIFFERENCE, settled: true }, 1_300);

  expect([gathering, waking, pausing, shown].map(({ is }) => is)).toEqual(['gathering', 'waking', 'pausing', 'shown']);
  expect(dueMs(shown)).toBe(undefined);
});
