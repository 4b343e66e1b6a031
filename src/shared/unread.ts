/** Words about queued jobs that were left out of a look. */

/** A round number: a status is written when its words change. */
export function unreadText(jobs: number): string {
  return `about ${Number(jobs.toPrecision(1))} queued jobs were not read, because there are too many`;
}

export const UNREAD_ADVICE =
  'cancel the runs that nobody needs, in Gitea under Actions of the repository that has most of them';
