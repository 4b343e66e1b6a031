/**
 * Wakes one Application so that its plugin runs and what it printed is applied:
 *
 *   read ─► does it manage one of these RunnerGroups? ── no ──────────────────────────► foreign
 *             │ yes
 *   refresh (again, when one was under way before: ours was lost in it)
 *             │
 *             ├─ an error that stops, or Unknown ─────────────────────────────────────► error
 *             ├─ manages none of them any more ───────────────────────────────────────► foreign
 *             ├─ Synced ──────────────────────────────────────────────────────────────► in-sync
 *             └─ OutOfSync ─► sync with prune ─┬─ started ────────────────────────────► synced
 *                                              └─ another operation is under way ─────► busy
 *
 * Why so: a sync after a failed refresh would apply older manifests and wipe the error away (facts of real servers: it answers
 * 200 and says "successfully synced"), so the refreshed Application decides. The tracking annotation can be forged by all who can write
 * a RunnerGroup, so nothing, not even a refresh, happens to an Application that does not list one of them.
 *
 * No answer can prove that no other refresh came in between the read and ours. So the caller repeats until the cluster shows what it
 * wants. `in-sync` is what Argo CD says; it does not prove that the cluster shows the plan.
 */
import type { Deadline } from '../http/deadline.ts';
import type { AppError, AppState } from './app-state.ts';
import type { ApplicationRef, ObjectRef } from './application.ts';
import type { SyncStart } from './argocd.ts';

/** `app` is the Application as it was seen last, before the sync. */
export type WakeResult =
  /** Argo CD could not generate or compare; nothing was synced, everything stays. At least one error. */
  | { readonly is: 'error'; readonly errors: readonly AppError[]; readonly app: AppState }
  /** The cluster holds what the plugin printed. */
  | { readonly is: 'in-sync'; readonly app: AppState }
  /** It does not manage any of the RunnerGroups; nothing was done. */
  | { readonly is: 'foreign'; readonly app: AppState }
  /** A sync was started. */
  | { readonly is: 'synced'; readonly app: AppState }
  /** Another operation is under way, which may or may not apply the new output: wake again when it is over. */
  | { readonly is: 'busy'; readonly app: AppState };

/** The part of `ArgoCd` that waking needs. */
export interface WakeTarget {
  readonly read: (app: ApplicationRef, deadline: Deadline) => Promise<AppState>;
  readonly refresh: (app: ApplicationRef, deadline: Deadline) => Promise<AppState>;
  readonly sync: (app: ApplicationRef, deadline: Deadline) => Promise<SyncStart>;
}

/** What follows from the first look. */
export type FirstStep = 'foreign' | 'refresh' | 'refresh-twice';

/** Pure. `groups` are the RunnerGroups that name this Application as theirs; one that is really there is enough. */
export function firstStep(app: AppState, groups: readonly ObjectRef[]): FirstStep {
  if (!groups.some(app.manages)) return 'foreign';
  return app.refreshPending ? 'refresh-twice' : 'refresh';
}

/** Pure. What follows from a refreshed Application: the end, or a sync. */
export function afterRefresh(
  app: AppState,
  groups: readonly ObjectRef[],
): Exclude<WakeResult, { readonly is: 'synced' | 'busy' }> | 'sync' {
  const errors = app.errors.filter(({ stops }) => stops);
  if (errors.length > 0) return { is: 'error', errors, app };
  if (!groups.some(app.manages)) return { is: 'foreign', app };
  switch (app.sync) {
    case 'Synced':
      return { is: 'in-sync', app };
    case 'OutOfSync':
      return 'sync';
    case 'Unknown':
      return { is: 'error', errors: [NOT_COMPARED], app };
    default:
      return app.sync satisfies never;
  }
}

const NOT_COMPARED: AppError = {
  type: 'Unknown',
  message: 'Argo CD could not compare the Application and gives no reason; look at argocd-application-controller',
  stops: true,
};

/** One wake. Not for two calls at a time for one Application: the second one's refresh would be lost. Throws `Failure` (exit 1). */
export async function wake(
  argocd: WakeTarget,
  app: ApplicationRef,
  groups: readonly ObjectRef[],
  deadline: Deadline,
): Promise<WakeResult> {
  const before = await argocd.read(app, deadline);
  const first = firstStep(before, groups);
  if (first === 'foreign') return { is: 'foreign', app: before };
  if (first === 'refresh-twice') await argocd.refresh(app, deadline);
  const refreshed = await argocd.refresh(app, deadline);
  const verdict = afterRefresh(refreshed, groups);
  if (verdict !== 'sync') return verdict;
  const start = await argocd.sync(app, deadline);
  return { is: start === 'started' ? 'synced' : 'busy', app: refreshed };
}
