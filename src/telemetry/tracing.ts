/**
 * Follows CI jobs from the queue to their runners, and hands each one's spans on when it has come there. Only the leader follows jobs: a new
 * one begins with those that it sees queued.
 */
import { LRUCache } from 'lru-cache';
import type { PodStep } from '../clients/kubernetes/pods.ts';
import type { JobDecision } from '../planner/decisions.ts';
import type { Look } from '../planner/evidence.ts';
import type { EventOf, ServeEvent, Subscriber } from '../serve/events.ts';
import type { AppVerdict } from '../serve/round.ts';
import { keyText } from '../shared/key-text.ts';
import { type Journey, type JourneyEnd, type PastWake, type RunnerTrail, spansOf } from './journey.ts';
import type { SpanSink } from './tracing/span.ts';
import { contextOf } from './tracing/span.ts';

/** CI jobs that wait, and announcements of them. What is beyond is not traced: the least recently seen ones are forgotten. */
const MOST_JOURNEYS = 10_000;
const MOST_TRAILS = 10_000;
const MOST_APPLICATIONS = 1_000;
const MOST_WAKES = 32;
/** The kubelet tells late that a container runs. A journey that has ended waits so long for it. */
const LATE_MS = 3_000;

/** @param now ms since 1970. */
export function traceTo(sink: Pick<SpanSink, 'record'>, now: () => number): Subscriber {
  const follower = new Follower(sink, now);
  return (event) => follower.hear(event);
}

class Follower {
  readonly #sink: Pick<SpanSink, 'record'>;
  readonly #now: () => number;
  /** By `<url> <job> <attempt>`. */
  readonly #journeys = new LRUCache<string, Journey>({ max: MOST_JOURNEYS });
  /** When a webhook told so, by `<repository> <job> <status>`. */
  readonly #announced = new LRUCache<string, number>({ max: MOST_JOURNEYS });
  /** By uid of the Job, and its uid by `<namespace>/<name>`. */
  readonly #trails = new LRUCache<string, RunnerTrail>({ max: MOST_TRAILS });
  readonly #uids = new LRUCache<string, string>({ max: MOST_TRAILS });
  readonly #wakes = new LRUCache<string, readonly PastWake[]>({ max: MOST_APPLICATIONS });
  readonly #plannedMs = new LRUCache<string, number>({ max: MOST_APPLICATIONS });
  /** By target. The same object: nothing has changed. */
  readonly #looks = new LRUCache<string, Look>({ max: MOST_APPLICATIONS });
  /** Verdicts of the last round. */
  #judged: ReadonlySet<AppVerdict> = new Set();
  #ended = new Map<string, { readonly journey: Journey; readonly end: JourneyEnd }>();

  constructor(sink: Pick<SpanSink, 'record'>, now: () => number) {
    this.#sink = sink;
    this.#now = now;
  }

