/**
 * Compares `report` on days of CI with the truth. Gitea over HTTP, Kubernetes over HTTPS; the clock is the history's.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Usage, UsageFigures } from '../../../src/answers/usage.ts';
import { report } from '../../../src/cli/commands/report.ts';
import { groupBy } from '../../../src/shared/keys.ts';
import { REPOSITORY } from '../../../src/shared/marks.ts';
import { kubeconfigFor, startCluster } from '../../clients/kubernetes/through-cli.ts';
import { printingIo } from '../../support/printing-io.ts';
import { folderWith, groupYaml } from '../../support/run-cli.ts';
import { TOKEN } from '../../support/start-acme.ts';
import { GROUPS, type Played, type PlayedRunner, play } from './played-history.ts';

const HOURS = 48;
const SINCE_HOURS = 30;

function folderOf({ simulator: { url } }: Played): string {
  const files = GROUPS.map(({ cpu, label, name, org, size }) => {
    const asked = (cpus: number): string => `resources: {requests: {cpu: "${cpus}", memory: 2Gi}}`;
    const ofSize = size && `  sizes:\n    - {name: ${size.name}, weight: 2, ${asked(size.cpu)}}\n`;
    const yaml = groupYaml(url, `  ${asked(cpu)}\n${ofSize ?? ''}`, name);
    return [`${name}.yaml`, yaml.replace('org: acme', `org: ${org}`).replace('linux:host', `${label}:host`)] as const;
  });
  return folderWith(Object.fromEntries(files));
}

const second = (ms: number): string => new Date(Math.floor(ms / 1000) * 1000).toISOString();

/** The Job as Kubernetes lists it after its end. */
function jobObject({ cpu, createdMs, endedMs = 0, name, wanted }: PlayedRunner): object {
  const annotations = { [REPOSITORY]: wanted.repository };
  const requests = { cpu: String(cpu), memory: '2Gi' };
  return {
    metadata: { name, namespace: 'runners', uid: name, creationTimestamp: second(createdMs), annotations },
    spec: { selector: {}, template: { spec: { containers: [{ name: 'runner', resources: { requests } }] } } },
    status: {
      completionTime: second(endedMs),
      conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: second(endedMs) }],
    },
  };
}

/** @param keptHours how long Kubernetes keeps ended Jobs; 0: nobody looks at it */
async function reported(played: Played, by: string, keptHours: number): Promise<Usage & { readonly isWhole: boolean }> {
  const kept = played.runners.filter(
    ({ endedMs }) => endedMs !== undefined && endedMs >= played.nowMs - keptHours * 3_600_000,
  );
  const server = await startCluster({ jobs: { runners: kept.map(jobObject) } });
  const env = { GITEA_URL: played.simulator.url, GITEA_TOKEN: TOKEN };
  const { io, printed } = printingIo({ env, now: () => played.nowMs });
  const cluster = keptHours > 0 ? { kubeconfig: kubeconfigFor(server) } : { cluster: 'off' };
  const code = await report([folderOf(played)], { since: `${SINCE_HOURS}h`, output: 'json', by, ...cluster }, io);
  expect({ code, err: printed.err }).toEqual({ code: 0, err: '' });
  return JSON.parse(printed.out) as Usage & { readonly isWhole: boolean };
}

