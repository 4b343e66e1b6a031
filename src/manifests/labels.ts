/** Labels and annotations of a runner's Job. Every value is a string; the emitter quotes it. */
import type { EmittedRunner } from '../planner/decisions.ts';
import { parseRunnerName } from '../planner/names.ts';
import {
  COMPARE_OPTIONS,
  ENDED_AT,
  HOOK,
  IGNORE_EXTRANEOUS,
  IGNORE_HEALTH,
  JOB_ID,
  JOB_URL,
  KEEP_UNTIL,
  NO_PRUNE,
  REPOSITORY,
  RUN_ATTEMPT,
  SKIP,
  SYNC_OPTIONS,
  type Texts,
  timeText,
} from '../shared/marks.ts';

/** Far below Kubernetes' 256 KiB for all annotations together; longer than any page of Gitea. */
const TEXT_LIMIT = 2048;
/** Control and format characters, line and paragraph separators, lone surrogates: they steer terminals or break readers. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** Nearly every repository. Told first, because the tables of Unicode that `UNPRINTABLE` needs cost a start 1 ms. */
const ASCII = /^[\x20-\x7e]*$/;

/** Labels that follow from the runner's name alone; none for a warm-pool runner, whose name holds job id 0. */
export function runnerLabels(runner: string): Texts {
  const parts = parseRunnerName(runner);
  if (!parts || parts.jobId === 0) return {};
  return { [JOB_ID]: String(parts.jobId), [RUN_ATTEMPT]: String(parts.attempt) };
}

/** How Argo CD is to treat a Job, the CI job that it is for, and until when it stays for a look. */
export type Treatment = Pick<EmittedRunner, 'pinned' | 'skip' | 'job' | 'keep'>;

/**
 * Annotations of the Job object, never of its pod template: they may change while the Job lives.
 * A repository's unprintable characters become `?`. An address that is no plain http(s) URL, or is too long, is left out: half a
 * link is worse than none.
 */
export function jobAnnotations({ pinned, skip, job, keep }: Treatment): Texts {
  return {
    [COMPARE_OPTIONS]: pinned ? IGNORE_EXTRANEOUS : '',
    [HOOK]: skip ? SKIP : '',
    [IGNORE_HEALTH]: 'true',
    [SYNC_OPTIONS]: pinned ? NO_PRUNE : '',
    [JOB_URL]: plainUrl(job?.url ?? ''),
    [REPOSITORY]: printable(job?.repository ?? '').slice(0, TEXT_LIMIT),
    [ENDED_AT]: keep ? timeText(keep.endedAtMs) : '',
    [KEEP_UNTIL]: keep ? timeText(keep.untilMs) : '',
  };
}

function printable(text: string): string {
  return ASCII.test(text) ? text : text.replace(UNPRINTABLE, '?');
}

function plainUrl(url: string): string {
  return url.length <= TEXT_LIMIT && /^https?:\/\/[\x21-\x7e]+$/.test(url) ? url : '';
}

/** The entries with a value, sorted by key. */
export function present(part: Texts): Texts {
  return inOrder(Object.fromEntries(Object.entries(part).filter(([, value]) => value !== '')));
}

/** All entries, sorted by key: object order is output order. A label of a podTemplate may be empty. */
export function inOrder<T>(...parts: readonly Readonly<Record<string, T>>[]): Readonly<Record<string, T>> {
  const entries = parts.flatMap((part) => Object.entries(part));
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
