/**
 * Wakes one Application so that its plugin runs and what it printed is applied:
 *
 *   read ─► does it manage one of these RunnerGroups? ── no ──────────────────────────► foreign
 *             │ yes; is it left alone (annotation `skip-reconcile`)? ── yes ───────────► error
 *             │ no; has an operation run for long? ── yes: read until it is over ───────► busy (after 30 s at most)
 *             │ no
 *   refresh (before it a normal one, when another one was under way: ours would be lost in that)
 *             │ no answer within 5 s: read every 5 s, too: an answer may be lost
 *             │ nothing within a minute: change the annotation and ask again, for Argo CD may have overlooked it
 *             ├─ an error that stops, or Unknown ─────────────────────────────────────► error
 *             ├─ manages none of them any more ───────────────────────────────────────► foreign
 *             ├─ Synced ──────────────────────────────────────────────────────────────► in-sync
 *             └─ OutOfSync ─► is another operation under way? ─┬─ no: sync with prune ► synced
 *                              ▲                               │
 *                              └─ read after 0.5 s, 1 s, … 5 s ┴─ yes ────────────────► busy (after 30 s)
 *
 * Why so: a sync after a failed refresh would apply older manifests and wipe the error away (seen with 3.5: it answers
 * 200 and says "successfully synced"). So the refreshed Application decides. All who can write a RunnerGroup can forge its tracking
 * annotation. So nothing, not even a refresh, happens to an Application that does not list one of the RunnerGroups.
 *
 * A refresh costs Argo CD seconds of a processor. So a late one is waited for, and so is the end of another operation, by reads.
 * Otherwise a busy Argo CD would refresh for ever, and nobody would sync. To ask again before a comparison has ended costs nothing: it
 * takes the annotation away.
 *
 * No answer can prove that no other refresh came in between the read and ours. So the caller repeats until the cluster shows what it
 * wants. `in-sync` is what Argo CD says; it does not prove that the cluster shows the plan.
 */
import type { AppError, AppState } from '../../clients/argocd/app-state.ts';
import type { ApplicationRef, ObjectRef } from '../../clients/argocd/application.ts';
import type { ArgoCd, RefreshKind } from '../../clients/argocd/argocd.ts';
import { Deadline } from '../../clients/http/request.ts';
import { pause } from '../../shared/clock.ts';
import { Failure, isOfConnection, isRateLimit, orFailure } from '../../shared/failure.ts';
import { secondsText } from '../../shared/printable.ts';

/** `app` is the Application as it was seen last, before the sync. */
export type WakeResult =
  /** Argo CD could not generate or compare; nothing was synced, everything stays. At least one error. */
  | { readonly is: 'error'; readonly errors: readonly AppError[]; readonly app: AppState }
  /** The cluster holds what the plugin printed. */
  | { readonly is: 'in-sync'; readonly app: AppState }
  /** The Application manages none of the RunnerGroups. Nothing was done. */
  | { readonly is: 'foreign'; readonly app: AppState }
  /** A sync was started. */
  | { readonly is: 'synced'; readonly app: AppState }
  /** Another operation is under way, which may or may not apply the new output. Wake again when it has ended. */
  | { readonly is: 'busy'; readonly app: AppState };

/** A request of a wake. Times are ms since 1970. */
export type WakeStep = Readonly<{ step: keyof WakeTarget; beganMs: number; endedMs: number }>;

/** A wake that is read again and again notes its first ones. */
const MOST_STEPS = 100;

/** Returns a target that notes each request in `steps`. Once `signal` is aborted it sends no more. */
export function recordSteps(argocd: WakeTarget, steps: WakeStep[], signal: AbortSignal): WakeTarget {
  const { clock } = argocd;
  const note = async <T>(step: keyof WakeTarget, work: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const beganMs = clock.now();
    try {
      return await work();
    } finally {
      if (steps.length < MOST_STEPS) steps.push({ step, beganMs, endedMs: clock.now() });
    }
  };
  return {
    clock,
    read: (app, deadline) => note('read', () => argocd.read(app, deadline)),
    refresh: (app, deadline, how) => note('refresh', () => argocd.refresh(app, deadline, how)),
    sync: (app, deadline) => note('sync', () => argocd.sync(app, deadline)),
  };
}

