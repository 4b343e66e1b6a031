/** The runner's own config.yaml -> what a RunnerGroup says in its place. */
import * as z from 'zod';
import { NEWER_KEYS, OWNED_KEYS, RunnerConfigKeys } from '../../config/runnergroup/runner-config.ts';
import { filled } from './found.ts';

const Section = z.record(z.string(), z.unknown());
const RunnerFile = z.looseObject({
  runner: z.looseObject({
    labels: z.array(z.string()).nullish(),
    capacity: z.int().min(1).nullish(),
    timeout: z.string().nullish(),
  }),
});

export interface FromRunnerFile {
  readonly labels: readonly string[];
  /** CI jobs that one runner took at once. */
  readonly capacity: number;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

/** Told by other fields, or without a meaning here. */
const SILENT = new Set(['runner.labels', 'runner.capacity', 'runner.timeout', 'runner.file']);
/** Files and addresses of the old machine, and variables, which may be secrets. */
const OF_THE_MACHINE = ['runner.envs', 'runner.env_file', 'cache.dir', 'cache.host', 'cache.port'];
const LEFT_OUT = new Set([...Object.keys(OWNED_KEYS), ...Object.keys(NEWER_KEYS), ...OF_THE_MACHINE]);

/** Undefined: this is no config.yaml of a runner. */
export function fromRunnerFile(value: unknown): FromRunnerFile | undefined {
  const read = RunnerFile.safeParse(value);
  if (!read.success) return undefined;
  const { labels, capacity, timeout } = read.data.runner;
  const kept: Record<string, Record<string, unknown>> = {};
  const lost: string[] = [];
  for (const [section, keys] of Object.entries(read.data)) {
    for (const [key, of] of Object.entries(filled(Section.safeParse(keys).data ?? {}))) {
      const name = `${section}.${key}`;
      if (saysNothing(name, of)) continue;
      if (
        LEFT_OUT.has(name) ||
        LEFT_OUT.has(section) ||
        !RunnerConfigKeys.safeParse({ [section]: { [key]: of } }).success
      )
        lost.push(name);
      else kept[section] = { ...kept[section], [key]: of };
    }
  }
  return {
    labels: labels ?? [],
    capacity: capacity ?? 1,
    spec: filled({ activeDeadlineSeconds: secondsOf(timeout ?? '') || undefined, runnerConfig: kept }),
    notes: lost.length > 0 ? [`Of the runner's config.yaml these are not carried over: ${lost.join(', ')}.`] : [],
  };
}

function saysNothing(name: string, of: unknown): boolean {
  return of === '' || SILENT.has(name) || (of === false && LEFT_OUT.has(name));
}

/** `1h30m` is 5400. */
function secondsOf(duration: string): number {
  const units = { h: 3600, m: 60, s: 1 } as const;
  const parts = [...duration.matchAll(/([0-9.]+)([hms])/g)];
  return Math.round(parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * units[unit as 'h' | 'm' | 's'], 0));
}
