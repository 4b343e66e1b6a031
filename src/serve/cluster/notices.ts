/** What Kubernetes Events say of a RunnerGroup: pods that cannot start, lost runners, re-runs, registration tokens. Pure. */
import type { RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import type { LostJob } from '../../config/runnergroup/status.ts';
import type { EventOf, ServeEvent } from '../events.ts';
import { stuckText } from '../planning/stuck-pods.ts';
import type { AppVerdict } from '../round.ts';

/** One Event. */
export interface Notice {
  readonly object: RunnerGroupObject;
  /** What it is about: one Event for each subject and cause. */
  readonly subject: string;
  readonly cause: string;
  readonly type: 'Normal' | 'Warning';
  /** Kubernetes' word for programs. */
  readonly reason: string;
  readonly message: string;
}

/** Pods that cannot start. */
export function stuckNotices(verdicts: readonly AppVerdict[]): readonly Notice[] {
  return verdicts.flatMap(({ groups }) =>
    groups.flatMap(({ live, counts }) =>
      (counts?.stuck ?? []).map(
        (pod): Notice => ({
          object: live.object,
          subject: pod.runner,
          cause: pod.trouble.reason,
          type: 'Warning',
          reason: pod.failed ? 'WorkerPodStartFailed' : 'WorkerPodStuckPending',
          message: stuckText(pod),
        }),
      ),
    ),
  );
}

/** Of an event; none: nothing that people must know. */
export function noticesOf(event: ServeEvent): readonly Notice[] {
  if (event.is === 'registration-token') return tokenNotices(event);
  const notice = noticeOf(event);
  return notice ? [notice] : [];
}

/** One for each group that registers its runners with this Secret. */
function tokenNotices({ failure, objects, secret }: EventOf<'registration-token'>): readonly Notice[] {
  const what = failure
    ? ({
        type: 'Warning',
        reason: 'RegistrationTokenFailed',
        cause: failure.code,
        message: `cannot fill Secret ${secret}: ${failure.code} ${failure.message}`,
      } as const)
    : ({
        type: 'Normal',
        reason: 'RegistrationTokenWritten',
        cause: 'written',
        message: `filled Secret ${secret} with the registration token`,
      } as const);
  return objects.map((object) => ({ object, subject: secret, ...what }));
}

function noticeOf(event: ServeEvent): Notice | undefined {
  if (event.is === 'runner-lost') {
    const { lost, object } = event;
    return warning(object, lost, 'RunnerLost', `${lost.reason}: its CI job, ${jobText(lost)}, cannot end`);
  }
  if (event.is !== 'rerun') return undefined;
  const { failure, lost, object, outcome } = event;
  switch (outcome) {
    case 'rerun':
      return { ...warning(object, lost, 'LostJobRerun', `re-ran ${jobText(lost)}`), type: 'Normal' };
    case 'exhausted':
      return warning(
        object,
        lost,
        'EvictionRetriesExhausted',
        `${jobText(lost)} is not re-run again: maxEvictionRetries`,
      );
    case 'failed':
      return warning(
        object,
        lost,
        'RerunFailed',
        `cannot re-run ${jobText(lost)}: ${failure?.code} ${failure?.message}`,
      );
    case 'expired':
      return warning(object, lost, 'RerunFailed', `gave up ${jobText(lost)}: it could not be re-run for a day`);
    case 'returned':
    case 'superseded':
    case 'not-failed':
      return undefined;
    default:
      return outcome satisfies never;
  }
}

function warning(object: RunnerGroupObject, lost: LostJob, reason: string, text: string): Notice {
  const message = `${lost.runner}: ${text}`;
  return { object, subject: `${lost.runner} ${lost.jobId}`, cause: reason, type: 'Warning', reason, message };
}

function jobText({ jobId, repository, runId }: LostJob): string {
  return `job ${jobId} of run ${runId} in ${repository}`;
}
