/**
 * Calculates how the seconds between a queued CI job and its begin are spent: p50 and p95 of each phase, from the spans
 * of `serve` and `generate`. Pure.
 */
import type { ReceivedSpan } from '../test/support/otlp-server.ts';

/** Owner of each phase. */
const OWNERS: Readonly<Record<string, string>> = {
  webhook: 'ours: looks are 100 ms apart',
  look: 'Gitea, asked by serve',
  plan: 'ours',
  held: 'the cap',
  wait: 'ours: a wake that runs, its turn',
  wake: 'Argo CD, asked by serve',
  '  read': 'Argo CD',
  '  refresh': 'Argo CD; generate runs in it',
  '    generate': 'ours',
  '  sync': 'Argo CD',
  apply: 'Argo CD: the operation, until the Job is seen',
  pod: "Kubernetes' Job controller",
  schedule: "Kubernetes' scheduler",
  init: 'kubelet: sandbox, volumes, init container',
  register: 'the runner and Gitea',
  start: 'kubelet: runner container',
  claim: 'the runner and Gitea',
};

export interface PhaseRow {
  readonly phase: string;
  readonly owner: string;
  /** ms; of CI jobs that had this phase. */
  readonly p50: number;
  readonly p95: number;
  readonly jobs: number;
}

/**
 * Returns one row per phase, in order. An indented row is part of the row above it.
 * @param queuedAtMs of the CI jobs that count, as another witness has seen it, by id
 */
export function phaseRows(
  spans: readonly ReceivedSpan[],
  queuedAtMs: ReadonlyMap<number, number | undefined>,
): readonly PhaseRow[] {
  const roots = spans.filter(({ parentSpanId, attributes }) => {
    const isRoot = parentSpanId === undefined && attributes['outcome'] === 'running';
    return isRoot && queuedAtMs.has(jobOf(attributes));
  });
  const traces = new Map(roots.map(({ traceId }) => [traceId, spans.filter((span) => span.traceId === traceId)]));
  const announced = roots.flatMap(({ attributes, beganMs }) => {
    const queued = queuedAtMs.get(jobOf(attributes));
    return queued === undefined ? [] : [Math.max(0, beganMs - queued)];
  });
  const rows = Object.entries(OWNERS).map(([phase, owner]) => {
    const times = [...traces.values()].flatMap((trace) => timeOf(trace, phase.trim()) ?? []);
    return rowOf(phase, owner, times);
  });
  return [
    rowOf('announce', "Gitea: queued until its webhook is there; the witness's look is 75 ms exact", announced),
    ...rows,
    rowOf(
      'webhook -> running',
      'all of it',
      roots.map(({ beganMs, endedMs }) => endedMs - beganMs),
    ),
  ].filter(({ jobs }) => jobs > 0);
}

function jobOf(attributes: ReceivedSpan['attributes']): number {
  return Number(attributes['gitea.job.id']);
}

/** Returns the time of a phase. A wake may ask twice: only the last run of `generate` counts, which printed the Job. */
function timeOf(trace: readonly ReceivedSpan[], name: string): number | undefined {
  const all = trace.filter((span) => span.name === name);
  const counted = name === 'generate' ? all.slice(-1) : all;
  return all.length === 0 ? undefined : counted.reduce((sum, { beganMs, endedMs }) => sum + endedMs - beganMs, 0);
}

function rowOf(phase: string, owner: string, times: readonly number[]): PhaseRow {
  return { phase, owner, p50: percentile(times, 0.5), p95: percentile(times, 0.95), jobs: times.length };
}

export function percentile(list: readonly number[], share: number): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
