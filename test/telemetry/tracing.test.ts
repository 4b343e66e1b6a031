/** Events in, spans out, through the SDK with its exporter in memory. */
import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { expect, it } from 'vitest';
import type { JobDecision, Plan } from '../../src/planner/decisions.ts';
import type { Job, JobStatus } from '../../src/planner/evidence.ts';
import type { ServeEvent } from '../../src/serve/planning/events.ts';
import type { AppVerdict } from '../../src/serve/planning/reconcile.ts';
import type { LiveGroup } from '../../src/serve/seen/live.ts';
import { openSink } from '../../src/telemetry/tracing/otlp.ts';
import { contextOf } from '../../src/telemetry/tracing/span.ts';
import { traceTo } from '../../src/telemetry/tracing.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { job as sceneJob, ORIGIN as URL_OF_GITEA } from '../support/scenario.ts';
import { verdictOf } from '../support/verdict.ts';

const APPLICATION = 'argocd/runners';
const GROUP = { namespace: 'runners', name: 'ci' };
const RUNNER = 'ci-7-1-0000cafe';
const BEGIN_MS = 1_800_000_000_000;
const ENDING = { is: 'ending', signal: 'SIGTERM' } as const;
const SEEN = { is: 'runner-seen', uid: 'u1', namespace: 'runners', name: RUNNER } as const;

function job(status: JobStatus, over: Partial<Job> = {}): Job {
  return sceneJob(7, { runId: 3, name: 'the token is s3cret', status, ...over });
}

/** Makes a subscriber with a clock of its own. Times are ms since the beginning. @param tracing of the group */
function follow(tracing = true) {
  let nowMs = BEGIN_MS;
  const exporter = new InMemorySpanExporter();
  const kept: ReadableSpan[] = [];
  exporter.shutdown = async () => void kept.push(...exporter.getFinishedSpans());
  const settings = { url: new URL(URL_OF_GITEA), sampler: 'always_on', ratio: 1, attributes: {} } as const;
  const sink = openSink(settings, exporter);
  const hear = traceTo(sink, () => nowMs);
  const at = (ms: number, event: ServeEvent): void => {
    nowMs = BEGIN_MS + ms;
    hear(event);
  };
  return {
    at,
    looked: (fromMs: number, toMs: number, ...jobs: readonly Job[]) =>
      at(toMs, {
        is: 'looked',
        origin: URL_OF_GITEA,
        target: 'look 1',
        url: URL_OF_GITEA,
        beganMs: BEGIN_MS + fromMs,
        endedMs: BEGIN_MS + toMs,
        look: { jobs, runners: [] },
      }),
    decided: (ms: number, ...jobs: readonly JobDecision[]) => {
      const decided = verdict(jobs, tracing);
      at(ms, { is: 'planned', verdict: decided, ms: 1 });
      at(ms, { is: 'reconciled', verdicts: [decided], skews: new Map() });
    },
    webhook: (ms: number, status: 'queued' | 'in_progress') =>
      at(ms, {
        is: 'webhook',
        result: 'accepted',
        event: { owner: 'Acme', repo: 'web', status, jobId: 7, attempt: 1 },
      }),
    /** Name, begin and end of each span. */
    spans: async () => {
      await sink.close();
      return kept.map((span) => ({
        name: span.name,
        times: [msOf(span.startTime), msOf(span.endTime)],
        attributes: span.attributes,
        ...span.spanContext(),
        parent: span.parentSpanContext?.spanId,
      }));
    },
  };
}

function msOf([seconds, nanoseconds]: readonly [number, number]): number {
  return seconds * 1000 + nanoseconds / 1_000_000 - BEGIN_MS;
}

function verdict(jobs: readonly JobDecision[], tracing: boolean): AppVerdict {
  const plan: Plan = { groups: [], jobs, runners: [] };
  const live = { key: 'runners/ci', group: runnerGroup({ tracing }) } as unknown as LiveGroup;
  const groups = [{ live } as AppVerdict['groups'][number]];
  return verdictOf({ application: APPLICATION, planning: { is: 'planned', plan, atMs: 0 }, groups });
}

const queued = { job: job('queued'), origin: URL_OF_GITEA, group: GROUP };
const served: JobDecision = { ...queued, verdict: 'served', by: 'new-runner', runner: RUNNER };
const held: JobDecision = { ...queued, verdict: 'held', because: 'cap' };
const running: JobDecision = {
  job: job('in_progress', { runner: RUNNER }),
  origin: URL_OF_GITEA,
  group: GROUP,
  verdict: 'running',
};

/** A poll finds the CI job, and a runner takes it. */
function shortWay(way = follow()) {
  way.looked(20, 60, job('queued'));
  way.decided(70, served);
  way.decided(400, running);
  way.at(500, ENDING);
  return way;
}

