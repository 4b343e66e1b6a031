/** One word for what a job does, to sort by and to filter by. */
import type { JobDecision, RunnerDecision } from '../../planner/decisions.ts';

/** The worst first: the order of the table. */
export const JOB_STATES = ['unserved', 'held', 'starting', 'blocked', 'running'] as const;

/**
 * - `unserved`: it gets no runner until somebody acts. No group has its labels, its group is suspended or has a cap of 0, its runners fail,
 *   the pod of its runner cannot start or all slots are taken by such pods, Argo CD does not create its runner's Job, or its repository
 *   has Actions switched off (known only of a job or run that was asked about).
 * - `held`: it waits for a slot, or it has no labels.
 * - `starting`: it has a runner that has not taken it yet.
 * - `blocked`: Gitea holds it back.
 * - `running`: a runner works on it.
 */
export type JobState = (typeof JOB_STATES)[number];

/** What `byState` compares. */
interface Sorted {
  readonly state: JobState;
  readonly because?: string;
}

/** The worst first. Jobs that have stopped come before jobs whose labels no group has: those may be typos. */
export function byState(a: Sorted, b: Sorted): number {
  return rank(a) - rank(b);
}

function rank({ state, because }: Sorted): number {
  return JOB_STATES.indexOf(state) + (because === 'labels-not-covered' ? 0.5 : 0);
}

/** What the state depends on besides the decision. */
export interface StateFacts {
  /** By `namespace/name`. */
  readonly groups: ReadonlyMap<string, { readonly cap: number; readonly cannotStart: number }>;
  /** Runners by name. */
  readonly runners: ReadonlyMap<string, RunnerDecision>;
}

/** @param decision about a job that has not finished. */
export function stateOf(decision: Exclude<JobDecision, { readonly verdict: 'done' }>, facts: StateFacts): JobState {
  switch (decision.verdict) {
    case 'running':
      return 'running';
    case 'served': {
      const runner = facts.runners.get(decision.runner);
      return runner?.emit && runner.trouble?.isLate ? 'unserved' : 'starting';
    }
    case 'held':
      return heldState(decision, facts);
    default:
      return decision satisfies never;
  }
}

function heldState({ because, group }: JobDecision & { readonly verdict: 'held' }, { groups }: StateFacts): JobState {
  switch (because) {
    case 'blocked':
      return 'blocked';
    case 'labels-not-covered':
    case 'suspended':
    case 'backing-off':
      return 'unserved';
    case 'cap': {
      const { cap, cannotStart } = groups.get(`${group?.namespace}/${group?.name}`) ?? { cap: 1, cannotStart: 0 };
      // No slot comes free: there is none, or all are taken by runners that cannot start.
      return cannotStart >= cap ? 'unserved' : 'held';
    }
    case 'no-labels':
      return 'held';
    case 'served-elsewhere':
      return 'starting';
    default:
      return because satisfies never;
  }
}
