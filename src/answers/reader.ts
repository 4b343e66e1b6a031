/**
 * Words are made for a reader (docs/adr/0080): what of an explanation somebody may be told. Sentences are made of what is left.
 *
 *     explain ............ everything
 *     the page ........... what Gitea lets the person read; pods of groups that the person owns
 *     a commit status .... what everybody may know who reads the repository of the job
 */
import type { GroupKey, RunnerDecision } from '../planner/decisions.ts';
import type { PodTrouble } from '../planner/evidence.ts';
import { keyText } from '../shared/keys.ts';
import { type ExplainedJob, groupOfJob, type NotCreated } from './model.ts';
import { USUAL } from './not-created.ts';

export interface Audience {
  readonly mayRead: (repository: string) => boolean;
  /** Who does may know its pods: nodes, registries, quotas. @param group its key */
  readonly owns: (group: string) => boolean;
}

export const STRANGER: Audience = { mayRead: () => false, owns: () => false };

/** Everybody who may read this repository. */
export function readersOf(repository: string): Audience {
  return { ...STRANGER, mayRead: (other) => other.toLowerCase() === repository.toLowerCase() };
}

/** The whole text may name addresses, repositories of others, and what Argo CD says of the Application. */
const NOT_READY: NotCreated = {
  why: 'its runner cannot be started: owners of the group see why',
  next: 'tell an owner of the group',
  isUnserved: true,
};

/** @param job of a repository that the readers may read */
export function jobForReader(job: ExplainedJob, reader: Audience): ExplainedJob {
  const { ended, notCreated } = job;
  const why = notCreated && { notCreated: notCreated.isUnserved ? NOT_READY : USUAL };
  const isOwn = ownsGroup(groupOfJob(job), reader);
  const shown = isOwn ? job : { ...job, ...(ended && { ended: wordOf(ended) }), ...why };
  if (shown.verdict !== 'held') return shown;
  const { elsewhere, holders, next, limit, ...rest } = shown;
  const { of, others, ...most } = limit ?? { most: 0 };
  const isOfTold =
    of !== undefined && (`${job.job.repository.toLowerCase()}/`.startsWith(`${of}/`) || reader.mayRead(of));
  const isElsewhereTold = elsewhere?.is !== 'other-scope' || ownsGroup(elsewhere.group, reader);
  return {
    ...rest,
    ...(holders && {
      holders: holders
        .filter(({ repository }) => reader.mayRead(repository))
        .map((each) => podForReader(each, shown.group, reader)),
    }),
    ...(limit && { limit: { ...most, ...(isOfTold && { of }), ...(isOwn && others && { others }) } }),
    ...(next !== undefined && reader.mayRead(next) && { next }),
    ...(isElsewhereTold ? elsewhere && { elsewhere } : { missing: shown.missing ?? job.job.labels }),
  };
}

export function runnerForReader(decision: RunnerDecision, reader: Audience): RunnerDecision {
  if (!decision.emit) return decision;
  const { job, ...rest } = decision;
  return { ...podForReader(rest, decision.group, reader), ...(job && reader.mayRead(job.repository) && { job }) };
}

type PodWords = Partial<Record<'end' | 'trouble', PodTrouble>> & { readonly offline?: object };

/** What says how the pod of a runner of this group does. */
export function podForReader<T extends PodWords>(of: T, group: GroupKey | undefined, reader: Audience): T {
  if (ownsGroup(group, reader)) return of;
  return {
    ...of,
    ...(of.end && { end: wordOf(of.end) }),
    ...(of.trouble && { trouble: wordOf(of.trouble) }),
    ...(of.offline && { offline: {} }),
  };
}

function ownsGroup(group: GroupKey | undefined, { owns }: Audience): boolean {
  return group !== undefined && owns(keyText(group));
}

/** Kubernetes' word stays. The rest names nodes, containers, registries and quotas. */
function wordOf<T extends PodTrouble>({ message: _, node: __, container: ___, ...word }: T) {
  return word;
}