/** The part of `ArgoCd` that waking needs. */
export type WakeTarget = Pick<ArgoCd, 'clock' | 'read' | 'refresh' | 'sync'>;

/** Returns what follows from a refreshed Application: the end, or a sync. Pure. */
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

const PATIENCE = {
  /** How long a wake waits for the answer to a refresh, ms. Proxies end a request after a minute. */
  answerMs: 30_000,
  /** Time between reads of the Application during and after the refresh, and before it is requested again. */
  readEveryMs: 5_000,
  askAgainMs: 60_000,
  /** How long a wake waits for another operation, and its first pause. Later ones grow up to `readEveryMs`. */
  busyMs: 30_000,
  syncEveryMs: 500,
};
export type WakePatience = Readonly<typeof PATIENCE>;

interface WakeLimits {
  /** End of the wait for a late refresh. */
  readonly deadline: Deadline;
  /** Called before each wait for another operation: from then on the wake costs Argo CD next to nothing. */
  readonly onBusy?: () => void;
  readonly patience?: WakePatience;
}

/** Wakes an Application once. Two calls must not overlap: the second refresh would be lost. @param groups those that name it; one real one is enough @throws Failure */
export async function wake(
  argocd: WakeTarget,
  app: ApplicationRef,
  groups: readonly ObjectRef[],
  { deadline, onBusy = () => undefined, patience = PATIENCE }: WakeLimits,
): Promise<WakeResult> {
  const before = await argocd.read(app, shortly(argocd, deadline));
  if (!groups.some(before.manages)) return { is: 'foreign', app: before };
  if (before.isSkipped) return { is: 'error', errors: before.errors, app: before };
  const oneWake = { argocd, app, deadline, patience, onBusy };
  if (hasLastedLong(before, patience)) {
    let latest = before;
    for await (latest of watchApplication(oneWake, before)) if (!latest.isOperating) break;
    return { is: 'busy', app: latest };
  }
  // A request that Argo CD has overlooked is answered with this one.
  const current = before.refreshPending ? await refresh(oneWake, 'normal', before) : before;
  let now = await refresh(oneWake, 'hard', current);
  for await (now of watchApplication(oneWake, now)) {
    const verdict = afterRefresh(now, groups);
    if (verdict !== 'sync') return verdict;
    const mayStart = !now.isOperating && (await argocd.sync(app, new Deadline(ANSWER_MS, argocd.clock)));
    if (mayStart === 'started') return { is: 'synced', app: now };
  }
  return { is: 'busy', app: now };
}

/** True if an operation lasts long, by the controller's clock: a refresh beside it would soon be old. */
function hasLastedLong({ isOperating, operation, reconciledAtMs = 0 }: AppState, { busyMs }: WakePatience): boolean {
  return isOperating && reconciledAtMs - (operation?.startedAtMs ?? reconciledAtMs) > busyMs;
}

/** The Application now, and again and again until the time for another operation is over. */
async function* watchApplication(oneWake: OneWake, first: AppState): AsyncGenerator<AppState, void> {
  const { argocd, app, deadline, onBusy, patience } = oneWake;
  const until = new Deadline(Math.min(patience.busyMs, deadline.remainingMs()), argocd.clock);
  let state = first;
  for (let ms = patience.syncEveryMs; ; ms = Math.min(2 * ms, patience.readEveryMs)) {
    yield state;
    if (until.remainingMs() <= patience.syncEveryMs) return;
    onBusy();
    await pause(argocd.clock, Math.min(ms, until.remainingMs()));
    state = (await unless(isAway, argocd.read(app, shortly(argocd, deadline)))) ?? state;
  }
}

type OneWake = Required<WakeLimits> & Readonly<{ argocd: WakeTarget; app: ApplicationRef }>;

