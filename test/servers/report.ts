/** The figures of a load, for people. */
import type { LoadResult } from './load.ts';
import type { Stay } from './watcher.ts';

/** Waiting times, needless runners and what else is worth a look, one line each. */
export function report(version: string, { jobs, stays, runners, passes }: LoadResult): string {
  const groups = passes.flatMap((pass) => pass.groups);
  const capOf = (stay: Stay): number => groups.find(({ group }) => stay.labels.includes(group))?.cap ?? 0;
  const atOnce = stays.filter((stay) => stay.ahead < capOf(stay));
  const worked = new Set([...jobs.map(({ runner_name }) => runner_name), ...stays.map(({ runner }) => runner)]);
  const needless = runners.filter(({ name }) => !worked.has(name));
  const pruned = runners.filter(({ prunedAfterLookAtMs }) => prunedAfterLookAtMs !== undefined);
  const finished = pruned.filter(({ name }) => worked.has(name));
  const most = Math.max(...groups.map(({ census }) => census.wanted + census.pinned + census.stopping));
  const lines = [
    `${jobs.length} CI jobs, ${runners.length} runners started, ${passes.length} passes`,
    `queued -> running, all: ${times(stays)}`,
    `queued -> running, within the cap when queued: ${times(atOnce)}`,
    `needless runners: ${needless.length} (1 is right: its job went away); pruned: ${pruned.length}, of these ${finished.length} had just taken a CI job and finished it`,
    `most processes of one group at once, with ending ones: ${most}`,
  ];
  return `${lines.map((line) => `Gitea ${version}: ${line}`).join('\n')}\n`;
}

function times(stays: readonly Stay[]): string {
  const waits = stays.flatMap(({ queuedAtMs, startedAtMs }) => (startedAtMs ? [startedAtMs - queuedAtMs] : []));
  const sorted = waits.sort((a, b) => a - b);
  const at = (share: number): string => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return `${(value / 1000).toFixed(1)} s`;
  };
  return `p50 ${at(0.5)}, p95 ${at(0.95)}, max ${at(1)} of ${sorted.length} jobs`;
}
