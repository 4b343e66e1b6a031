/** Tasks and features beside looking, planning and waking. The leader gets them as a list and knows none by name. */
import type { RequestListener } from 'node:http';
import type { GiteaTarget } from '../clients/gitea/observe-gitea.ts';
import type { KubeApi } from '../clients/kubernetes/kube-client.ts';
import type { TargetOf } from '../plan/find-targets.ts';
import type { Clock } from '../shared/clock.ts';
import type { LiveCluster } from './cluster/live-cluster.ts';
import type { Giteas, GiteasOptions } from './looks/giteas.ts';
import type { TargetBook } from './looks/targets.ts';
import type { LossBook } from './losses/losses.ts';
import type { Subscriber, Tell } from './planning/events.ts';
import type { Unregistered } from './planning/group-status.ts';
import type { WorkQueue } from './queue/work-queue.ts';

export interface TaskContext {
  readonly clock: Clock;
  readonly queue: WorkQueue;
  readonly cluster: LiveCluster;
  readonly client: KubeApi;
  /** Client for Secrets only: its answers are in no log, and no other request waits for it. */
  readonly secretsClient: KubeApi;
  /** For requests to Gitea: budget and pauses hold for tasks, too. */
  readonly giteas: Giteas;
  /** False while looks at this target fail. */
  readonly isWell: (target: GiteaTarget) => boolean;
  /** Returns the look that each group needs, as of the last reconcile. */
  readonly targetOf: () => TargetOf;
  readonly losses: LossBook;
  /** Why Jobs of a group wait for the credentials of their runners, by key of the group. */
  readonly unregistered: Map<string, Unregistered>;
  readonly tell: Tell;
  readonly changed: () => void;
}

/** Everything that a feature may use. A feature runs in each process, also in one that does not lead. */
export interface FeatureContext extends GiteasOptions, Pick<TaskContext, 'cluster'> {
  readonly instance: string;
  /** Origin of the API server, as `clocks` knows it. */
  readonly kubernetes: string;
  /** Opens the list of looks that the groups need, for a feature that looks at Gitea itself. */
  readonly openTargets: () => TargetBook;
  readonly random: () => number;
  /** Gives a function that answers the secrets of the moment; without a file none. @throws Failure when it cannot be read at the start. */
  readonly watchSecrets: (file: string | undefined) => Promise<() => readonly string[]>;
}

/** A part of `serve` that runs as long as the process. */
export interface Feature {
  readonly subscriber?: Subscriber;
  /** Handlers on the port of webhooks, by path. */
  readonly requests?: ReadonlyMap<string, RequestListener>;
  readonly run?: (signal: AbortSignal) => Promise<void>;
  /** Breaks off requests under way. Its queue has been closed before. */
  readonly close: () => Promise<void>;
}

/** Opens a feature. @throws Failure when it cannot begin */
export type OpenFeature = (context: FeatureContext) => Promise<Feature>;

/** Begins a task: it opens its classes in the queue, and hears what happens from then on. */
export type StartTask = (context: TaskContext) => Subscriber;
