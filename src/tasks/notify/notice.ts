/** What is told about a CI job that has ended. Names come from authors of workflows: each kind of message escapes them. */
import type { JobResult } from '../../clients/gitea/job-ends.ts';
import type { NotifyTarget } from '../../config/runnergroup/notify-fields.ts';
import { printable } from '../../shared/printable.ts';

export interface JobNotice {
  readonly namespace: string;
  readonly group: string;
  /** Base URL of the Gitea. */
  readonly gitea: string;
  /** `owner/name`. */
  readonly repository: string;
  /** File of the workflow, e.g. `ci.yml`; absent when Gitea did not tell. */
  readonly workflow?: string;
  /** Name of the CI job, one printable line. */
  readonly job: string;
  readonly jobId: number;
  readonly attempt: number;
  readonly result: JobResult;
  /** Page of the CI job; may be empty. */
  readonly url: string;
  /** Name of the runner, and of its Kubernetes Job. */
  readonly runner: string;
  /** Until when its pod is kept for a look, ms since 1970; absent: it is not. */
  readonly keptUntilMs?: number;
}

/**
 * `sent`, `failed` and `dropped`: the end of a message. `refused`: it never began, the configuration does not allow it. `unknown`: Gitea did
 * not tell how the job ended. `retried`: an attempt failed. `extend-failed`: the button of a message could not do its work.
 * `unconnected`: no press of a button can come over socket mode.
 */
export type NotifyResult =
  | 'sent'
  | 'failed'
  | 'dropped'
  | 'refused'
  | 'unknown'
  | 'retried'
  | 'extend-failed'
  | 'unconnected';

const LONGEST_NAME = 200;
const HALF_CHARACTER = /\p{Cs}$/u;

/** A name as it may stand in a message: one printable line of bounded length. */
export function shortName(name: string): string {
  const line = printable(name);
  return line.length > LONGEST_NAME ? `${line.slice(0, LONGEST_NAME).replace(HALF_CHARACTER, '')}…` : line;
}

/** True when this end is one that the target wants to know of. */
export function wants({ on }: Pick<NotifyTarget, 'on'>, { result }: Pick<JobNotice, 'result'>): boolean {
  return on === 'always' || on === result;
}
