/**
 * Runners of somebody else under a name of our form. The owner of a repository can register a runner of any name, give it any labels, and let
 * it run any number of CI jobs. Names of ours stand in the page of every job. What such a runner does takes no place of a group.
 */
import type { Group, Job } from './evidence.ts';
import type { RunnerTraces } from './traces.ts';

interface Seen {
  readonly group: Group;
  readonly jobsWereListed: boolean;
  readonly rowsWereRead: boolean;
}

/**
 * True when two of three things speak against a runner at work of which Kubernetes shows no Job:
 *
 * - All Jobs were listed, and its own is not among them.
 * - The rows were read, and its own is not among them. Gitea deletes the row of an ephemeral runner only with the end of its CI job.
 * - Its CI job has labels that the group has not.
 *
 * One of them proves nothing. A Job may be pruned while its pod finishes, token and scope may list no rows, and labels of groups change.
 */
export function isForeign(
  { live, row }: RunnerTraces,
  { labels }: Job,
  { group, jobsWereListed, rowsWereRead }: Seen,
): boolean {
  if (live) return false;
  const against = [jobsWereListed, rowsWereRead && !row, !labels.every((label) => group.labels.includes(label))];
  return against.filter(Boolean).length >= 2;
}

/**
 * How many runners of one name work, at least 1. A Job that was re-created while its first runner works has a second one, with a row of its
 * own. Without that row the second CI job is a stranger's.
 */
export function runnersAtWork({ runs, rowIds }: RunnerTraces, { rowsWereRead }: Seen): number {
  return Math.max(1, rowsWereRead ? Math.min(runs, rowIds.length) : runs);
}
