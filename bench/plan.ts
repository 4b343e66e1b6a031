/**
 * Measures the cost of one plan: medians of warm runs over 1,000 to 10,000 jobs, 200 groups and 2,000 live Jobs. `npm
 * run bench:plan` (ROUNDS=51 for more). The shapes: 20 organizations with 10 groups each, and the worst one, where
 * every group sees every job; and both without Kubernetes, where the past is replayed. The target is 50 ms where `node
 * -e 0` takes 17 ms, so it is judged as a ratio.
 */
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import type { Evidence, Group, Job, LiveJob, Look, RegisteredRunner } from '../src/planner/evidence.ts';
import { runnerName } from '../src/planner/names.ts';
import { plan } from '../src/planner/plan.ts';
import { withPast } from '../src/planner/unseen/unseen.ts';

const ROUNDS = Number(process.env['ROUNDS'] ?? 21);
const SIZES = [1_000, 2_000, 5_000, 10_000];
const GROUPS = 200;
const LIVE_JOBS = 2_000;
/** 50 ms to 17 ms. */
const TARGET = 3;
const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);
const INSTANCE = 'bench';
const LABELS = ['linux', 'gpu', 'arm', 'large', 'windows'];

function label(i: number): string {
  return LABELS[i % LABELS.length] ?? 'linux';
}

interface Scene {
  readonly groups: readonly Group[];
  readonly evidence: Evidence;
}

function groupsOf(looks: number): readonly Group[] {
  return Array.from({ length: GROUPS }, (_, i): Group => {
    const place = Math.floor(i / looks);
    return {
      namespace: 'runners',
      name: `group-${i}`,
      origin: 'https://gitea.example.com',
      look: `look ${i % looks}`,
      scope: 'owner',
      labels: ['linux', label(place), label(place + 1)],
      maxActiveRunners: 25,
      minIdleRunners: 0,
      suspend: false,
      acceptUnlabelledJobs: false,
      fairness: 'oldest',
      spawnTimeoutMs: 300_000,
      pendingDeadlineMs: 900_000,
      longestRunMs: 32_430_000,
      priorityTiers: [],
      templateHash: 'template',
    };
  });
}

function pick(groups: readonly Group[], looks: number, id: number): Group {
  const group = groups[(id % looks) + looks * (Math.floor(id / looks) % (GROUPS / looks))];
  if (!group) throw new Error('no group');
  return group;
}

function nameOf(group: Group, id: number): string {
  return runnerName(INSTANCE, group, { id, attempt: 1 }, 0);
}

/** Three of five jobs are ready, one runs and one is done; each was taken by the runner made for the job before it. */
function jobOf(group: Group, id: number, count: number): Job {
  const createdAtMs = NOW - 60_000 - (count - id) * 20;
  const base = {
    id,
    attempt: 1,
    runId: Math.ceil(id / 4),
    repository: 'acme/web',
    name: `job (${id})`,
    url: '',
    labels: id % 3 === 0 ? ['linux', label(id)] : ['linux'],
    createdAtMs,
  };
  if (id % 5 < 3) return { ...base, status: 'queued' };
  const claimed = { ...base, runner: nameOf(group, Math.max(1, id - 1)), startedAtMs: createdAtMs + 1_000 };
  if (id % 5 === 3) return { ...claimed, status: 'in_progress' };
  return { ...claimed, status: 'completed', completedAtMs: createdAtMs + 30_000 };
}

function scene(count: number, looks: number, most: number): Scene {
  const groups = groupsOf(looks);
  const jobs = new Map<string, Job[]>();
  const rows = new Map<string, RegisteredRunner[]>();
  const liveJobs: LiveJob[] = [];
  for (let id = 1; id <= count; id += 1) {
    const group = pick(groups, looks, id);
    const job = jobOf(group, id, count);
    push(jobs, group.look, job);
    if (liveJobs.length === LIVE_JOBS) continue;
    const name = nameOf(group, id);
    const starting = id % 5 === 1;
    liveJobs.push({
      namespace: 'runners',
      name,
      state: starting ? 'starting' : 'running',
      createdAtMs: job.createdAtMs,
    });
    const { labels } = group;
    const row: RegisteredRunner = {
      id,
      name,
      online: true,
      busy: id % 5 === 3,
      disabled: false,
      ephemeral: true,
      labels,
    };
    if (!starting) push(rows, group.look, row);
  }
  // With fewer jobs than live Jobs, the rest belong to jobs that are gone.
  for (let id = count + 1; liveJobs.length < LIVE_JOBS; id += 1) {
    const name = nameOf(pick(groups, looks, id), id);
    liveJobs.push({ namespace: 'runners', name, state: 'complete', createdAtMs: NOW - 60_000, finishedAtMs: NOW });
  }
  const found = new Map<string, Look>();
  for (const { look } of groups) found.set(look, { jobs: jobs.get(look) ?? [], runners: rows.get(look) ?? [] });
  const pods = new Map(liveJobs.map(({ namespace, name }) => [`${namespace}/${name}`, 1]));
  const cluster: Evidence['cluster'] =
    most > 0 ? { is: 'seen', jobs: liveJobs, pods, listedAtMs: NOW } : { is: 'unseen' };
  return { groups, evidence: { instance: INSTANCE, looks: found, cluster, nowMs: NOW } };
}

function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key) ?? [];
  list.push(item);
  lists.set(key, list);
}

/** Median, ms, of `ROUNDS` runs after three that warm up. */
function time(work: () => unknown): number {
  for (let i = 0; i < 3; i += 1) work();
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
}

// Node 20 reads this file of certificates at each start.
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
const startMs = time(() => spawnSync(process.execPath, ['-e', '0'], { env }));
console.log(`node -e 0: ${startMs.toFixed(1)} ms`);
console.log(`Node ${process.version}; ${GROUPS} groups, ${LIVE_JOBS} live Jobs; medians of ${ROUNDS} runs`);
for (const [shape, looks, liveJobs] of [
  ['20 organizations of 10 groups', 20, LIVE_JOBS],
  ['all groups see all jobs', 1, LIVE_JOBS],
  ['20 organizations, Gitea alone', 20, 0],
  ['all groups see all jobs, Gitea alone', 1, 0],
] as const) {
  console.log(`\n${shape}`);
  let before: { readonly size: number; readonly ms: number } | undefined;
  for (const size of SIZES) {
    const { groups, evidence } = scene(size, looks, liveJobs);
    const planned = plan(groups, evidence, withPast);
    const served = planned.jobs.filter(({ verdict }) => verdict === 'served').length;
    const ms = time(() => plan(groups, evidence, withPast));
    const growth = before ? `${(ms / before.ms).toFixed(1)} x for ${size / before.size} x the jobs` : '';
    const ratio = `${(ms / startMs).toFixed(2)} x node -e 0`;
    const verdict =
      size === 10_000 ? `target ${TARGET.toFixed(1)} x: ${ms <= TARGET * startMs ? 'met' : 'MISSED'}` : '';
    const cells = [
      `${size} jobs`.padStart(12),
      `${ms.toFixed(1)} ms`.padStart(10),
      ratio,
      `${served} served`.padStart(12),
      growth,
      verdict,
    ];
    console.log(cells.join('  ').trimEnd());
    before = { size, ms };
  }
}
