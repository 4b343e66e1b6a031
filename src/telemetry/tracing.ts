/**
 * Follows CI jobs from the queue to their runners, and hands each one's spans on when it has come there. Only the leader follows jobs: a new
 * one begins with those that it sees queued.
 *
 *     webhook ─ look ─ plan ─ held ─ wait ─ wake ─ apply ─ pod ─ schedule ─ init ─ register ─ start ─ claim
 *                                           └ read, refresh, sync
 *
 * Each phase ends where the next one begins. A phase whose end was not seen is part of the next one.
 */
import { LRUCache } from 'lru-cache';
import {
  type EventOf,
  type HeldBecause,
  type JobDecision,
  type Subscriber,
  subscriberOf,
} from '../serve/planning/events.ts';
import { atMost, keyText, stayKey } from '../shared/keys.ts';
import { printable } from '../shared/printable.ts';
import { contextOf, type SpanAttributes, type SpanData, type SpanSink } from './tracing/span.ts';

/** Most traced journeys (waiting CI jobs), announcements and Jobs. Beyond it the least recently seen one has no trace. */
const MOST_JOURNEYS = 10_000;
/** Most Applications whose wakes are remembered. Traces of others have no wake. */
const MOST_APPLICATIONS = 1_000;
/** Most remembered wakes of one Application. A job that waits for longer has no older ones in its trace. */
const MOST_WAKES = 32;
/** The kubelet tells late that a container runs. A journey that has ended waits so long for it. */
const LATE_MS = 3_000;

/** Follows jobs by the events of `serve`, and gives `sink` their spans. @param now ms since 1970 */
export function traceTo(sink: Pick<SpanSink, 'record'>, now: () => number): Subscriber {
  /** Journeys by `<url> <job> <attempt>`. */
  const journeys = new LRUCache<string, Journey>(atMost(MOST_JOURNEYS));
  /** When a webhook announced a change, by `<repository> <job> <status>`. */
  const announcements = new LRUCache<string, number>(atMost(MOST_JOURNEYS));
  /** When a Job and its pod reached each step, by `<namespace>/<name>` of the Job, with its uid. */
  const trails = new LRUCache<string, { readonly uid: string; readonly steps: Steps }>(atMost(MOST_JOURNEYS));
  const pastWakes = new LRUCache<string, readonly PastWake[]>(atMost(MOST_APPLICATIONS));
  const endByJob = new Map<string, { readonly journey: Journey; readonly end: JourneyEnd }>();

  const finish = (key: string, journey: Journey, end: JourneyEnd): void => {
    journeys.delete(key);
    endByJob.set(key, { journey, end });
  };

  const apply = (key: string, after: ReturnType<typeof afterDecision>): void => {
    if (after?.end) finish(key, after.journey, after.end);
    else if (after) journeys.set(key, after.journey);
  };

  /** Hands on those that ended before this time. */
  const exportUntil = (beforeMs: number): void => {
    for (const [key, { journey, end }] of endByJob) {
      const [namespace = ''] = (journey.group ?? '').split('/');
      const steps = end.runner === undefined ? {} : (trails.get(`${namespace}/${end.runner}`)?.steps ?? {});
      const isWhole = end.runner === undefined || steps.started !== undefined;
      if (!isWhole && end.atMs > beforeMs) continue;
      endByJob.delete(key);
      if (journey.isUntraced) continue;
      const wakes = pastWakes.get(journey.application ?? '') ?? [];
      sink.record(spansOf(journey, end, steps, wakes), contextOf(journey));
    }
  };

  return subscriberOf({
    webhook: ({ event }) => {
      if (!event) return;
      const { jobId, owner, repo, status } = event;
      announcements.set(announcementOf(`${owner}/${repo}`, jobId, status), now());
    },
    looked: ({ target, url, beganMs, endedMs, look }) => {
      if (!look) return;
      for (const job of look.jobs.filter(({ status }) => status === 'queued')) {
        const stay = { origin: url, job };
        if (journeys.has(stayKey(stay))) continue;
        const announcedMs = announcements.get(announcementOf(job.repository, job.id, job.status));
        const announced = announcedMs !== undefined && announcedMs <= endedMs && { announcedMs };
        journeys.set(stayKey(stay), { ...stay, target, look: { beganMs, endedMs }, ...announced });
      }
      const active = look.jobs.filter(({ status }) => status === 'queued' || status === 'in_progress');
      const activeKeys = new Set(active.map((job) => stayKey({ origin: url, job })));
      for (const [key, journey] of journeys) {
        if (journey.target === target && !activeKeys.has(key)) finish(key, journey, { atMs: endedMs });
      }
    },
    planned: ({ verdict: { application, groups, planning } }) => {
      if (journeys.size === 0 || planning.is !== 'planned') return;
      const untraced = new Set(groups.flatMap(({ live }) => (live.group?.tracing === false ? [live.key] : [])));
      for (const decision of planning.plan.jobs) {
        const key = stayKey(decision);
        const journey = journeys.get(key);
        if (!journey) continue;
        const group = 'group' in decision && decision.group ? keyText(decision.group) : undefined;
        const journeyOfGroup = group === undefined ? journey : { ...journey, group, isUntraced: untraced.has(group) };
        const { id, repository } = journey.job;
        const startedMs = announcements.get(announcementOf(repository, id, 'in_progress'));
        apply(key, afterDecision(journeyOfGroup, decision, application, now(), startedMs));
      }
    },
    reconciled: () => exportUntil(now() - LATE_MS),
    woken: (event) => {
      const wakes = [...(pastWakes.get(event.application) ?? []), { ...event, endedMs: now() }];
      pastWakes.set(event.application, wakes.slice(-MOST_WAKES));
    },
    /** The first time of each step counts. A pod whose Job was there before is not followed. */
    'runner-seen': ({ step, uid, ...job }) => {
      const trailOfJob = trails.get(keyText(job));
      const trail = trailOfJob?.uid === uid ? trailOfJob : step === 'job' && { uid, steps: {} };
      if (trail) trails.set(keyText(job), { uid, steps: { [step]: now(), ...trail.steps } });
    },
    ending: () => exportUntil(Number.POSITIVE_INFINITY),
    queue: () => exportUntil(Number.POSITIVE_INFINITY),
    'not-leading': () => {
      exportUntil(Number.POSITIVE_INFINITY);
      journeys.clear();
    },
  });
}

