import type { AppVerdict } from '../../src/serve/planning/reconcile.ts';
import { NO_DIFFERENCE } from '../../src/serve/seen/difference.ts';

/** A verdict that wants nothing, except for the given parts. */
export function verdictOf(over: Partial<AppVerdict>): AppVerdict {
  return {
    application: '',
    planning: { is: 'waiting' },
    difference: NO_DIFFERENCE,
    siblings: new Map(),
    settled: true,
    clockWarnings: [],
    groups: [],
    starts: [],
    inputs: [],
    untilMs: 0,
    ...over,
  };
}