  hear(event: ServeEvent): void {
    switch (event.is) {
      case 'webhook':
        if (event.event) this.#announced.set(announcementOf(event.event), this.#now());
        return;
      case 'looked':
        if (event.look) this.#looked(event, event.look);
        return;
      case 'planned':
        this.#plannedMs.set(event.verdict.application, this.#now());
        return;
      case 'round-done':
        this.#decided(event);
        this.#hand(this.#now() - LATE_MS);
        return;
      case 'woken':
        this.#woken(event);
        return;
      case 'job-seen':
        if (this.#trails.has(event.uid)) return;
        this.#trails.set(event.uid, { name: event.name, seenMs: this.#now(), steps: {} });
        this.#uids.set(keyText(event), event.uid);
        return;
      case 'pod-seen':
        this.#stepped(event.jobUid, event.step);
        return;
      case 'ending':
      case 'queue':
        this.#hand(Number.POSITIVE_INFINITY);
        return;
      case 'not-leading':
        this.#hand(Number.POSITIVE_INFINITY);
        this.#journeys.clear();
        this.#looks.clear();
        this.#judged = new Set();
        return;
      default:
      // Most events are not about the way of a CI job.
    }
  }

  #looked({ target, url, beganMs, endedMs }: EventOf<'looked'>, look: Look): void {
    if (this.#looks.get(target) === look) return;
    this.#looks.set(target, look);
    const active = new Set<string>();
    for (const { attempt, id, repository, runId, status } of look.jobs) {
      const stay = { origin: url, jobId: id, attempt };
      const key = keyOf(stay);
      if (status === 'queued' || status === 'in_progress') active.add(key);
      if (status !== 'queued' || this.#journeys.has(key)) continue;
      const announcedMs = this.#announced.get(announcementOf({ repository, jobId: id, status }));
      const announced = announcedMs !== undefined && announcedMs <= endedMs && { announcedMs };
      this.#journeys.set(key, { stay, runId, repository, target, look: { beganMs, endedMs }, ...announced });
    }
    for (const [key, journey] of this.#journeys) {
      if (journey.target === target && !active.has(key)) this.#end(key, journey, { is: 'gone', atMs: endedMs });
    }
  }

  #decided({ verdicts }: EventOf<'round-done'>): void {
    const judged = this.#judged;
    this.#judged = new Set(verdicts);
    if (this.#journeys.size === 0) return;
    for (const verdict of verdicts) {
      const { application, planning } = verdict;
      // A verdict that has not changed is the same object. A new journey begins with a new look, and that with new verdicts.
      if (planning.is !== 'planned' || judged.has(verdict)) continue;
      const untraced = new Set(verdict.groups.flatMap(({ live }) => (live.group?.tracing === false ? [live.key] : [])));
      for (const decision of planning.plan.jobs) {
        const { job, origin } = decision;
        const key = keyOf({ origin, jobId: job.id, attempt: job.attempt });
        const journey = this.#journeys.get(key);
        if (!journey) continue;
        const group = 'group' in decision && decision.group ? keyText(decision.group) : undefined;
        const found = group === undefined ? journey : { ...journey, group, isUntraced: untraced.has(group) };
        this.#follow(key, found, decision, application);
      }
    }
  }

  #follow(key: string, journey: Journey, decision: JobDecision, application: string): void {
    const now = this.#now();
    const plannedMs = journey.plannedMs ?? Math.max(this.#plannedMs.get(application) ?? now, journey.look.endedMs);
    switch (decision.verdict) {
      case 'held':
        // Another Application may serve it.
        if (journey.servedMs === undefined) this.#journeys.set(key, { ...journey, plannedMs, held: decision.because });
        return;
      case 'served': {
        const isFirst = journey.plannedMs === undefined;
        const servedMs = journey.servedMs ?? (isFirst ? plannedMs : now);
        this.#journeys.set(key, { ...journey, plannedMs, servedMs, application });
        return;
      }
      case 'running': {
        const { group, job } = decision;
        if (!group || job.runner === undefined) return;
        const told = this.#announced.get(
          announcementOf({ repository: job.repository, jobId: job.id, status: 'in_progress' }),
        );
        const atMs = told !== undefined && told >= journey.look.beganMs ? told : now;
        this.#end(key, { ...journey, application }, { is: 'running', atMs, runner: job.runner });
        return;
      }
      case 'done':
        this.#end(key, journey, { is: 'gone', atMs: now });
        return;
      default:
        decision satisfies never;
    }
  }

  #woken({ application, outcome, ms, steps, waitedMs }: EventOf<'woken'>): void {
    const endedMs = this.#now();
    const wake: PastWake = { beganMs: endedMs - ms, endedMs, waitedMs, outcome: outcome.is, steps };
    this.#wakes.set(application, [...(this.#wakes.get(application) ?? []), wake].slice(-MOST_WAKES));
  }

  #stepped(uid: string, step: PodStep): void {
    const trail = this.#trails.get(uid);
    if (!trail || trail.steps[step] !== undefined) return;
    this.#trails.set(uid, { ...trail, steps: { ...trail.steps, [step]: this.#now() } });
  }

  #end(key: string, journey: Journey, end: JourneyEnd): void {
    this.#journeys.delete(key);
    this.#ended.set(key, { journey, end });
  }

  /** Hands on those that ended before this time. */
  #hand(beforeMs: number): void {
    for (const [key, { journey, end }] of this.#ended) {
      const trail = end.is === 'running' ? this.#trailOf(journey, end.runner) : undefined;
      const isWhole = end.is === 'gone' || trail?.steps.started !== undefined;
      if (!isWhole && end.atMs > beforeMs) continue;
      this.#ended.delete(key);
      if (journey.isUntraced) continue;
      const wakes = this.#wakes.get(journey.application ?? '') ?? [];
      this.#sink.record(spansOf(journey, end, trail, wakes), contextOf(journey.stay));
    }
  }

  #trailOf({ group = '' }: Journey, runner: string): RunnerTrail | undefined {
    const [namespace = ''] = group.split('/');
    const uid = this.#uids.get(keyText({ namespace, name: runner }));
    return uid === undefined ? undefined : this.#trails.get(uid);
  }
}

function keyOf({ origin, jobId, attempt }: Journey['stay']): string {
  return `${origin} ${jobId} ${attempt}`;
}

function announcementOf(
  told:
    | { readonly repository: string; readonly jobId: number; readonly status: string }
    | { readonly owner: string; readonly repo: string; readonly jobId: number; readonly status: string },
): string {
  const repository = 'repository' in told ? told.repository : `${told.owner}/${told.repo}`;
  return `${repository.toLowerCase()} ${told.jobId} ${told.status}`;
}