/** What a plan changes in a journey. `end`: it is over. @param announcedMs by a webhook, that the job runs */
function afterDecision(journey: Journey, decision: JobDecision, application: string, nowMs: number, announcedMs = 0) {
  const { plannedMs = Math.max(nowMs, journey.look.endedMs), servedMs } = journey;
  switch (decision.verdict) {
    case 'held':
      // Another Application may serve the job.
      return servedMs === undefined ? { journey: { ...journey, plannedMs, held: decision.because } } : undefined;
    case 'served':
      return { journey: { ...journey, plannedMs, servedMs: servedMs ?? Math.max(nowMs, plannedMs), application } };
    case 'running': {
      const { group, job } = decision;
      if (!group || job.runner === undefined) return undefined;
      const atMs = announcedMs >= journey.look.beganMs ? announcedMs : nowMs;
      return { journey: { ...journey, application }, end: { atMs, runner: job.runner } };
    }
    case 'done':
      return { journey, end: { atMs: nowMs } };
    default:
      return decision satisfies never;
  }
}

function announcementOf(repository: string, jobId: number, status: string): string {
  return `${repository.toLowerCase()} ${jobId} ${status}`;
}

/** State of a waiting CI job. Times are ms since 1970 by this machine's clock. */
interface Journey extends Pick<JobDecision, 'job' | 'origin'> {
  /** Key of the target whose look showed it first. */
  readonly target: string;
  /** When a webhook announced the queued job. Absent: a poll found it. */
  readonly announcedMs?: number;
  /** The look that showed it first. */
  readonly look: { readonly beganMs: number; readonly endedMs: number };
  readonly plannedMs?: number;
  readonly held?: HeldBecause;
  readonly servedMs?: number;
  readonly application?: string;
  /** `<namespace>/<name>` */
  readonly group?: string;
  /** True if its group has `tracing: false`. */
  readonly isUntraced?: boolean;
}

