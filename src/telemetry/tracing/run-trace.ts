/**
 * The spans of one run of `generate`, by hand: loading OpenTelemetry's packages takes longer than a run (docs/adr/0049).
 *
 *     begin ─► connect ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┐
 *     run, print ─────────────────────┴─► connected? ─ yes ─► POST, 100 ms for the answer
 *                                            └ no ──► the spans are lost
 */
import { randomBytes } from 'node:crypto';
import { request as overHttp } from 'node:http';
import { request as overTls } from 'node:https';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Plan } from '../../serve/planning/events.ts';
import { pause, systemClock } from '../../shared/clock.ts';
import { contextOf, isKept, readTraceparent, SERVICE_NAME, type TraceIds, type TracingSettings } from './span.ts';

/** How long a run waits for a slow collector, ms. Argo CD waits for the process. */
const ANSWER_MS = 100;
/** CI jobs in whose traces a run shows. */
const MOST_TRACES = 100;

type IsTraced = (group: { readonly namespace: string; readonly name: string }) => boolean;

/** Sends the spans of a run that has printed its plan. Never rejects; ends after `ANSWER_MS`. @param isTraced `tracing` of a group. */
export type EndTrace = (plan: Plan, isTraced: IsTraced) => Promise<void>;

export function openRunTrace(settings: TracingSettings, traceparent: string | undefined, now: () => number): EndTrace {
  const beganMs = now() - process.uptime() * 1000;
  const caller = readTraceparent(traceparent);
  const post = connect(settings.url);
  /** The caller's trace, else the traces of all CI jobs that get a new runner. */
  const parentsOf = (plan: Plan, isTraced: IsTraced): readonly Parent[] => {
    if (caller) return isKept(settings, caller.traceId, caller) ? [caller] : [];
    return plan.jobs
      .flatMap((decision) => {
        if (decision.verdict !== 'served' || decision.by !== 'new-runner') return [];
        const { group, runner } = decision;
        return isTraced(group) ? [{ ...contextOf(decision), runner }] : [];
      })
      .filter(({ traceId }) => isKept(settings, traceId))
      .slice(0, MOST_TRACES);
  };
  return async (plan, isTraced) => {
    const spans = parentsOf(plan, isTraced).map((parent) => spanOf(parent, beganMs, now(), plan));
    await post(spans.length > 0 ? bodyOf(settings, spans) : undefined);
  };
}

/** Parent of a span. `runner`: the runner that is new in this trace; absent in the trace of a caller. */
type Parent = TraceIds & { readonly runner?: string };

/** Connects, and answers what sends the body when the connection is there by then. Without a body it ends the connection. */
function connect(url: URL): (body: string | undefined) => Promise<void> {
  const isTls = url.protocol === 'https:';
  let isOpen = false;
  const headers = { 'content-type': 'application/json' };
  const sent = (isTls ? overTls : overHttp)(url, { method: 'POST', agent: false, headers });
  sent.on('socket', (socket) => {
    // The socket must not keep a finished process alive.
    socket.unref();
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      isOpen = true;
    });
  });
  sent.on('error', () => undefined);
  return async (body) => {
    if (isOpen && body !== undefined) {
      const wait = new AbortController();
      const end = (): void => wait.abort();
      sent.once('response', end).once('close', end).end(body);
      await pause(systemClock, ANSWER_MS, wait.signal);
    }
    sent.destroy();
  };
}

const INTERNAL = 1;

/** Makes the span of this run as OTLP's JSON writes it: ids in hex, times in ns as strings. */
function spanOf({ traceId, spanId, runner }: Parent, beganMs: number, endedMs: number, { groups, jobs }: Plan) {
  return {
    traceId,
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: spanId,
    name: 'generate',
    kind: INTERNAL,
    startTimeUnixNano: nanoseconds(beganMs),
    endTimeUnixNano: nanoseconds(endedMs),
    attributes: [
      ...(runner === undefined ? [] : [text('runner', runner)]),
      { key: 'groups', value: { intValue: String(groups.length) } },
      { key: 'jobs', value: { intValue: String(jobs.length) } },
    ],
    status: {},
  };
}

function bodyOf({ attributes }: TracingSettings, spans: readonly object[]): string {
  const { version } = packageJson;
  const about = { 'service.name': SERVICE_NAME, 'service.version': version, ...attributes };
  const resource = { attributes: Object.entries(about).map(([key, value]) => text(key, value)) };
  return JSON.stringify({
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name: SERVICE_NAME, version }, spans }] }],
  });
}

function text(key: string, stringValue: string) {
  return { key, value: { stringValue } };
}

function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}
