/** Labels and annotations of a runner's Job (interface.md §4). Every value is a string; the emitter quotes it. */
import type { EmittedRunner } from '../plan/decisions.ts';
import { parseRunnerName } from '../plan/names.ts';

/** Text by key, as labels and annotations are. */
export type Texts = Readonly<Record<string, string>>;

const MANAGER = 'argocd-gitea-runners';
/** Far below Kubernetes' 256 KiB for all annotations together; longer than any page of Gitea. */
const TEXT_LIMIT = 2048;
/** Control and format characters, line and paragraph separators, lone surrogates: they steer terminals or break readers. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Labels that all Jobs and pods of a group carry. */
export function groupLabels(groupName: string): Texts {
  return {
    'app.kubernetes.io/managed-by': MANAGER,
    'app.kubernetes.io/name': 'gitea-runner',
    'gitea.bpg.pw/managed-by': MANAGER,
    'gitea.bpg.pw/runnergroup-name': groupName,
  };
}

/** Labels that follow from the runner's name alone; none for a warm-pool runner, whose name holds job id 0. */
export function runnerLabels(runner: string): Texts {
  const parts = parseRunnerName(runner);
  if (!parts || parts.jobId === 0) return {};
  return { 'gitea.bpg.pw/job-id': String(parts.jobId), 'gitea.bpg.pw/run-attempt': String(parts.attempt) };
}

/** How Argo CD is to treat a Job, and the CI job that it is for. */
export type Treatment = Pick<EmittedRunner, 'pinned' | 'skip' | 'job'>;

/**
 * Annotations of the Job object, never of its pod template: they may change while the Job lives.
 * A repository's unprintable characters become `?`; an address that is no plain http(s) URL, or too long, is left out,
 * because half a link is worse than none.
 */
export function jobAnnotations({ pinned, skip, job }: Treatment): Texts {
  return {
    'argocd.argoproj.io/compare-options': pinned ? 'IgnoreExtraneous' : '',
    // No hook: the word by which Argo CD leaves an object as it is, and does not make it either.
    'argocd.argoproj.io/hook': skip ? 'Skip' : '',
    'argocd.argoproj.io/ignore-healthcheck': 'true',
    'argocd.argoproj.io/sync-options': pinned ? 'Prune=false' : '',
    'gitea.bpg.pw/job-url': plainUrl(job?.url ?? ''),
    'gitea.bpg.pw/repository': (job?.repository ?? '').replace(UNPRINTABLE, '?').slice(0, TEXT_LIMIT),
  };
}

function plainUrl(url: string): string {
  return url.length <= TEXT_LIMIT && /^https?:\/\/[\x21-\x7e]+$/.test(url) ? url : '';
}

/** The entries with a value, sorted by key: object order is output order. */
export function present(...parts: readonly Texts[]): Texts {
  const entries = parts.flatMap((part) => Object.entries(part)).filter(([, value]) => value !== '');
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
