/**
 * What happens in `serve`, as data. Metrics and log subscribe to it.
 *
 *     leader, ports, watches, sweep ─► Tell ─► each subscriber, in one turn
 *
 * An event holds no token, header or body. To add a subscriber: write it in `subscribers/`, and add it to the list in `src/cli/serve.ts`.
 */
import type { WakeStep } from '../clients/argocd/wake.ts';
import type { RequestLine } from '../clients/http/request.ts';
import type { PodStep } from '../clients/kubernetes/pod-step.ts';
import type { RunnerGroupObject } from '../clients/kubernetes/resources.ts';
import type { NotifyTarget } from '../config/runnergroup/notify-fields.ts';
import type { LostJob } from '../config/runnergroup/status.ts';
import type { Look } from '../planner/evidence.ts';
import type { Failure } from '../shared/failure.ts';
import type { DropReason } from '../tasks/losses/decide.ts';
import type { JobNotice, NotifyResult } from '../tasks/notify/notice.ts';
import type { SweptRegistration } from '../tasks/sweep/sweep.ts';
import type { SpansLost } from '../telemetry/tracing/sink.ts';
import type { LiveRunner } from './planning/live.ts';
import type { EndedWait } from './planning/waiting-times.ts';
import type { QueueRow } from './queue.ts';
import type { AppVerdict } from './round.ts';
import type { WakeOutcome } from './waking/wake-state.ts';
import type { RefusalReason, WebhookEvent } from './webhook/gate.ts';

