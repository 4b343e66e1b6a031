/**
 * The policy over all RunnerGroups of a run: every rule of the two tables, and everything that they deny. Pure: no file, no clock, no
 * environment. A group is denied as a whole, and with it the run: half of an Application would prune the other half.
 */
import { maxActiveRunners, projects, repositories } from './application-rules.ts';
import type { ApplicationRule, Asker, Denial, GroupRule, PolicedGroup, RuleName } from './denial.ts';
import { destinations, namespaces, scopes, secrets } from './namespace-rules.ts';
import {
  images,
  podTemplateFields,
  priorityClasses,
  registries,
  securityProfile,
  serviceAccounts,
} from './pod-rules.ts';
import type { Policy } from './schema.ts';

const APPLICATION_RULES: readonly (readonly [RuleName, ApplicationRule])[] = [
  ['projects', projects],
  ['repositories', repositories],
  ['maxActiveRunners', maxActiveRunners],
];

const GROUP_RULES: readonly (readonly [RuleName, GroupRule])[] = [
  ['namespaces', namespaces],
  ['namespaces.destinations', destinations],
  ['namespaces.scopes', scopes],
  ['namespaces.secrets', secrets],
  ['images', images],
  ['registries', registries],
  ['securityProfile', securityProfile],
  ['podTemplateFields', podTemplateFields],
  ['priorityClasses', priorityClasses],
  ['serviceAccounts', serviceAccounts],
];

/** Rules about the Application as a whole: a denial concerns all of its groups. */
export function checkApplication(policy: Policy, groups: readonly PolicedGroup[], asker: Asker): readonly Denial[] {
  return APPLICATION_RULES.flatMap(([rule, judge]) =>
    judge(policy, groups, asker).map((finding) => ({ rule, ...finding })),
  );
}

/** Rules about one group. */
export function checkGroup(policy: Policy, group: PolicedGroup, asker: Asker): readonly Denial[] {
  const { namespace, name, place } = group;
  const who = { name: `${namespace}/${name}`, place };
  return GROUP_RULES.flatMap(([rule, judge]) =>
    judge(policy, group, asker).map((finding) => ({ rule, group: who, ...finding })),
  );
}

/** All denials: those of the Application first, then by group in their order. None: everything is allowed. */
export function check(policy: Policy, groups: readonly PolicedGroup[], asker: Asker): readonly Denial[] {
  return [...checkApplication(policy, groups, asker), ...groups.flatMap((group) => checkGroup(policy, group, asker))];
}