/** Returns the runners and jobs that ended in the period, by the name of the row. */
function truthBy({ nowMs, runners }: Played, nameOf: (runner: PlayedRunner) => string) {
  const fromMs = nowMs - SINCE_HOURS * 3_600_000;
  const ended = runners.filter(({ endedMs, ran }) => ((ran ? ran.endedMs : endedMs) ?? 0) >= fromMs);
  return groupBy(
    ended.filter(({ ran }) => !ran?.isHidden),
    nameOf,
  );
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/**
 * Returns the CPU hours that are certain when runners are forgotten: a job that names a size ran on a runner of that
 * size.
 */
function certainCpuHours(runners: readonly PlayedRunner[]): number {
  const certain = ({ group, ran }: PlayedRunner): number => {
    if (!ran) return 0;
    const { cpu, size } = group;
    const asked = size ? (ran.size === size.name ? size.cpu : Math.min(cpu, size.cpu)) : cpu;
    return (((ran.endedMs ?? 0) - ran.startedMs) / 3_600_000) * asked;
  };
  return sum(runners.map(certain));
}

function figuresOf(runners: readonly PlayedRunner[], nowMs: number) {
  const jobs = runners.flatMap(({ ran }) => ran ?? []);
  const waits = jobs.map(({ readyMs, startedMs }) => (startedMs - readyMs) / 1000).sort((a, b) => a - b);
  const hours = (runner: PlayedRunner): number => ((runner.endedMs ?? nowMs) - runner.createdMs) / 3_600_000;
  return {
    jobs: jobs.length,
    failed: jobs.filter(({ failed }) => failed).length,
    needless: runners.length - jobs.length,
    ciMinutes: sum(jobs.map(({ endedMs = 0, startedMs }) => (endedMs - startedMs) / 60_000)),
    runnerMinutes: sum(runners.map(hours)) * 60,
    cpuHours: sum(runners.map((runner) => hours(runner) * runner.cpu)),
    waitP50: waits[Math.ceil(0.5 * waits.length) - 1] ?? 0,
    waitP95: waits[Math.ceil(0.95 * waits.length) - 1] ?? 0,
  };
}

/** Gitea's times are whole seconds: a wait may be a second longer or shorter. */
function expectWaits(row: UsageFigures | undefined, { waitP50, waitP95 }: ReturnType<typeof figuresOf>): void {
  for (const [range, truth] of [
    [row?.waitP50, waitP50],
    [row?.waitP95, waitP95],
  ] as const) {
    expect(range?.atLeast).toBeLessThanOrEqual(truth + 1);
    expect(range?.atMost).toBeGreaterThanOrEqual(truth - 1);
  }
}

/**
 * Returns the workflow of a runner. Without a CI job: that of the job that it was made for, if that job has ended in
 * the period.
 */
function workflowOf({ ran, wanted }: PlayedRunner, { nowMs, simulator }: Played): string {
  const { stopped } = simulator.gitea.job(wanted.id);
  const isKnown = ran !== undefined || stopped * 1000 >= nowMs - SINCE_HOURS * 3_600_000;
  return isKnown ? (ran ?? wanted).workflow : '(unknown)';
}

const DIMENSIONS: Readonly<Record<string, (runner: PlayedRunner, history: Played) => string>> = {
  group: ({ group }) => `runners/${group.name}`,
  organization: ({ group }) => group.org,
  repository: ({ ran, wanted }) => (ran ?? wanted).repository,
  workflow: (runner, history) => `${(runner.ran ?? runner.wanted).repository} ${workflowOf(runner, history)}`,
};

describe.each(['1.26.0', '1.27.3'] as const)('Gitea %s', (version) => {
  let history: Played;
  beforeAll(async () => {
    history = await play({ seed: 7, version, hours: HOURS, reruns: version !== '1.26.0', cleansUp: false });
  }, 60_000);
  afterAll(() => history.simulator.close());

  it.each(Object.keys(DIMENSIONS))('report tells by %s what really happened, to the minute', async (by) => {
    const nameOf = DIMENSIONS[by] ?? String;
    const truth = truthBy(history, (runner) => nameOf(runner, history));

    const usage = await reported(history, by, HOURS);

    expect(usage.rows.map(({ name }) => name)).toEqual([...truth.keys()].sort());
    expect(usage).toMatchObject({ isWhole: true, ofUnknownGroup: 0, unmatchedRunners: 0 });
    expect(usage.onOtherRunners).toBeGreaterThan(0);
    expect(usage.total.needlessStarts).toBeGreaterThan(0);
    for (const row of usage.rows) {
      const figures = figuresOf(truth.get(row.name) ?? [], history.nowMs);
      expect(row).toMatchObject({ jobs: figures.jobs, failed: figures.failed, needlessStarts: figures.needless });
      expect(Math.abs(row.ciMinutes - figures.ciMinutes)).toBeLessThan(1);
      expect(Math.abs(row.runnerMinutes.atLeast - figures.runnerMinutes)).toBeLessThan(1);
      expect(row.runnerMinutes.isExact).toBe(true);
      expect(Math.abs(row.cpuHours.atLeast - figures.cpuHours)).toBeLessThan(8 / 60);
      if (row.jobs > 0) expectWaits(row, figures);
    }
  });

  it.each([1, 2, 3])('claims nothing that it cannot know when much is forgotten, seed %i', async (seed) => {
    const history = await play({ seed, version, hours: HOURS, reruns: true, cleansUp: true });
    onTestFinished(() => history.simulator.close());
    const truth = truthBy(history, ({ group }) => `runners/${group.name}`);

    const usage = await reported(history, 'group', 12);

    expect(usage.isWhole).toBe(true);
    expect(usage.total.byLabels).toBeGreaterThan(0);
    expect(usage.unmatchedRunners).toBeGreaterThanOrEqual(version === '1.26.0' ? 1 : 0);
    for (const row of usage.rows) {
      const figures = figuresOf(truth.get(row.name) ?? [], history.nowMs);
      // Jobs of static runners whose names are forgotten are taken for ours.
      expect(row.jobs).toBe(figures.jobs);
      expect(row.needlessStarts).toBeLessThanOrEqual(figures.needless);
      expect(row.runnerMinutes.isExact).toBe(false);
      expect(row.runnerMinutes.atLeast).toBeLessThanOrEqual(figures.runnerMinutes + 1);
      expect(row.runnerMinutes.atLeast).toBeGreaterThanOrEqual(row.ciMinutes - 1);
      expect(row.cpuHours.atLeast).toBeLessThanOrEqual(figures.cpuHours + 8 / 60);
      expect(row.cpuHours.atLeast).toBeGreaterThanOrEqual(certainCpuHours(truth.get(row.name) ?? []) - 8 / 60);
      if (row.jobs > 0) expectWaits(row, figures);
    }
  });
});
