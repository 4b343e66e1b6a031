/** install/monitoring/ with Debian's promtool and a real Prometheus that scrapes a real `serve`. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import * as z from 'zod';
import { managedGroup } from '../../serve/managed-group.ts';
import { DASHBOARD_QUERIES } from '../../support/monitoring.ts';
import { type ServeProcess, startServeProcess } from '../../support/serve-process.ts';
import { startAcme } from '../../support/start-acme.ts';
import { freePort, Playground, statusOf, waitUntil } from '../process.ts';

/** `spec` of install/monitoring/prometheusrule.yaml: a rule file of Prometheus. */
const RuleFile = z.object({
  groups: z.array(
    z.object({
      name: z.string(),
      rules: z.array(z.looseObject({ alert: z.string(), expr: z.string(), for: z.string() })),
    }),
  ),
});
type RuleFile = z.output<typeof RuleFile>;

/** The rules as they are installed. */
const installed = z
  .object({ spec: RuleFile })
  .parse(parse(readFileSync('install/monitoring/prometheusrule.yaml', 'utf8'))).spec;

let playground: Playground;
beforeAll(() => {
  playground = new Playground('monitoring');
});
afterAll(() => playground?.close());

function write(name: string, value: unknown): string {
  const file = join(playground.folder, name);
  writeFileSync(file, stringify(value));
  return file;
}

/** Returns the alerts with other waiting times. */
function withFor(rules: RuleFile, duration: string): RuleFile {
  return {
    groups: rules.groups.map((group) => ({ ...group, rules: group.rules.map((rule) => ({ ...rule, for: duration })) })),
  };
}

