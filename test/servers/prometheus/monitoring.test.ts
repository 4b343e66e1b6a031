/** install/monitoring/ with Debian's promtool and a real Prometheus that scrapes a real `serve`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { DASHBOARD_QUERIES } from '../../support/monitoring.ts';
import { Playground, waitUntil } from '../process.ts';
import { promtool, type RuleFile, rulesOf, startPrometheus } from './prometheus.ts';
import { startServe } from './serve-process.ts';

const installed = rulesOf(readFileSync('install/monitoring/prometheusrule.yaml', 'utf8'));

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

/** The same alerts with other waiting times. */
function withFor(rules: RuleFile, duration: string): RuleFile {
  return {
    groups: rules.groups.map((group) => ({ ...group, rules: group.rules.map((rule) => ({ ...rule, for: duration })) })),
  };
}

describe('promtool', () => {
  it('accepts the alerts', () => {
    expect(promtool('check', 'rules', write('rules.yaml', installed))).toMatch(/SUCCESS: 9 rules found/);
  });

  it('accepts every expression of the dashboard', () => {
    const rules = DASHBOARD_QUERIES.map((query, index) => ({
      record: `panel:${index}`,
      expr: query.replaceAll('$namespace', '.*').replaceAll('$group', '.*'),
    }));
    const file = write('dashboard.yaml', { groups: [{ name: 'dashboard', rules }] });

    expect(promtool('check', 'rules', file)).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  it('sees each alert begin when it should, with two replicas', () => {
    const group = 'namespace="runners",group="ci"';
    const series = (name: string, values: string) => ({ series: `gitea_runners_${name}`, values });
    const firing = (alertname: string, at: string, ...labels: readonly object[]) => ({
      eval_time: at,
      alertname,
      exp_alerts: labels.map((exp_labels) => ({ exp_labels })),
    });
    const ofGroup = { namespace: 'runners', group: 'ci', severity: 'warning' };
    const silent = (alertname: string, at: string) => firing(alertname, at);
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
      alert_rule_test: [
        silent('GiteaRunnersServeDown', '30m'),
        silent('GiteaRunnersServeDown', '35m'),
        firing('GiteaRunnersServeDown', '36m', { severity: 'critical' }),
        silent('GiteaRunnersGroupNotChecked', '16m'),
        firing('GiteaRunnersGroupNotChecked', '17m', { ...ofGroup, severity: 'critical' }),
        silent('GiteaRunnersGroupNotReady', '15m'),
        firing('GiteaRunnersGroupNotReady', '16m', ofGroup),
        silent('GiteaRunnersRateLimited', '10m'),
        firing('GiteaRunnersRateLimited', '11m', { ...ofGroup, severity: 'critical' }),
        silent('GiteaRunnersJobsNotCovered', '15m'),
        firing('GiteaRunnersJobsNotCovered', '16m', { application: 'argocd/runners', severity: 'warning' }),
        silent('GiteaRunnersCapReached', '59m'),
        firing('GiteaRunnersCapReached', '60m', ofGroup),
        silent('GiteaRunnersPodsStuck', '14m'),
        firing('GiteaRunnersPodsStuck', '15m', { ...ofGroup, reason: 'Unschedulable' }),
        silent('GiteaRunnersFail', '29m'),
        firing('GiteaRunnersFail', '30m', ofGroup),
        silent('GiteaRunnersClockSkew', '9m'),
        firing('GiteaRunnersClockSkew', '10m', { origin: 'https://g', severity: 'warning' }),
      ],
    };
    // promtool compares annotations, too, so it gets alerts without them.
    const plain = installed.groups.map((each) => ({
      ...each,
      rules: each.rules.map(({ annotations: _, ...rule }) => rule),
    }));
    const rule = write('plain.yaml', { groups: plain });

    expect(promtool('test', 'rules', write('test.yaml', { rule_files: [rule], tests: [test] }))).toContain('SUCCESS');
  });
});

describe('a real Prometheus', () => {
  it('scrapes a real serve: no alert while all is well but for a job that nobody covers, and one when serve is killed', async () => {
    const serve = await startServe(playground);
    const prometheus = await startPrometheus(playground, serve.metrics, withFor(installed, '2s'));
    const fires = (...names: readonly string[]) =>
      waitUntil(
        `fires: ${names.join(', ')}`,
        async () => (await prometheus.firing()).join() === [...names].sort().join(),
        { timeoutMs: 60_000 },
      );
    await fires('GiteaRunnersJobsNotCovered');
    expect(await prometheus.query('gitea_runners_group_ready{namespace="runners",group="ci"}')).toEqual([1]);
    expect(await prometheus.query('count(gitea_runners_runner_states)')).toEqual([8]);
    expect(await prometheus.query('time() - gitea_runners_last_look_timestamp_seconds < bool 120')).toEqual([1]);

    serve.running.signal('SIGKILL');

    await fires('GiteaRunnersServeDown');
  });

  it('every query of the dashboard has an answer of Prometheus', async () => {
    const serve = await startServe(playground);
    const prometheus = await startPrometheus(playground, serve.metrics, { groups: [] });
    await waitUntil('a scrape', async () => (await prometheus.query('gitea_runners_group_ready')).length > 0, {
      timeoutMs: 60_000,
    });

    for (const query of DASHBOARD_QUERIES) {
      await prometheus.query(query.replaceAll('$namespace', 'runners').replaceAll('$group', '.*'));
    }
    expect(await prometheus.query('sum(gitea_runners_uncovered_jobs)')).toEqual([1]);
  });
});