type PastWake = EventOf<'woken'> & { readonly endedMs: number };

type Steps = Readonly<Partial<Record<EventOf<'runner-seen'>['step'], number>>>;

/** End of a journey. Without `runner`: the CI job is not queued any more, and does not run on a runner of ours. */
type JourneyEnd = Readonly<{ atMs: number; runner?: string }>;

/** The root span with its phases. @param steps none: its Job is older than this watch @param wakes oldest first */
function spansOf(journey: Journey, end: JourneyEnd, steps: Steps, wakes: readonly PastWake[]): SpanData {
  const { announcedMs, look } = journey;
  const beganMs = Math.min(announcedMs ?? look.beganMs, look.beganMs);
  return {
    name: 'CI job waits for its runner',
    beganMs,
    endedMs: Math.max(end.atMs, beganMs),
    attributes: attributesOf(journey, end),
    children: inTurn(beganMs, phasesOf(journey, end, steps, wakes)),
  };
}

/** A phase by its end. Undefined: the end was not seen. */
type Phase = Omit<SpanData, 'beganMs' | 'endedMs'> & { readonly untilMs: number | undefined };

function phasesOf(
  { announcedMs, look, plannedMs, held, servedMs }: Journey,
  end: JourneyEnd,
  { job, created, scheduled, registering, registered, started }: Steps,
  wakes: readonly PastWake[],
): readonly Phase[] {
  // The last wake that began before the Job was seen, unless it had ended before the plan wanted the runner.
  const wantedMs = servedMs ?? look.endedMs;
  const wake = wakes.findLast(({ endedMs, ms }) => endedMs - ms <= (job ?? -1) && endedMs >= wantedMs);
  return [
    { name: 'webhook', untilMs: announcedMs === undefined ? undefined : look.beganMs },
    { name: 'look', untilMs: look.endedMs },
    { name: 'plan', untilMs: plannedMs },
    ...(held === undefined ? [] : [{ name: 'held', untilMs: servedMs, attributes: { because: held } }]),
    ...(wake ? phasesOfWake(wake) : []),
    { name: 'apply', untilMs: job },
    { name: 'pod', untilMs: created },
    { name: 'schedule', untilMs: scheduled },
    { name: 'init', untilMs: registering },
    { name: 'register', untilMs: registered },
    { name: 'start', untilMs: started },
    { name: 'claim', untilMs: end.runner === undefined ? undefined : end.atMs },
  ];
}

function phasesOfWake({ endedMs, ms, waitedMs, outcome: { is: outcome }, steps }: PastWake): readonly Phase[] {
  const isBad = outcome === 'error' || outcome === 'failed' || outcome === 'foreign';
  const children = steps.map(({ step, ...times }) => ({ name: step, ...times }));
  return [
    { name: 'wait', untilMs: endedMs - ms, attributes: { 'line.ms': waitedMs } },
    { name: 'wake', untilMs: endedMs, attributes: { outcome }, children, ...(isBad && { error: outcome }) },
  ];
}

/** Puts the phases in a row. One that ended before the last one, as the pod of an older runner, is left out. */
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

/** Returns the attributes. The SDK cuts long ones: `TRACING_BOUNDS`. */
function attributesOf({ origin, job, application, group }: Journey, end: JourneyEnd): SpanAttributes {
  return {
    'gitea.url': origin,
    'gitea.repository': printable(job.repository),
    'gitea.run.id': job.runId,
    'gitea.job.id': job.id,
    'gitea.job.attempt': job.attempt,
    ...(application && { 'argocd.application': application }),
    ...(group !== undefined && { runnergroup: group }),
    ...(end.runner !== undefined && { runner: end.runner }),
    outcome: end.runner === undefined ? 'gone' : 'running',
  };
}
