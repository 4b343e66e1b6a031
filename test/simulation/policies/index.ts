import { EXACT } from './exact.ts';
import { QUEUED_AND_RUNNING, QUEUED_ONLY } from './naive.ts';
import { OURS_ALONE, OURS_LIVE } from './ours.ts';
import type { Policy } from './policy.ts';
import { REMEMBERING } from './remembering.ts';
import { SEED_OPERATOR } from './seed-operator.ts';

/** All policies, by their name in the table. */
export const POLICIES = {
  'ours, Gitea alone': OURS_ALONE,
  'ours, live Jobs': OURS_LIVE,
  exact: EXACT,
  'Gitea alone, with a memory': REMEMBERING,
  'seed operator': SEED_OPERATOR,
  'naive: queued': QUEUED_ONLY,
  'naive: queued and running': QUEUED_AND_RUNNING,
} as const satisfies Readonly<Record<string, Policy>>;

export type PolicyName = keyof typeof POLICIES;
export const POLICY_NAMES = Object.keys(POLICIES) as readonly PolicyName[];
/** Policies that must keep every law. */
export const OURS: readonly PolicyName[] = ['ours, Gitea alone', 'ours, live Jobs'];
