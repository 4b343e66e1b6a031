/** What the leading process also does, beside looking, planning and waking. The leader knows none of it: it gets a list. */

import type { GiteaTarget } from '../clients/gitea/observe.ts';
import type { KubeApi } from '../clients/kubernetes/client.ts';
import type { Clock } from '../shared/clock.ts';
import type { LossBook } from '../tasks/losses/book.ts';
import type { LiveCluster } from './cluster/live-cluster.ts';
import type { Subscriber, Tell } from './events.ts';
import type { Guest } from './looks/guest.ts';
import type { TargetOf } from './looks/targets.ts';
import type { WorkQueue } from './queue.ts';

export interface TaskContext {
  readonly clock: Clock;
  readonly queue: WorkQueue;
  readonly cluster: LiveCluster;
  readonly client: KubeApi;
  /** For requests to Gitea: its budget and pauses hold for tasks, too. */
  readonly guest: Guest;
  /** False while looks at this target fail. */
  readonly isWell: (target: GiteaTarget) => boolean;
  /** Which look each group needs, as of the last round. */
  readonly targetOf: () => TargetOf;
  readonly losses: LossBook;
  readonly tell: Tell;
  readonly changed: () => void;
}

/** Begins a task: it opens its classes in the queue, and hears what happens from then on. */
export type StartTask = (context: TaskContext) => Subscriber;
