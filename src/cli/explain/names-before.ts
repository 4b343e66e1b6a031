/** Finds repositories in RunnerGroups that have been renamed in Gitea. */
import type { ExplainedJob, Explanation } from '../../answers/model.ts';
import { nameOfRepositoryNow } from '../../clients/gitea/runs.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { findTargets } from '../../plan/find-targets.ts';
import { requestOptions, type Settings } from '../../plan/settings.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { keyText } from '../../shared/keys.ts';
import { coverOf } from '../../shared/scope.ts';

/** Most names. Each is a request to Gitea. */
const MOST_ASKED = 50;

/** Adds former names by which a group chooses a repository. Gitea answers a former name with the current one. */
export async function withNamesBefore(explanation: Explanation, groups: readonly RunnerGroup[], settings: Settings) {
  const nearest = new Set(explanation.jobs.map(nearestOf));
  const current = new Set(explanation.jobs.map(({ job }) => job.repository.toLowerCase()));
  const formerNames = new Map<string, string>();
  let requestCount = 0;
  for (const group of groups.filter((each) => nearest.has(keyText(each)))) {
    const names = namesIn(group).filter((name) => !current.has(name.toLowerCase()));
    const targetsOrFailure = names.length > 0 ? await orFailure(findTargets([group], settings)) : undefined;
    const target = targetsOrFailure instanceof Failure ? undefined : targetsOrFailure?.targets[0];
    if (!target) continue;
    for (const name of names.slice(0, MOST_ASKED - requestCount)) {
      requestCount += 1;
      const now = await orFailure(nameOfRepositoryNow(target, name, requestOptions(settings)));
      if (typeof now === 'string') formerNames.set(`${keyText(group)} ${now.toLowerCase()}`, name);
    }
  }
  const jobs = explanation.jobs.map((job): ExplainedJob => {
    const chosenBefore = formerNames.get(`${nearestOf(job)} ${job.job.repository.toLowerCase()}`);
    return chosenBefore === undefined ? job : { ...job, chosenBefore };
  });
  return { ...explanation, jobs };
}

/** The group that would cover a job if it chose its repository. Empty: the job has another reason. */
function nearestOf(job: ExplainedJob): string {
  return job.verdict === 'held' && job.because === 'repository-not-chosen' && job.nearest ? keyText(job.nearest) : '';
}

/** Whole names, without patterns. */
function namesIn({ repositories, scope }: RunnerGroup): readonly string[] {
  const [owner = ''] = (coverOf(scope) ?? '').split('/');
  return repositories
    .filter((name) => !name.includes('*'))
    .map((name) => (name.includes('/') ? name : `${owner}/${name}`));
}
