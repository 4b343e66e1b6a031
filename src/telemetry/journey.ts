/**
 * The way of one CI job from the queue to its runner, and its spans. Pure.
 *
 *     webhook ─ look ─ plan ─ held ─ wait ─ wake ─ apply ─ pod ─ schedule ─ init ─ register ─ start ─ claim
 *                                           └ read, refresh, sync
 *
 * Each phase ends where the next one begins. A phase whose end was not seen is part of the next one.
 */
import type { WakeStep } from '../clients/argocd/wake.ts';
import type { PodStep } from '../clients/kubernetes/pods.ts';
import type { HeldBecause } from '../planner/decisions.ts';
import type { WakeOutcome } from '../serve/waking/wake-state.ts';
import { printable } from '../shared/printable.ts';
import type { JobStay, SpanAttributes, SpanData } from './tracing/span.ts';

/** What is known of a CI job that waits. Times are ms since 1970 by this machine's clock. */
export interface Journey {
  readonly stay: JobStay;
  readonly runId: number;
  readonly repository: string;
  /** Key of the target whose look showed it first. */
  readonly target: string;
  /** When a webhook told that it is queued. Absent: a poll found it. */
  readonly announcedMs?: number;
  /** The look that showed it first. */
  readonly look: { readonly beganMs: number; readonly endedMs: number };
  /** The first plan that decided about it. */
  readonly plannedMs?: number;
  /** What held it back last. */
  readonly held?: HeldBecause;
  /** When it got a runner in the plan. */
  readonly servedMs?: number;
  readonly application?: string;
  /** `<namespace>/<name>` */
  readonly group?: string;
  /** Its group has `tracing: false`. */
  readonly isUntraced?: boolean;
}

/** A wake of an Application that is over. */
export interface PastWake {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly waitedMs: number;
  readonly outcome: WakeOutcome['is'];
  readonly steps: readonly WakeStep[];
}

/** When a runner's Job and pod were first seen to be so far. */
export interface RunnerTrail {
  readonly name: string;
  readonly seenMs: number;
  readonly steps: Readonly<Partial<Record<PodStep, number>>>;
}

/** How a journey ended: its CI job runs on a runner of ours, or is not queued any more for another reason. */
export type JourneyEnd =
  | { readonly is: 'running'; readonly atMs: number; readonly runner: string }
  | { readonly is: 'gone'; readonly atMs: number };

/** Names are cut here; Gitea allows 100 characters for each half of a repository's name. */
const LONGEST_TEXT = 255;

/**
 * The root span with its phases.
 * @param trail of the runner that runs the CI job; absent: its Job was there before this process watched.
 * @param wakes of the Application, oldest first.
 */
export function spansOf(
  journey: Journey,
  end: JourneyEnd,
  trail: RunnerTrail | undefined,
  wakes: readonly PastWake[],
): SpanData {
  const { announcedMs, look } = journey;
  const beganMs = Math.min(announcedMs ?? look.beganMs, look.beganMs);
  const phases = end.is === 'running' ? phasesToRunner(journey, end.atMs, trail, wakes) : phasesToPlan(journey);
  return {
    name: 'CI job waits for its runner',
    beganMs,
    endedMs: Math.max(end.atMs, beganMs),
    attributes: attributesOf(journey, end),
    children: inTurn(beganMs, phases),
  };
}

/** A phase by its end. Undefined: the end was not seen. */
interface Phase {
  readonly name: string;
  readonly untilMs: number | undefined;
  readonly attributes?: SpanAttributes;
  readonly error?: string;
  readonly children?: readonly SpanData[];
}

function phasesToPlan({ announcedMs, look, plannedMs, held, servedMs }: Journey): readonly Phase[] {
  return [
    { name: 'webhook', untilMs: announcedMs === undefined ? undefined : look.beganMs },
    { name: 'look', untilMs: look.endedMs },
    { name: 'plan', untilMs: plannedMs },
    ...(held === undefined ? [] : [{ name: 'held', untilMs: servedMs, attributes: { because: held } }]),
  ];
}

function phasesToRunner(
  journey: Journey,
  claimedMs: number,
  trail: RunnerTrail | undefined,
  wakes: readonly PastWake[],
): readonly Phase[] {
  const wake = trail && wakeFor(trail.seenMs, journey.servedMs ?? journey.look.endedMs, wakes);
  const { created, scheduled, registering, registered, started } = trail?.steps ?? {};
  return [
    ...phasesToPlan(journey),
    ...(wake ? phasesOfWake(wake) : []),
    { name: 'apply', untilMs: trail?.seenMs },
    { name: 'pod', untilMs: created },
    { name: 'schedule', untilMs: scheduled },
    { name: 'init', untilMs: registering },
    { name: 'register', untilMs: registered },
    { name: 'start', untilMs: started },
    { name: 'claim', untilMs: claimedMs },
  ];
}

function phasesOfWake({ beganMs, endedMs, waitedMs, outcome, steps }: PastWake): readonly Phase[] {
  const isBad = outcome === 'error' || outcome === 'failed' || outcome === 'foreign';
  const children = steps.map(({ step, ...times }) => ({ name: step, ...times }));
  return [
    { name: 'wait', untilMs: beganMs, attributes: { 'line.ms': waitedMs } },
    { name: 'wake', untilMs: endedMs, attributes: { outcome }, children, ...(isBad && { error: outcome }) },
  ];
}

/** The last wake that began before the Job was seen, unless it was over before the plan wanted the runner. */
function wakeFor(seenMs: number, servedMs: number, wakes: readonly PastWake[]): PastWake | undefined {
  return wakes.findLast(({ beganMs, endedMs }) => beganMs <= seenMs && endedMs >= servedMs);
}

/** What ended before the one before it, such as the pod of a runner that was there already, is left out. */
function inTurn(fromMs: number, phases: readonly Phase[]): readonly SpanData[] {
  const spans: SpanData[] = [];
  let beganMs = fromMs;
  for (const { untilMs, ...phase } of phases) {
    if (untilMs === undefined || untilMs < beganMs) continue;
    spans.push({ ...phase, beganMs, endedMs: untilMs });
    beganMs = untilMs;
  }
  return spans;
}

function attributesOf({ stay, runId, repository, application, group }: Journey, end: JourneyEnd): SpanAttributes {
  return {
    'gitea.url': stay.origin,
    'gitea.repository': printable(repository).slice(0, LONGEST_TEXT),
    'gitea.run.id': runId,
    'gitea.job.id': stay.jobId,
    'gitea.job.attempt': stay.attempt,
    ...(application && { 'argocd.application': application }),
    ...(group !== undefined && { runnergroup: group }),
    ...(end.is === 'running' && { runner: end.runner }),
    outcome: end.is,
  };
}