it('the way of a CI job is one trace, with one span for each phase, from the webhook to the begin of the CI job, and no name of a workflow', async () => {
  const way = follow();
  way.webhook(0, 'queued');
  way.looked(20, 60, job('queued'));
  way.decided(70, held);
  way.decided(500, served);
  way.at(1_500, {
    is: 'woken',
    application: APPLICATION,
    outcome: { is: 'synced' },
    ms: 900,
    waitedMs: 40,
    steps: [
      { step: 'read', beganMs: BEGIN_MS + 600, endedMs: BEGIN_MS + 620 },
      { step: 'refresh', beganMs: BEGIN_MS + 620, endedMs: BEGIN_MS + 1_400 },
      { step: 'sync', beganMs: BEGIN_MS + 1_400, endedMs: BEGIN_MS + 1_500 },
    ],
  });
  way.at(1_700, { ...SEEN, step: 'job' });
  way.at(1_720, { ...SEEN, step: 'created' });
  way.at(1_760, { ...SEEN, step: 'scheduled' });
  way.at(1_900, { ...SEEN, step: 'registering' });
  way.at(2_100, { ...SEEN, step: 'registered' });
  way.at(2_300, { ...SEEN, step: 'started' });
  way.webhook(2_400, 'in_progress');
  way.looked(2_410, 2_450, running.job);
  way.decided(2_460, running);
  const spans = await way.spans();
  const root = spans.find(({ parent }) => parent === undefined);

  expect(Object.fromEntries(spans.map(({ name, times }) => [name, times]))).toEqual({
    'CI job waits for its runner': [0, 2_400],
    webhook: [0, 20],
    look: [20, 60],
    plan: [60, 70],
    held: [70, 500],
    wait: [500, 600],
    wake: [600, 1_500],
    read: [600, 620],
    refresh: [620, 1_400],
    sync: [1_400, 1_500],
    apply: [1_500, 1_700],
    pod: [1_700, 1_720],
    schedule: [1_720, 1_760],
    init: [1_760, 1_900],
    register: [1_900, 2_100],
    start: [2_100, 2_300],
    claim: [2_300, 2_400],
  });
  expect(root).toMatchObject(contextOf({ origin: URL_OF_GITEA, job: { id: 7, attempt: 1 } }));
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(root?.attributes).toEqual({
    'gitea.url': URL_OF_GITEA,
    'gitea.repository': 'acme/web',
    'gitea.run.id': 3,
    'gitea.job.id': 7,
    'gitea.job.attempt': 1,
    'argocd.application': APPLICATION,
    runnergroup: 'runners/ci',
    runner: RUNNER,
    outcome: 'running',
  });
  expect(JSON.stringify(spans)).not.toContain('s3cret');
});

it('the way of a CI job without a webhook begins with the look that found it', async () => {
  expect((await shortWay().spans()).map(({ name, times }) => [name, ...times])).toEqual([
    ['look', 20, 60],
    ['plan', 60, 70],
    ['claim', 70, 400],
    ['CI job waits for its runner', 20, 400],
  ]);
});

it('the way of a CI job on a runner that was there already has neither wake nor pod', async () => {
  const way = follow();
  way.at(0, { ...SEEN, step: 'job' });
  way.at(5, { ...SEEN, step: 'started' });

  expect((await shortWay(way).spans()).map(({ name }) => name)).toEqual([
    'look',
    'plan',
    'claim',
    'CI job waits for its runner',
  ]);
});

it('the way of a CI job has no trace in a group that has switched tracing off', async () => {
  expect(await shortWay(follow(false)).spans()).toEqual([]);
});

it('the way of a CI job that was cancelled ends with the look that no longer shows it', async () => {
  const way = follow();
  way.looked(20, 60, job('queued'));
  way.decided(70, held);
  way.looked(900, 1_000);
  way.decided(1_010);
  const spans = await way.spans();

  expect(spans.at(-1)).toMatchObject({ times: [20, 1_000], attributes: { outcome: 'gone' } });
});

it('the way of a CI job is not ended by a look that failed', async () => {
  const way = follow();
  way.looked(20, 60, job('queued'));
  const times = { beganMs: BEGIN_MS + 80, endedMs: BEGIN_MS + 90 };
  way.at(90, { is: 'looked', origin: URL_OF_GITEA, target: 'look 1', url: URL_OF_GITEA, ...times });
  way.decided(100, served);
  way.decided(400, running);
  way.at(500, ENDING);

  expect((await way.spans()).at(-1)).toMatchObject({ attributes: { outcome: 'running' } });
});

it('the way of a CI job waits some seconds for the kubelet, which tells late that a container runs', async () => {
  const way = follow();
  way.looked(20, 60, job('queued'));
  way.decided(70, served);
  way.at(100, { ...SEEN, step: 'job' });
  way.webhook(400, 'in_progress');
  way.decided(410, running);
  way.at(900, { ...SEEN, step: 'started' });
  way.decided(910);

  const start = (await way.spans()).find(({ name }) => name === 'start');
  expect(start?.times).toEqual([100, 900]);
});

it('the way of a CI job takes no time from the pod of a Job of the same name that was there before', async () => {
  const way = follow();
  way.looked(20, 60, job('queued'));
  way.decided(70, served);
  way.at(80, { ...SEEN, step: 'job' });
  way.at(90, { ...SEEN, uid: 'u2', step: 'job' });
  way.at(100, { ...SEEN, step: 'started' });
  way.at(300, { ...SEEN, uid: 'u2', step: 'started' });
  way.decided(400, running);
  way.at(500, ENDING);

  const start = (await way.spans()).find(({ name }) => name === 'start');
  expect(start?.times).toEqual([90, 300]);
});

it('the way of a CI job is not told by a process that leads no longer and comes back', async () => {
  const way = follow();
  way.looked(20, 60, job('queued'));
  way.at(70, { is: 'not-leading' });
  way.decided(400, running);
  way.at(500, ENDING);

  expect(await way.spans()).toEqual([]);
});
