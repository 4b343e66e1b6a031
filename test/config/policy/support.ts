/** A policy as its file would give it, and what it says. */
import { judge } from '../../../src/config/policy/check.ts';
import type { Asker, Denial } from '../../../src/config/policy/denial.ts';
import { type Policy, readPolicy } from '../../../src/config/policy/policy-schema.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { runnerGroup } from '../../support/runner-group.ts';

export const BY_HAND: Asker = { isArgoCd: false };

/** A policy through the reader, so that the tests use no pattern that a file could not have. @throws when it has a problem */
export function policyOf(spec: unknown): Policy {
  const read = readPolicy(
    'policy.json',
    JSON.stringify({ apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerPolicy', spec }),
  );
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  return read.policy;
}

export function denialsBy(policy: Policy, groups: readonly RunnerGroup[], asker: Asker): readonly Denial[] {
  return judge(policy, groups, asker).denials;
}

/** A group with fields that the schema would refuse. */
export type AnyGroup = Partial<Omit<RunnerGroup, 'podTemplate' | 'priorityTiers'>> & {
  readonly podTemplate?: unknown;
  readonly priorityTiers?: unknown;
};

/** Rule and field of each denial of one group: `images spec.image`. */
export function denialsOf(spec: unknown, group: AnyGroup = {}, asker: Asker = BY_HAND): readonly string[] {
  return denialsBy(policyOf(spec), [{ ...runnerGroup(), ...group } as RunnerGroup], asker).map(({ rule, path }) =>
    `${rule} ${path}`.trim(),
  );
}
