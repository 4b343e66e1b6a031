/** Labels that no group covers for a job, although groups have them: in another scope, or not all in one group. */
import { describeScope } from '../../clients/gitea/endpoints.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { hasJobsOf } from '../../config/runnergroup/scope.ts';
import type { GroupKey, JobDecision } from '../../planner/decisions.ts';
import { keyText } from '../../shared/key-text.ts';

/** Where the labels of an uncovered job are. */
export type LabelsElsewhere =
  /** One group has all of them, but its scope or its Gitea does not have the job. */
  | { readonly is: 'other-scope'; readonly group: GroupKey; readonly scope: string; readonly gitea?: string }
  /** Each is in a group that has the job, but no group has all. */
  | { readonly is: 'several-groups'; readonly places: readonly { readonly label: string; readonly group: GroupKey }[] };

/** Undefined: the job is covered, or a label is in no group. */
export function labelsElsewhere(decision: JobDecision, groups: readonly RunnerGroup[]): LabelsElsewhere | undefined {
  if (decision.verdict !== 'held' || decision.because !== 'labels-not-covered') return undefined;
  const { job, origin } = decision;
  const [owner = '', repo = ''] = job.repository.split('/');
  const labels = [...new Set(job.labels)];
  const has = (group: RunnerGroup, label: string): boolean => group.labels.some(({ name }) => name === label);
  const isHere = ({ giteaUrl, scope }: RunnerGroup): boolean => giteaUrl === origin && hasJobsOf(scope, owner, repo);
  const other = groups.find((group) => !isHere(group) && labels.every((label) => has(group, label)));
  if (other) {
    const isOtherGitea = other.giteaUrl !== origin;
    return {
      is: 'other-scope',
      group: keyOf(other),
      scope: describeScope(other.scope),
      ...(isOtherGitea && { gitea: other.giteaUrl }),
    };
  }
  const places = labels.flatMap((label) => {
    const group = groups.find((each) => isHere(each) && has(each, label));
    return group ? [{ label, group: keyOf(group) }] : [];
  });
  return labels.length > 1 && places.length === labels.length ? { is: 'several-groups', places } : undefined;
}

function keyOf({ namespace, name }: RunnerGroup): GroupKey {
  return { namespace, name };
}

/** The words after the labels: why a group that has them does not count. */
export function elsewhereText(elsewhere: LabelsElsewhere, repository: string): string {
  switch (elsewhere.is) {
    case 'other-scope': {
      const { group, scope, gitea } = elsewhere;
      const where = gitea === undefined ? `its scope, ${scope}, does not have ${repository}` : `it is for ${gitea}`;
      return `${keyText(group)} has them, but ${where}`;
    }
    case 'several-groups': {
      const places = elsewhere.places.map(({ label, group }) => `${label} is in ${keyText(group)}`);
      return `no group has all of them: ${places.join(', ')}`;
    }
    default:
      return elsewhere satisfies never;
  }
}

/** What to do. */
export function elsewhereAdvice(elsewhere: LabelsElsewhere, repository: string): string {
  switch (elsewhere.is) {
    case 'other-scope':
      return `widen the scope of ${keyText(elsewhere.group)}, or add a RunnerGroup with these labels whose scope has ${repository}`;
    case 'several-groups':
      return 'one runner must have all labels of runs-on: add the others to spec.labels of one group, or ask for fewer in the workflow';
    default:
      return elsewhere satisfies never;
  }
}
