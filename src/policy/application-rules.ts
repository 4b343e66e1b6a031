/** Rules about an Application as a whole: who it is, and how many runners it may have. */
import { type ApplicationRule, allowedBy, NONE, shown } from './denial.ts';
import { matchesAny } from './glob.ts';
import { normalRepository } from './repository.ts';

/** Fields of a policy that only Argo CD's variables can answer. */
export const ARGOCD_RULES = ['projects', 'repositories'] as const;

export const projects: ApplicationRule = ({ projects: allowed }, _, { isArgoCd, project }) => {
  if (allowed === undefined || !isArgoCd) return NONE;
  if (project === undefined) return [{ path: '', message: notTold('ARGOCD_APP_PROJECT_NAME') }];
  if (matchesAny(allowed, project)) return NONE;
  return [
    {
      path: '',
      message: `the Argo CD project is ${shown(project)}; ${allowedBy(allowed)}. Move the Application, or ask for its project to be allowed`,
    },
  ];
};

export const repositories: ApplicationRule = ({ repositories: allowed }, _, { isArgoCd, repository }) => {
  if (allowed === undefined || !isArgoCd) return NONE;
  if (repository === undefined) return [{ path: '', message: notTold('ARGOCD_APP_SOURCE_REPO_URL') }];
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

function notTold(variable: string): string {
  return `${variable} is not set, so this Application cannot be judged. It needs a newer Argo CD, or a policy without this rule`;
}
