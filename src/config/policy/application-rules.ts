/** Rules about an Application as a whole: who it is, and how many runners it may have. */
import { quoted } from '../runnergroup/problems.ts';
import { type ApplicationRule, type Asker, allowedBy, type Finding, NONE, type RuleName } from './denial.ts';
import { matchesAny } from './glob.ts';
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

export const projects: ApplicationRule = ({ projects: allowed }, _, { isArgoCd, project }) => {
  if (allowed === undefined) return NONE;
  if (project === undefined) return isArgoCd ? notTold('ARGOCD_APP_PROJECT_NAME') : NONE;
  if (matchesAny(allowed, project)) return NONE;
  return [
    {
      path: '',
      message: `the Argo CD project is ${quoted(project)}; ${allowedBy(allowed)}. Move the Application, or ask for its project to be allowed`,
    },
  ];
};

export const repositories: ApplicationRule = ({ repositories: allowed }, _, { isArgoCd, repository }) => {
  if (allowed === undefined) return NONE;
  if (repository === undefined) return isArgoCd ? notTold('ARGOCD_APP_SOURCE_REPO_URL') : NONE;
  const normal = normalRepository(repository);
  const patterns = allowed.flatMap((pattern) => normalRepository(pattern) ?? []);
  if (normal !== undefined && matchesAny(patterns, normal)) return NONE;
  return [
    {
      path: '',
      message: `the repository of the Application is not among those that the policy allows. Commit the RunnerGroups to one of them, or ask for this one to be allowed`,
    },
  ];
};

/** The sum of the groups' caps, so that the promise holds whatever happens; the planner needs to know nothing of it. */
export const maxActiveRunners: ApplicationRule = ({ maxActiveRunners: most }, groups) => {
  const sum = groups.reduce((total, group) => total + group.maxActiveRunners, 0);
  if (most === undefined || sum <= most) return NONE;
  return [
    {
      path: 'spec.maxActiveRunners',
      message: `is ${sum} over all ${groups.length} RunnerGroups; the policy allows ${most}. Lower it in some of them`,
    },
  ];
};

function notTold(variable: string): readonly Finding[] {
  const message = `${variable} is not set, so this Application cannot be judged. It needs a newer Argo CD, or a policy without this rule`;
  return [{ path: '', message }];
}
