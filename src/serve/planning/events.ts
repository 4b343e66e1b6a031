/**
 * The events of `serve` as data. Metrics and log subscribe to them.
 *
 *     leader, ports, watches, sweep ─► Tell ─► each subscriber, in one turn
 *
 * An event holds no token, header or body. To add a subscriber: write it in `src/telemetry`, and add it to the list in `src/cli/commands/serve.ts`.
 */
import type { JobResult } from '../../clients/gitea/ended-jobs.ts';
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import type { RequestLine } from '../../clients/http/request.ts';
import type { PodStep } from '../../clients/kubernetes/kube-pods.ts';
import type { RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import type { NotifyTarget, ReceiverKind } from '../../config/runnergroup/notify-fields.ts';
import type { LostJob } from '../../config/runnergroup/status.ts';
import type { Failure } from '../../shared/failure.ts';
import type { QueueRow } from '../queue/work-queue.ts';
import type { LiveRunner, Observation } from '../seen/live.ts';
import type { WakeStep } from '../waking/wake.ts';
import type { WakeOutcome } from '../waking/wake-state.ts';
import type { RefusalReason, WebhookEvent } from '../webhook/gate.ts';
import type { AppVerdict } from './reconcile.ts';

export { RUNNER_STATES, RUNNERS, type ShownState } from '../../answers/reasons.ts';
/** Exports of other rooms that subscribers need to read an event. */
export { MOST_LOST_JOBS } from '../../config/runnergroup/status.ts';
export type { HeldBecause, JobDecision, Plan, RunnerDecision } from '../../planner/decisions.ts';
export type { LiveState } from '../../planner/evidence.ts';

interface Told {
  readonly serving: { readonly ports: Ports };
  readonly leading: object;
  readonly 'not-leading': object;
  readonly ending: { readonly signal: string };
  /** A mistake in this program. The message may contain anything, so it is left out. */
  readonly mistake: { readonly error: string; readonly at: readonly string[] };
  readonly queue: { readonly rows: readonly QueueRow[] };

  readonly 'gitea-request': { readonly line: RequestLine };
  readonly 'argocd-request': { readonly line: RequestLine };
  readonly 'cluster-failed': { readonly failure: Failure };
  /** `event`: what an accepted delivery has told; only the leading process has it. */
  readonly webhook: { readonly result: WebhookResult; readonly event?: WebhookEvent };
  readonly 'connection-dropped': { readonly listener: Listener };
  /** `generate` has asked for a look, or somebody else. `late`: none was new enough in time; `busy`: too much is on its way. */
  readonly 'look-asked': { readonly result: 'given' | 'unknown' | 'late' | 'busy' };
  /** The webhook secrets cannot be read. The last ones stay valid. */
  readonly 'secrets-unreadable': { readonly failure: Failure };

  /** A look has ended. With `failure` it failed, else `look` is what it found. `target`: its key; `url`: of its Gitea. */
  readonly looked: Pick<Observation, 'beganMs' | 'endedMs' | 'failure' | 'look'> &
    Record<'origin' | 'target' | 'url', string>;
  /** A look or a sweep had to wait for the request budget of this Gitea. `lateScopes`: a look that so many scopes delay beyond the poll interval. */
  readonly 'visit-waited': { readonly origin: string; readonly ms: number; readonly lateScopes?: number };

  readonly planned: { readonly verdict: AppVerdict; readonly ms: number };
  /** A runner's Job has completed, failed or is being deleted. Told once per Job by one leader, and not of those that ended before it led. */
  readonly 'runner-ended': { readonly runner: LiveRunner };
  /** A runner was lost with its CI job. Not `isNoted`: its group has too many losses already, so this job is not re-run. */
  readonly 'runner-lost': OfLoss & { readonly isNoted: boolean };
  /** Result of the re-run of a lost CI job. With `failed` it is tried again. */
  readonly rerun: OfLoss & { readonly outcome: RerunOutcome; readonly failure?: Failure };
  /** A CI job of a group that notifies somebody has ended on one of its runners. Told once by one leader. */
  readonly 'job-ended': { readonly notice: JobNotice; readonly notify: readonly NotifyTarget[] };
  readonly notified: { readonly to: ReceiverKind; readonly result: NotifyResult; readonly failure?: Failure };
  /** A reconcile is over: everything is as these verdicts say. `skews`: Kubernetes' clock minus Gitea's, ms, by origin of the Gitea. */
  readonly reconciled: { readonly verdicts: readonly AppVerdict[]; readonly skews: ReadonlyMap<string, number> };

  /** Argo CD was woken. `waitedMs`: until its turn. `steps`: the requests to Argo CD, in order. */
  readonly woken: {
    readonly application: string;
    readonly outcome: WakeOutcome;
    readonly steps: readonly WakeStep[];
    readonly ms: number;
    readonly waitedMs: number;
  };
  /** The cluster shows the plan, so long after the begin of the wake. */
  readonly 'plan-shown': { readonly application: string; readonly ms: number };
  readonly 'ask-failed': { readonly application: string; readonly failure: Failure };
  /** A watch reported a Job of ours (`job`) or its pod, by the Job's uid and name. A list tells no event. */
  readonly 'runner-seen': Readonly<Record<'uid' | 'namespace' | 'name', string>> & { readonly step: 'job' | PodStep };
  /** Spans of traces were lost: the collector did not take them, or too many waited for it. */
  readonly 'spans-lost': { readonly spans: number; readonly reason: SpansLost };
  /** A token was written into a Secret (`<namespace>/<name>`) of these groups. With `failure`: it could not be. */
  readonly 'registration-token': Readonly<{ objects: readonly RunnerGroupObject[]; secret: string; failure?: Failure }>;
  /** Result of registering one runner by `serve`. With `failure` it is tried again. */
  readonly 'runner-registration': {
    readonly object: RunnerGroupObject;
    readonly runner: string;
    readonly result: RegistrationResult;
    readonly failure?: Failure;
  };
  /** Rows of runners that `serve` has registered at this level may be left in Gitea. `isGuess`: by a leader before this one, if at all. */
  readonly 'row-left': Readonly<{ object: RunnerGroupObject; target: GiteaTarget; at: string; isGuess?: true }>;
  /** A commit status was set that says why a CI job waits, or that it does not any more. With `failure`: it could not be. */
  readonly 'commit-status': { readonly repository: string; readonly failure?: Failure };
  /** The page for developers has no newer figures. Its readers are not told why. */
  readonly 'page-look-failed': { readonly message: string };
  readonly 'dead-registrations': { readonly rows: readonly Readonly<Record<'namespace' | 'group', string>>[] };
  readonly 'registration-deleted': { readonly gitea: string; readonly runner: string };
  /** A sweep failed: `all` of it, or a `part`. */
  readonly 'sweep-failed': { readonly failure: Failure; readonly of: 'all' | 'part' };
}

type OfLoss = Readonly<{ object: RunnerGroupObject; lost: LostJob }>;

export type EventOf<Is extends keyof Told> = { readonly is: Is } & Told[Is];
export type ServeEvent = { readonly [Is in keyof Told]: EventOf<Is> }[keyof Told];

/** Names come from authors of workflows: each kind of message escapes them. A plain webhook sends it as it is (docs/notifications.md). */
export interface JobNotice {
  readonly namespace: string;
  readonly group: string;
  readonly gitea: string;
  readonly repository: string;
  /** File of the workflow, e.g. `ci.yml`; absent when Gitea did not tell. */
  readonly workflow?: string;
  /** Name of the CI job, one printable line. */
  readonly job: string;
  readonly jobId: number;
  readonly attempt: number;
  readonly result: JobResult;
  readonly url: string;
  /** Name of the runner, and of its Kubernetes Job. */
  readonly runner: string;
  /** Until when the pod of the runner is kept for people, ms since 1970. Absent: it is not kept. */
  readonly keptUntilMs?: number;
}

/**
 * The result of a notification. `sent`, `failed` and `dropped`: a message ended. `refused`: the configuration does not
 * allow it, so it never began. `unknown`: Gitea did not tell how the job ended. `retried`: one attempt failed.
 * `extend-failed`: the button of a message failed. `unconnected`: no connection is open over which a button could be
 * pressed.
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

/** `handed-over`: its Job has the credentials. */
type RegistrationResult = 'registered' | 'handed-over' | 'failed';

/** `queue`: too many waited for the collector. `collector`: it did not take them. */
export type SpansLost = 'queue' | 'collector';

/**
 * - `superseded`: the job was re-run meanwhile, by a person or by a leader before us.
 * - `not-failed`: it has succeeded, or was cancelled.
 * - `exhausted`: it failed, and was re-run too often already.
 */
export type DropReason = 'superseded' | 'not-failed' | 'exhausted';

/**
 * - `ended`: Gitea has ended it at once, so that it can be re-run.
 * - `rerun`: Gitea has taken the request.
 * - `failed`: it has not, or its answer cannot be used.
 * - `expired`: for a day the run was not done, or the requests failed.
 * - `returned`: the node of the runner answers again.
 */
export type RerunOutcome = DropReason | 'ended' | 'rerun' | 'failed' | 'expired' | 'returned';
export type Listener = keyof Ports;
/** Looks are given where that is asked for. */
export type Ports = Readonly<Record<'webhooks' | 'metrics' | 'probes', number> & Partial<Record<'looks', number>>>;
type WebhookResult = 'accepted' | 'forwarded' | RefusalReason;

/** Receives every event. It must return soon and must not throw: the work of `serve` waits for it. */
export type Subscriber = (event: ServeEvent) => void;
export type Tell = Subscriber;

type Handlers = { readonly [Is in ServeEvent['is']]?: (event: EventOf<Is>) => void };

export function subscriberOf(handlers: Handlers): Subscriber {
  return (event) => (handlers[event.is] as Subscriber | undefined)?.(event);
}

export function tellAll(subscribers: readonly Subscriber[]): Tell {
  return (event) => {
    for (const subscriber of subscribers) subscriber(event);
  };
}

/** Makes the event of an unexpected error: only its kind and place are told. */
export function mistakeOf(error: unknown): EventOf<'mistake'> {
  const { name, stack = '' } = error instanceof Error ? error : new Error();
  return { is: 'mistake', error: name, at: stack.split('\n').filter((line) => /^\s+at /.test(line)) };
}