async function refresh(oneWake: OneWake, kind: RefreshKind, before: AppState): Promise<AppState> {
  const { argocd, app, deadline, patience } = oneWake;
  for (let earlier = before; ; ) {
    const state = await askOnce(oneWake, kind, earlier);
    if (state) return state;
    if (deadline.remainingMs() <= patience.readEveryMs) throw notDone(app, deadline);
    const now = await unless(isAway, argocd.read(app, shortly(argocd, deadline)));
    if (now && isDone(now, earlier)) return now;
    if (!now?.refreshPending) continue;
    // Argo CD is slow, or has overlooked the request: the same one again would change nothing.
    const changed = shortly(argocd, deadline, CHANGED_MS);
    earlier = (await unless(isLate, argocd.refresh(app, changed, 'normal'))) ?? earlier;
  }
}

/** The refreshed Application: as the answer or a read beside it shows it. Undefined: neither does within `askAgainMs`. */
async function askOnce(
  { argocd, app, deadline, patience: { answerMs, askAgainMs, readEveryMs } }: OneWake,
  kind: RefreshKind,
  before: AppState,
): Promise<AppState | undefined> {
  const limit = shortly(argocd, deadline, askAgainMs);
  const end = new AbortController();
  const read = async (): Promise<AppState | undefined> => {
    for (let quiet = 0; quiet < QUIET_READS; ) {
      await pause(argocd.clock, Math.min(readEveryMs, limit.remainingMs()), end.signal);
      if (end.signal.aborted || limit.remainingMs() === 0) return undefined;
      // The API server of Argo CD may be busy or starting.
      const state = await unless(isAway, argocd.read(app, shortly(argocd, limit, ANSWER_MS, end.signal)));
      if (state && isDone(state, before)) return state;
      // The request was lost on its way, or done within the second of the last comparison: times are whole seconds.
      if (state && !state.refreshPending) quiet += 1;
    }
    return undefined;
  };
  try {
    const answer = unless(isLate, argocd.refresh(app, shortly(argocd, limit, answerMs, end.signal), kind));
    const shown = read();
    return await Promise.race([answer.then((state) => state ?? shown), shown]);
  } finally {
    end.abort();
  }
}

function isLate({ kind }: Failure): boolean {
  return kind === 'timeout';
}

/** True if the comparison has ended. One that was given up keeps the old time, but shows an error. */
function isDone({ errors, reconciledAtMs, refreshPending }: AppState, before: AppState): boolean {
  return !refreshPending && (reconciledAtMs !== before.reconciledAtMs || errors.some(({ stops }) => stops));
}

/** Returns the answer. Undefined: it failed, and `isSuch` is true for the failure. Other failures are thrown. */
async function unless(isSuch: (failure: Failure) => boolean, answer: Promise<AppState>): Promise<AppState | undefined> {
  const state = await orFailure(answer);
  if (!(state instanceof Failure)) return state;
  if (!isSuch(state)) throw state;
  return undefined;
}

/** Time limit of a read or a sync, ms. Argo CD answers both at once: a longer request is lost. */
export const ANSWER_MS = 30_000;
/** After so many reads that show neither a refresh nor its result, the refresh is requested again. */
const QUIET_READS = 2;
/** Time limit of a request whose only aim is that the Application changes, ms. */
const CHANGED_MS = 1_000;

function shortly({ clock }: WakeTarget, deadline: Deadline, ms = ANSWER_MS, signal?: AbortSignal): Deadline {
  return new Deadline(Math.min(ms, deadline.remainingMs()), clock, signal);
}

/** True if Argo CD cannot be reached or does not work at the moment. It recovers by itself. */
export function isAway(failure: Failure): boolean {
  return isOfConnection(failure) || isRateLimit(failure) || failure.kind === 'server-error';
}

function notDone({ name }: ApplicationRef, { ms }: Deadline): Failure {
  const message = `refresh Application ${name}: Argo CD has not done it within ${secondsText(ms)}. See whether argocd-application-controller and argocd-repo-server run, and look at their load and log.`;
  return new Failure('GR-ARGOCD-14', 1, message);
}
