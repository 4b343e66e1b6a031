/**
 * Removes the parts of an explanation that a reader may not see (docs/adr/0080). Sentences are made from the rest.
 *
 *     explain ............ everything
 *     the page ........... what Gitea lets the person read; pods of groups that the person owns
 *     a commit status .... what everybody may know who reads the repository of the job
 */
import type { GroupKey, HoldingLimit, RunnerDecision } from '../planner/decisions.ts';
import type { PodTrouble } from '../planner/evidence.ts';
import { defined } from '../shared/defined.ts';
import { keyText } from '../shared/keys.ts';
import { type ExplainedJob, groupOfJob, type Holder, type NotCreated, type SlotDelay } from './model.ts';
import { NOT_CREATED_YET } from './not-created.ts';
import { isUnderLimit } from './reasons.ts';

export interface Audience {
  readonly mayRead: (repository: string) => boolean;
  /** An owner of the group `runners/ci` may know its pods: nodes, registries, quotas. */
  readonly owns: (group: string) => boolean;
}

export const STRANGER: Audience = { mayRead: () => false, owns: () => false };

/** Returns the readers of this repository, as one audience. */
export function readersOf(repository: string): Audience {
  return { ...STRANGER, mayRead: (other) => other.toLowerCase() === repository.toLowerCase() };
}

/** Replaces a text that may name addresses, other repositories, and messages of Argo CD about the Application. */
const NOT_READY: NotCreated = {
  why: 'its runner cannot be started: owners of the group see why',
  next: 'tell an owner of the group',
  isUnserved: true,
};

/** @param job of a repository that the readers may read */
export function jobForReader(job: ExplainedJob, reader: Audience): ExplainedJob {
  const isOwner = ownsGroup(groupOfJob(job), reader);
  const shown = isOwner ? job : jobForStrangers(job);
  if (shown.verdict !== 'held') return shown;
  const { elsewhere, holders, limit, missing, next, ...shownFields } = shown;
  const { labels, repository } = job.job;
  const isHidden = elsewhere?.is === 'other-scope' && !ownsGroup(elsewhere.group, reader);
  return {
    ...shownFields,
    ...defined({
      holders: holders && holdersForReader(holders, reader),
      limit: limit && limitForReader(limit, repository, isOwner, reader),
      next: next !== undefined && reader.mayRead(next) ? next : undefined,
      elsewhere: isHidden ? undefined : elsewhere,
      // As if no group had its labels.
      missing: missing ?? (isHidden ? labels : undefined),
    }),
  };
}

/** Returns the part of a job for people who do not own its group. */
function jobForStrangers(job: ExplainedJob): ExplainedJob {
  const { disruption, ended, notCreated, sidecar } = job;
  const whyNotCreated = notCreated?.isUnserved ? NOT_READY : NOT_CREATED_YET;
  const troubleWords = {
    disruption: disruption && wordOf(disruption),
    ended: ended && wordOf(ended),
    sidecar: sidecar && wordOf(sidecar),
  };
  return { ...job, ...defined({ ...troubleWords, notCreated: notCreated && whyNotCreated }) };
}

/** Groups that share a limit may have several owners. */
function holdersForReader(holders: readonly Holder[], reader: Audience) {
  return holders.flatMap((each) => (reader.mayRead(each.repository) ? podForReader(each, each.group, reader) : []));
}

/** Returns the part of a limit for a reader: its scope may be a repository of others, and its holders are for owners. */
function limitForReader(limit: HoldingLimit, repository: string, isOwner: boolean, reader: Audience): HoldingLimit {
  const { of: scope, others, ...limitFields } = limit;
  const mayNameLimitScope = isUnderLimit(repository, limit) || reader.mayRead(scope ?? '');
  return {
    ...limitFields,
    ...defined({ of: mayNameLimitScope ? scope : undefined, others: isOwner ? others : undefined }),
  };
}

/** Removes from a decision what the reader may not see. */
export function runnerForReader(decision: RunnerDecision, reader: Audience): RunnerDecision {
  if (!decision.emit) return decision;
  const { job, ...decisionFields } = decision;
  return {
    ...podForReader(decisionFields, decision.group, reader),
    ...(job && reader.mayRead(job.repository) && { job }),
  };
}

type PodWords = Partial<Record<'disruption' | 'end' | 'trouble', PodTrouble>> & {
  readonly offline?: SlotDelay['offline'];
};

/** Returns the part of a pod's state that a reader may see. */
export function podForReader<T extends PodWords>(pod: T, group: GroupKey | undefined, reader: Audience): T {
  if (ownsGroup(group, reader)) return pod;
  const { disruption, end, trouble, offline } = pod;
  const podWords = {
    disruption: disruption && wordOf(disruption),
    end: end && wordOf(end),
    trouble: trouble && wordOf(trouble),
    offline: offline && defined({ isGone: offline.isGone }),
  };
  return { ...pod, ...defined(podWords) };
}

function ownsGroup(group: GroupKey | undefined, { owns }: Audience): boolean {
  return group !== undefined && owns(keyText(group));
}

/** Kubernetes' word stays. The rest names nodes, containers, registries and quotas. */
function wordOf<T extends PodTrouble>({ message: _, node: __, container: ___, ...word }: T) {
  return word;
}
