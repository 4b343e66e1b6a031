/** Decides whether a finding of a rule denies, warns, or is excepted. Pure: the time is an argument. */
import { keyText } from '../../shared/keys.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import type { Finding } from './denial.ts';
import { matchesAny } from './policy-patterns.ts';
import type { Policy, PolicyEntry, RuleName } from './policy-schema.ts';

/** Outcome of a finding. */
type Outcome = 'denied' | 'warned' | 'excepted';

export interface Settled {
  readonly outcome: Outcome;
  readonly found: Finding;
}

interface About {
  readonly rule: RuleName;
  /** The group with its entries, the nearest one first. Absent: the whole Application. */
  readonly group?: RunnerGroup;
  readonly entries?: readonly PolicyEntry[];
  readonly nowMs?: number | undefined;
}

const DAY_MS = 86_400_000;
/** Days before the end of an exception from which it is shown. */
const TOLD_DAYS = 14;

/**
 * Returns the outcome of a finding, and its message. A warning never allows what is denied without a policy file, nor an
 * exception what other rules could not read (docs/adr/0091). @param nowMs absent: every exception has ended
 */
export function settle(
  policy: Policy,
  { rule, group, entries = [], nowMs = Number.POSITIVE_INFINITY }: About,
  { reach, ...findingFields }: Finding,
): Settled {
  if (reach === 'unread') return { outcome: 'denied', found: findingFields };
  if (reach === 'told') return { outcome: 'warned', found: findingFields };
  const fitting = (policy.exceptions ?? []).filter(
    ({ groups, rules }) => group && rules.includes(rule) && matchesAny(groups, keyText(group)),
  );
  const [exception] = fitting.sort((a, b) => b.until.localeCompare(a.until));
  const leftMs = exception ? Date.parse(exception.until) + DAY_MS - nowMs : 0;
  if (leftMs > TOLD_DAYS * DAY_MS) return { outcome: 'excepted', found: findingFields };
  const isInForce = leftMs > 0;
  const ends = `${isInForce ? 'an exception allows it until' : 'its exception ended on'} ${exception?.until}`;
  const withException = exception
    ? { ...findingFields, message: `${findingFields.message} (${ends}: ${exception.reason})` }
    : findingFields;
  if (isInForce) return { outcome: 'warned', found: withException };
  const enforcements = [...entries, policy].map(
    ({ enforcement, enforcementOf }) => enforcementOf?.[rule] ?? enforcement,
  );
  const isWarned = reach !== 'closed' && enforcements.find((word) => word !== undefined) === 'warn';
  return { outcome: isWarned ? 'warned' : 'denied', found: withException };
}
