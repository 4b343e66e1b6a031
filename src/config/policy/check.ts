/**
 * The policy over all RunnerGroups of a run. A group is denied as a whole, and no other with it (docs/adr/0081).
 *
 * Also the entry of lib/policy.cjs, which is loaded only when a policy is named (scripts/build.mjs). It answers with data and throws
 * nothing: a `Failure` of that part would be none to the rest of the program.
 */
import { quoted } from '../runnergroup/problems.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { withSizes } from '../runnergroup/sizes.ts';
import {
  type ApplicationRule,
  type Asker,
  allowedBy,
  type Denial,
  type Finding,
  finding,
  NONE,
  type RuleName,
} from './denial.ts';
import { matchesAny, matchesGlob, normalRepository } from './patterns.ts';
import { entryOf, GROUP_RULES, wordsFor } from './rules.ts';
import type { Policy } from './schema.ts';

export { readPolicyFile } from './schema.ts';

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
  const message = `the Argo CD project is ${quoted(project)}; ${allowedBy(allowed)}. Move the Application, or ask for its project to be allowed`;
  return finding('', message);
};

const NOT_ALLOWED =
  'the repository of the Application is not among those that the policy allows. Commit the RunnerGroups to one of them, or ask for this one to be allowed';

const repositories: ApplicationRule = ({ repositories: allowed }, _, { isArgoCd, repository }) => {
  if (allowed === undefined) return NONE;
  if (repository === undefined) return isArgoCd ? notTold('ARGOCD_APP_SOURCE_REPO_URL') : NONE;
  const normal = normalRepository(repository);
  const patterns = allowed.flatMap((pattern) => normalRepository(pattern) ?? []);
  if (normal !== undefined && matchesAny(patterns, normal)) return NONE;
  return finding('', NOT_ALLOWED);
};

/** The sum of the groups' caps, so that the promise holds whatever happens; the planner needs to know nothing of it. */
const maxActiveRunners: ApplicationRule = ({ maxActiveRunners: most }, groups) => {
  const sum = groups.reduce((total, group) => total + group.maxActiveRunners, 0);
  if (most === undefined || sum <= most) return NONE;
  const message = `is ${sum} over all ${groups.length} RunnerGroups; the policy allows ${most}. Lower it in some of them`;
  return finding('spec.maxActiveRunners', message);
};

function notTold(variable: string): ReturnType<typeof finding> {
  const message = `${variable} is not set, so this Application cannot be judged. It needs a newer Argo CD, or a policy without this rule`;
  return finding('', message);
}

const APPLICATION_RULES: readonly (readonly [RuleName, ApplicationRule])[] = [
  ['projects', projects],
  ['repositories', repositories],
  ['maxActiveRunners', maxActiveRunners],
];

/** Rules about the Application as a whole: a denial concerns all of its groups. */
function checkApplication(policy: Policy, groups: readonly RunnerGroup[], asker: Asker): readonly Denial[] {
  return APPLICATION_RULES.flatMap(([rule, judge]) => judge(policy, groups, asker).map((one) => ({ rule, ...one })));
}

function checkGroup(policy: Policy, group: RunnerGroup, asker: Asker): readonly Denial[] {
  return GROUP_RULES.flatMap(([rule, judge]) => {
    const [own = NONE, ...ofSizes] = withSizes(group).map((each) =>
      judge(policy, each, asker).map((one) => ofSize(each, one)),
    );
    const told = new Set(own.map(({ path, message }) => path + message));
    const more = ofSizes.flat().filter(({ path, message }) => !told.has(path + message));
    return [...own, ...more].map((one) => ({ rule, group, ...one }));
  });
}

/** What is wrong with the podTemplate or the resources of a size is told there. */
function ofSize({ size }: RunnerGroup, { path, message }: Finding): Finding {
  const written = size?.of.sizes[size.index];
  const [, field] = /^spec\.(podTemplate|resources)/.exec(path) ?? [];
  const isOwn = field !== undefined && written?.[field as 'podTemplate' | 'resources'] !== undefined;
  return { path: isOwn ? path.replace('spec.', `spec.sizes[${size?.index}].`) : path, message };
}

/**
 * Those of the whole Application first, then by group in their order. None: everything is allowed.
 * A group that is denied does not count for the others: what it asks for must not deny them.
 */
export function check(policy: Policy, groups: readonly RunnerGroup[], asker: Asker): readonly Denial[] {
  const own = groups.flatMap((group) => checkGroup(policy, group, asker));
  const denied = new Set(own.map(({ group }) => group));
  const sound = groups.filter((group) => !denied.has(group));
  return [...checkApplication(policy, sound, asker), ...own];
}

/** What tokens of groups may be used for. Of several entries that fit, the first one counts. */
export function tokenBounds(policy: Policy) {
  const { tokenBindings = [] } = policy;
  return {
    boundTo: (namespace: string, secret: string) =>
      tokenBindings.find((entry) => entry.secret === secret && matchesGlob(entry.namespace, namespace))?.url,
    reachOf: (namespace: string) => {
      const allowed = entryOf(policy, { namespace })?.scopes;
      const covers = (owner: string, repo: string) =>
        ['global', ...wordsFor({ kind: 'repo', owner, repo })].some((word) => matchesAny(allowed ?? [], word));
      return allowed && { id: allowed.join(' '), covers };
    },
  };
}