export type ServeEvent =
  /** All ports listen. */
  | { readonly is: 'serving'; readonly ports: Ports }
  /** This process leads from now on. */
  | { readonly is: 'leading' }
  | { readonly is: 'not-leading' }
  /** A signal asks this process to end. */
  | { readonly is: 'ending'; readonly signal: string }
  /** A mistake of ours; the process ends. Its message may hold anything, so only its kind and place are told. */
  | { readonly is: 'mistake'; readonly error: string; readonly at: readonly string[] }

  /** Somebody asks for it: what is under way and what is due. */
  | { readonly is: 'queue'; readonly rows: readonly QueueRow[] }

  /** A request was answered, or was not. */
  | { readonly is: 'gitea-request'; readonly line: RequestLine }
  | { readonly is: 'argocd-request'; readonly line: RequestLine }
  | { readonly is: 'cluster-failed'; readonly failure: Failure }
  /** `event`: what an accepted delivery has told; only the leading process has it. */
  | { readonly is: 'webhook'; readonly result: WebhookResult; readonly event?: WebhookEvent }
  /** A connection was closed because too many were open. */
  | { readonly is: 'connection-dropped'; readonly listener: Listener }
  /** The webhook secrets cannot be read; those of before stay valid. */
  | { readonly is: 'secrets-unreadable'; readonly failure: Failure }

  /** A look has ended. With `failure` it failed, else `look` is what it found. */
  | {
      readonly is: 'looked';
      readonly origin: string;
      /** Key of the target, and base URL of its Gitea. */
      readonly target: string;
      readonly url: string;
      readonly beganMs: number;
      readonly endedMs: number;
      readonly failure?: Failure;
      readonly look?: Look;
    }
  /** A look or a sweep had to wait for the request budget of this Gitea. */
  | { readonly is: 'visit-waited'; readonly origin: string; readonly ms: number }
  /** So many scopes share one Gitea that looks wait longer than the poll interval. Told once a minute at most. */
  | { readonly is: 'looks-late'; readonly origin: string; readonly scopes: number }

  /** One Application was planned and compared with its Jobs. */
  | { readonly is: 'planned'; readonly verdict: AppVerdict; readonly ms: number }
  /** Told with each plan that is concerned. @see `src/observe/clock-correction.ts` */
  | {
      readonly is: 'clocks-differ';
      readonly code: string;
      readonly message: string;
      readonly origins: readonly string[];
    }
  /** A CI job was first seen on a runner of ours. */
  | { readonly is: 'job-started'; readonly wait: EndedWait }
  /** A runner's Job has completed, failed or is being deleted. Told once per Job by one leader, and not of those that ended before it led. */
  | { readonly is: 'runner-ended'; readonly runner: LiveRunner }
  /** A runner was lost with its CI job. Not `isNoted`: its group has too many losses already, so this job is not re-run. */
  | {
      readonly is: 'runner-lost';
      readonly object: RunnerGroupObject;
      readonly lost: LostJob;
      readonly isNoted: boolean;
    }
  /** What became of a lost CI job. With `failed` it is tried again. */
  | {
      readonly is: 'rerun';
      readonly object: RunnerGroupObject;
      readonly lost: LostJob;
      readonly outcome: RerunOutcome;
      readonly failure?: Failure;
    }
  /** A CI job of a group that notifies somebody has ended on one of its runners. Told once by one leader. */
  | { readonly is: 'job-ended'; readonly notice: JobNotice; readonly notify: readonly NotifyTarget[] }
  /** What became of a notification. */
  | {
      readonly is: 'notified';
      readonly to: 'slack' | 'webhook';
      readonly result: NotifyResult;
      readonly failure?: Failure;
    }
  /** A round is over: everything is as these verdicts say. */
  | {
      readonly is: 'round-done';
      readonly verdicts: readonly AppVerdict[];
      /** Kubernetes' clock minus Gitea's, ms, by origin of the Gitea. */
      readonly skews: ReadonlyMap<string, number>;
    }

  /** Argo CD was woken for an Application, after it had waited so long for its turn. */
  | {
      readonly is: 'woken';
      readonly application: string;
      readonly outcome: WakeOutcome;
      /** What was asked of Argo CD, in its order. */
      readonly steps: readonly WakeStep[];
      readonly ms: number;
      readonly waitedMs: number;
    }
  /** The cluster shows the plan, so long after the begin of the wake. */
  | { readonly is: 'plan-shown'; readonly application: string; readonly ms: number }
  /** A watch told of a Job of ours: it was created or has changed. Not of those that a list showed. */
  | { readonly is: 'job-seen'; readonly uid: string; readonly namespace: string; readonly name: string }
  /** A watch told of a pod of such a Job. */
  | { readonly is: 'pod-seen'; readonly jobUid: string; readonly step: PodStep }
  /** Spans of traces were lost: the collector did not take them, or too many waited for it. */
  | { readonly is: 'spans-lost'; readonly spans: number; readonly reason: SpansLost }
  /** Argo CD did not tell the state of an Application. */
  | { readonly is: 'ask-failed'; readonly application: string; readonly failure: Failure }
  /** A registration token was written into a Secret of these groups, or could not be (registration/). */
  | {
      readonly is: 'registration-token';
      readonly objects: readonly RunnerGroupObject[];
      /** `<namespace>/<name>`. */
      readonly secret: string;
      readonly outcome: TokenOutcome;
      /** With `failed`. */
      readonly failure?: Failure;
    }
  /** Dead rows that a pass has left, or only counted. */
  | { readonly is: 'dead-registrations'; readonly rows: readonly Pick<SweptRegistration, 'namespace' | 'group'>[] }
  | { readonly is: 'registration-deleted'; readonly gitea: string; readonly runner: string }
  /** A sweep failed: `all` of it, or a `part`. */
  | { readonly is: 'sweep-failed'; readonly failure: Failure; readonly of: 'all' | 'part' };

/** The event of one kind. */
export type EventOf<Is extends ServeEvent['is']> = Extract<ServeEvent, { readonly is: Is }>;

/**
 * - `rerun`: Gitea has taken the request.
 * - `failed`: it has not, or its answer cannot be used.
 * - `expired`: for a day the run was not done, or the requests failed.
 * - `returned`: the node of the runner answers again.
 */
export type RerunOutcome = DropReason | 'rerun' | 'failed' | 'expired' | 'returned';
export type TokenOutcome = 'written' | 'failed';
export type Listener = 'webhooks' | 'metrics' | 'probes';
/** The real ports. */
export type Ports = Readonly<Record<Listener, number>>;
export type WebhookResult = 'accepted' | 'forwarded' | RefusalReason;

/** Hears every event. It must return soon and not throw: the work of `serve` waits for it. */
export type Subscriber = (event: ServeEvent) => void;
export type Tell = (event: ServeEvent) => void;

/** Tells all of them, in their order. */
export function tellAll(subscribers: readonly Subscriber[]): Tell {
  return (event) => {
    for (const subscriber of subscribers) subscriber(event);
  };
}
