/**
 * The spans of one run of `generate`, by hand: OpenTelemetry's packages take longer to load than a run takes. lib/trace.cjs, loaded only when
 * an endpoint is set (docs/adr/0049).
 *
 *     begin ─► connect ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┐
 *     run, print ─────────────────────┴─► connected? ─ yes ─► POST, 100 ms for the answer
 *                                            └ no ──► the spans are lost
 */

import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Plan } from '../../planner/decisions.ts';
import { systemClock } from '../../shared/clock.ts';
import { isKept, SERVICE_NAME, type TracingSettings } from './settings.ts';
import { contextOf, readTraceparent, type TraceIds } from './span.ts';

/** Argo CD waits for the process. So long it may wait for a collector that is slow. */
const ANSWER_MS = 100;
/** CI jobs in whose traces a run shows. */
const MOST_TRACES = 100;

type IsTraced = (group: { readonly namespace: string; readonly name: string }) => boolean;

export interface RunTrace {
  /**
   * Sends the spans of a run that has printed its plan. Never rejects; ends after `ANSWER_MS` at the latest.
   * @param isTraced false for a group with `tracing: false`.
   */
  readonly end: (plan: Plan, isTraced: IsTraced) => Promise<void>;
}

/** @param traceparent `TRACEPARENT` of the process. */
export function openRunTrace(settings: TracingSettings, traceparent: string | undefined, now: () => number): RunTrace {
  const beganMs = now() - process.uptime() * 1000;
  const caller = readTraceparent(traceparent);
  const connection = open(settings.url);
  return {
    end: async (plan, isTraced) => {
      const spans = parentsOf(plan, isTraced, settings, caller).map((parent) => spanOf(parent, beganMs, now(), plan));
      if (spans.length > 0 && connection.isOpen()) await post(settings.url, connection.socket, bodyOf(settings, spans));
      connection.socket.destroy();
    },
  };
}

interface Parent extends TraceIds {
  /** The runner that is new in this trace; absent in the trace of a caller. */
  readonly runner?: string;
}

/** The caller's trace, else the traces of all CI jobs that get a new runner. */
function parentsOf(
  plan: Plan,
  isTraced: IsTraced,
  settings: TracingSettings,
  caller: ReturnType<typeof readTraceparent>,
): readonly Parent[] {
  if (caller) return isKept(settings, caller.traceId, caller) ? [caller] : [];
  return plan.jobs
    .flatMap((decision) => {
      if (decision.verdict !== 'served' || decision.by !== 'new-runner') return [];
      const { group, job, origin, runner } = decision;
      if (!isTraced(group)) return [];
      return [{ ...contextOf({ origin, jobId: job.id, attempt: job.attempt }), runner }];
    })
    .filter(({ traceId }) => isKept(settings, traceId))
    .slice(0, MOST_TRACES);
}

interface Connection {
  readonly socket: Socket;
  readonly isOpen: () => boolean;
}

function open({ protocol, hostname, port }: URL): Connection {
  const host = hostname.replace(/^\[|\]$/g, '');
  let isOpen = false;
  const opened = (): void => {
    isOpen = true;
  };
  const isTls = protocol === 'https:';
  const socket = isTls
    ? connectTls({ host, port: Number(port || 443), servername: host }, opened)
    : connect({ host, port: Number(port || 80) }, opened);
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isOpen = false;
  });
  // It must not keep a process that has nothing else to do.
  socket.unref();
  return { socket, isOpen: () => isOpen };
}

async function post(url: URL, socket: Socket, body: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const takeBack = systemClock.after(ANSWER_MS, resolve);
    const done = (): void => {
      takeBack();
      resolve();
    };
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request({
      method: 'POST',
      host: url.host,
      path: url.pathname,
      headers: { ...headers, host: url.host },
      createConnection: () => socket,
    });
    sent.on('error', done);
    sent.on('response', (response) => {
      response.resume();
      done();
    });
    sent.end(body);
  });
}

const INTERNAL = 1;

/** As OTLP's JSON writes it: ids in hex, times in ns as strings. */
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