/** Runs promtool, and answers what it prints. @throws when it finds a fault. */
function promtool(...args: readonly string[]): string {
  return execFileSync('promtool', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

it('promtool accepts the alerts', () => {
  expect(promtool('check', 'rules', write('rules.yaml', installed))).toMatch(/SUCCESS: 9 rules found/);
});

it('promtool sees each alert begin when it should, with two replicas', () => {
  const group = 'namespace="runners",group="ci"';
  const series = (name: string, values: string) => ({ series: `gitea_runners_${name}`, values });
  const ofGroup = { namespace: 'runners', group: 'ci', severity: 'warning' };
  const ofAll = { severity: 'critical' };
  /** Each alert: the minute in which it begins, and its labels. */
  const begins: Readonly<Record<string, readonly [minute: number, labels: object]>> = {
    GiteaRunnersServeDown: [36, ofAll],
    GiteaRunnersGroupNotChecked: [17, { ...ofGroup, ...ofAll }],
    GiteaRunnersGroupNotReady: [16, ofGroup],
    GiteaRunnersRateLimited: [11, { ...ofGroup, ...ofAll }],
    GiteaRunnersJobsNotCovered: [16, { application: 'argocd/runners', severity: 'warning' }],
    GiteaRunnersCapReached: [60, ofGroup],
    GiteaRunnersPodsStuck: [15, { ...ofGroup, reason: 'Unschedulable' }],
    GiteaRunnersFail: [30, ofGroup],
    GiteaRunnersClockSkew: [10, { origin: 'https://g', severity: 'warning' }],
  };
  const test = {
    interval: '1m',
    input_series: [
      // One of two replicas leads for half an hour; then both are gone.
      series('leader{pod="a"}', '1x30 stale'),
      series('leader{pod="b"}', '0x30 stale'),
      series(`last_look_timestamp_seconds{${group},pod="a"}`, '0+60x10 600x60'),
      series(`group_ready{${group},pod="a"}`, '1x10 0x60'),
      series(`gitea_failing{${group},reason="RateLimited",pod="a"}`, '0 1x70'),
      series('uncovered_jobs{application="argocd/runners",pod="a"}', '0 1x70'),
      series(`held_jobs{${group},reason="cap",pod="a"}`, '2x70'),
      series(`stuck_pods{${group},reason="Unschedulable",pod="a"}`, '1x70'),
      series(`runner_states{${group},state="retryable",pod="a"}`, '1x70'),
      series('clock_skew_seconds{origin="https://g",pod="a"}', '-11x70'),
    ],
    alert_rule_test: Object.entries(begins).flatMap(([alertname, [minute, labels]]) => [
      { eval_time: `${minute - 1}m`, alertname, exp_alerts: [] },
      { eval_time: `${minute}m`, alertname, exp_alerts: [{ exp_labels: labels }] },
    ]),
  };
  // promtool compares annotations, too, so it gets alerts without them.
  const plain = installed.groups.map((each) => ({
    ...each,
    rules: each.rules.map(({ annotations: _, ...rule }) => rule),
  }));
  const rule = write('plain.yaml', { groups: plain });

  expect(promtool('test', 'rules', write('test.yaml', { rule_files: [rule], tests: [test] }))).toContain('SUCCESS');
});

const Alerts = z.object({
  data: z.object({
    alerts: z.array(z.object({ state: z.string(), labels: z.looseObject({ alertname: z.string() }) })),
  }),
});
const Result = z.object({
  data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
});

/** Starts a Prometheus that scrapes `target` and judges the rules each second. It ends with the playground. */
async function startPrometheus(target: string, rules: RuleFile) {
  const port = await freePort();
  const folder = playground.makeFolder(`prometheus-${port}`);
  const settings = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: [{ job_name: 'gitea-runners', honor_labels: true, static_configs: [{ targets: [target] }] }],
  };
  writeFileSync(join(folder, 'rules.yaml'), stringify(rules));
  writeFileSync(join(folder, 'prometheus.yml'), stringify(settings));
  const listen = `127.0.0.1:${port}`;
  const running = playground.start({
    command: 'prometheus',
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${listen}`,
    ],
    cwd: folder,
    env: {},
    logFile: join(folder, 'log'),
  });
  const ask = async (path: string): Promise<unknown> => (await fetch(`http://${listen}${path}`)).json();
  const isReady = async () => (await statusOf(`http://${listen}/-/ready`)) === 200;
  await waitUntil('prometheus is ready', isReady, { running });
  return {
    /** Names of the alerts that fire now. */
    firing: async (): Promise<readonly string[]> => {
      const { alerts } = Alerts.parse(await ask('/api/v1/alerts')).data;
      return alerts.flatMap(({ state, labels }) => (state === 'firing' ? labels.alertname : [])).sort();
    },
    /** Values of an expression. */
    query: async (expression: string): Promise<readonly number[]> => {
      const { result } = Result.parse(await ask(`/api/v1/query?query=${encodeURIComponent(expression)}`)).data;
      return result.map(({ value: [, text] }) => Number(text));
    },
  };
}

it('a real Prometheus scrapes a real serve: no alert while all is well but for a job that nobody covers, and one when serve is killed', async () => {
  const serve = await startServe();
  const { firing, query } = await startPrometheus(serve.metrics, withFor(installed, '2s'));
  const fires = (name: string) => waitUntil(`only ${name} fires`, async () => (await firing()).join() === name);
  await fires('GiteaRunnersJobsNotCovered');
  expect(await query('gitea_runners_group_ready{namespace="runners",group="ci"}')).toEqual([1]);
  expect(await query('count(gitea_runners_runner_states)')).toEqual([8]);
  expect(await query('time() - gitea_runners_last_look_timestamp_seconds < bool 120')).toEqual([1]);
  expect(await query('sum(gitea_runners_uncovered_jobs)')).toEqual([1]);
  // Prometheus refuses an expression that it cannot read.
  for (const panel of DASHBOARD_QUERIES)
    await query(panel.replaceAll('$namespace', 'runners').replaceAll('$group', '.*'));

  serve.child.kill('SIGKILL');

  await fires('GiteaRunnersServeDown');
});

/** `serve` with one RunnerGroup and one queued CI job that no group covers. */
async function startServe(): Promise<ServeProcess & { readonly metrics: string }> {
  const { simulator, env } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['typo'] }] });
  const metrics = `127.0.0.1:${await freePort()}`;
  const serve = await startServeProcess({
    fill: (cluster) => cluster.put('runnergroups', managedGroup(simulator.url)),
    args: ['--metrics-listen', metrics],
    env,
  });
  return { ...serve, metrics };
}
