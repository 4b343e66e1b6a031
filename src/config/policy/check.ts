/**
 * The policy over all RunnerGroups of a run: every rule of the two tables, and everything that they deny. Pure: no file, no clock, no
 * environment. A group is denied as a whole, and with it the run: half of an Application would prune the other half.
 *
 * Also the entry of lib/policy.cjs, which is loaded only when a policy is named (scripts/build.mjs). It answers with data and throws
 * nothing: a `Failure` of that part would be none to the rest of the program.
 */

import { quoted } from '../runnergroup/problems.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import {
  type ApplicationRule,
  type Asker,
  allowedBy,
  type Denial,
  type Finding,
  finding,
  type GroupRule,
  NONE,
  type RuleName,
} from './denial.ts';
import { matchesAny, matchesGlob } from './glob.ts';
import { destinations, namespaces, scopes, secrets } from './namespace-rules.ts';
import {
  images,
  podTemplateFields,
  priorityClasses,
  registries,
  securityProfile,
  serviceAccounts,
} from './pod-rules.ts';
import { normalRepository } from './repository.ts';
import type { Policy } from './schema.ts';

/** Rules of the policy that are skipped: nobody tells what they need, and nobody of Argo CD asks. */
export function skippedRules(policy: Policy, { isArgoCd, project, repository }: Asker): readonly RuleName[] {
  if (isArgoCd) return [];
  const told = { projects: project, repositories: repository } as const;
  return (['projects', 'repositories'] as const).filter(
    (rule) => policy[rule] !== undefined && told[rule] === undefined,
  );
}

const projects: ApplicationRule = ({ projects: allowed }, _, { isArgoCd, project }) => {
  if (allowed === undefined) return NONE;
  if (project === undefined) return isArgoCd ? notTold('ARGOCD_APP_PROJECT_NAME') : NONE;
  if (matchesAny(allowed, project)) return NONE;
  return finding(
    '',
    `the Argo CD project is ${quoted(project)}; ${allowedBy(allowed)}. Move the Application, or ask for its project to be allowed`,
  );
};

const repositories: ApplicationRule = ({ repositories: allowed }, _, { isArgoCd, repository }) => {
  if (allowed === undefined) return NONE;
  if (repository === undefined) return isArgoCd ? notTold('ARGOCD_APP_SOURCE_REPO_URL') : NONE;
  const normal = normalRepository(repository);
  const patterns = allowed.flatMap((pattern) => normalRepository(pattern) ?? []);
  if (normal !== undefined && matchesAny(patterns, normal)) return NONE;
  return finding(
    '',
    `the repository of the Application is not among those that the policy allows. Commit the RunnerGroups to one of them, or ask for this one to be allowed`,
  );
};

/** The sum of the groups' caps, so that the promise holds whatever happens; the planner needs to know nothing of it. */
const maxActiveRunners: ApplicationRule = ({ maxActiveRunners: most }, groups) => {
  const sum = groups.reduce((total, group) => total + group.maxActiveRunners, 0);
  if (most === undefined || sum <= most) return NONE;
  return finding(
    'spec.maxActiveRunners',
    `is ${sum} over all ${groups.length} RunnerGroups; the policy allows ${most}. Lower it in some of them`,
  );
};

function notTold(variable: string): readonly Finding[] {
  return finding(
    '',
    `${variable} is not set, so this Application cannot be judged. It needs a newer Argo CD, or a policy without this rule`,
  );
}

const APPLICATION_RULES: readonly (readonly [RuleName, ApplicationRule])[] = [
  ['projects', projects],
  ['repositories', repositories],
  ['maxActiveRunners', maxActiveRunners],
];

export { readPolicyFile } from './read.ts';

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
export function checkApplication(policy: Policy, groups: readonly RunnerGroup[], asker: Asker): readonly Denial[] {
  return APPLICATION_RULES.flatMap(([rule, judge]) =>
    judge(policy, groups, asker).map((finding) => ({ rule, ...finding })),
  );
}

/** Rules about one group. */
export function checkGroup(policy: Policy, group: RunnerGroup, asker: Asker): readonly Denial[] {
  const { namespace, name, place } = group;
  const who = { name: `${namespace}/${name}`, place };
  return GROUP_RULES.flatMap(([rule, judge]) =>
    judge(policy, group, asker).map((finding) => ({ rule, group: who, ...finding })),
  );
}

/** All denials: those of the Application first, then by group in their order. None: everything is allowed. */
export function check(policy: Policy, groups: readonly RunnerGroup[], asker: Asker): readonly Denial[] {
  return [...checkApplication(policy, groups, asker), ...groups.flatMap((group) => checkGroup(policy, group, asker))];
}

/** The base URL as it is written; undefined: no entry fits. The first entry that fits counts. */
export function boundTo({ tokenBindings = [] }: Policy, namespace: string, secret: string): string | undefined {
  return tokenBindings.find((entry) => entry.secret === secret && matchesGlob(entry.namespace, namespace))?.url;
}
