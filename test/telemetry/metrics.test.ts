import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { deliveriesIn } from '../../src/cli/doctor/installation.ts';
import type { Plan } from '../../src/planner/decisions.ts';
import type { GroupVerdict } from '../../src/serve/planning/reconcile.ts';
import type { LiveRunner } from '../../src/serve/seen/live.ts';
import { MOST_LABEL_SETS, openMetrics } from '../../src/telemetry/metrics.ts';
import { live } from '../support/scenario.ts';
import { verdictOf } from '../support/verdict.ts';

function groupOf(runners: readonly LiveRunner[], over: Partial<GroupVerdict['facts']>): GroupVerdict {
  const metadata = { namespace: 'runners', name: 'ci', uid: 'x' };
  const facts = { generation: 1, suspended: false, activeRunners: 0, argocd: { is: 'unmanaged' }, ...over } as const;
  return { live: { key: 'runners/ci', object: { metadata } }, runners, facts };
}

it('the manual lists every metric of ours, and no other, with its labels', async () => {
  const manual = readFileSync('docs/serve.md', 'utf8');
  const listed = [...manual.matchAll(/^\| `(gitea_runners_\w+)` \| ([\w, ]*)\|/gm)].map(
    ([, name = '', labels = '']) => [name, labels.split(',').flatMap((label) => label.trim() || [])],
  );
  const { registry } = openMetrics();
  const ours = (await registry.getMetricsAsJSON()).filter(({ name }) => name.startsWith('gitea_runners_'));
  const labelsOf = (name: string): readonly string[] => {
    const metric = registry.getSingleMetric(name);
    return metric !== undefined && 'labelNames' in metric ? (metric.labelNames as readonly string[]) : [];
  };

  expect(ours.length).toBeGreaterThan(10);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(ours.map(({ name }) => [name, [...labelsOf(name)]])));
});

it('forgets the Applications that were woken longest ago, however many names are made up', async () => {
  const { render, subscriber } = openMetrics();
  const wake = (application: string): void =>
    subscriber({ is: 'woken', application, outcome: { is: 'synced' }, steps: [], ms: 5, waitedMs: 0 });
  for (let at = 0; at < MOST_LABEL_SETS + 100; at += 1) {
    wake(`argocd/made-up-${at}`);
    if (at % 100 === 0) wake('argocd/runners');
  }
  const { body } = await render();

  const wakes = body.match(/^gitea_runners_wakes_total\{.*\} \d+$/gm) ?? [];
  const counts = body.match(/^gitea_runners_wake_duration_seconds_count\{.*\} \d+$/gm) ?? [];
  expect([wakes.length, counts.length]).toEqual([MOST_LABEL_SETS, MOST_LABEL_SETS]);
  expect(wakes).toContain(
    `gitea_runners_wakes_total{application="argocd/runners",outcome="synced"} ${MOST_LABEL_SETS / 100 + 1}`,
  );
});

it('a process that leads no longer shows no figures of groups, but goes on counting', async () => {
  const { render, subscriber } = openMetrics();
  const shown = async (): Promise<readonly string[]> => {
    const { body } = await render();
    return ['clock_skew_seconds', 'group_ready', 'looks_total'].filter((name) =>
      new RegExp(`^gitea_runners_${name}\\{.*\\} 1$`, 'm').test(body),
    );
  };
  const origin = 'https://gitea.example.com';
  const held = { cap: 0, limit: 0, suspended: 0, 'backing-off': 0 };
  const counts = { queued: 0, held, summary: undefined, stuck: [], suspended: [], debugging: [] };
  const verdict = verdictOf({ groups: [groupOf([], { argocd: { is: 'managed', differsForMs: 0 }, counts })] });

  subscriber({ is: 'looked', origin, target: 'look 1', url: origin, beganMs: 0, endedMs: 1 });
  subscriber({ is: 'reconciled', verdicts: [verdict], skews: new Map([[origin, 1_000]]) });
  expect(await shown()).toEqual(['clock_skew_seconds', 'group_ready', 'looks_total']);

  subscriber({ is: 'not-leading' });
  expect(await shown()).toEqual(['looks_total']);
  expect((await render()).body).not.toContain('namespace="runners"');
});

it('metrics show the runners of a group by what they do, and when Gitea was last looked at', async () => {
  const { render, subscriber } = openMetrics();
  const runners: readonly LiveRunner[] = ['a', 'b', 'c'].map((name) => ({
    job: live(name, 'running'),
    annotations: {},
  }));
  const decision = { emit: true, group: { namespace: 'runners', name: 'ci' }, pinned: false } as const;
  const plan: Plan = {
    groups: [],
    jobs: [],
    runners: [
      { ...decision, runner: 'a', because: 'busy' },
      { ...decision, runner: 'b', because: 'spare' },
      { ...decision, runner: 'c', because: 'busy' },
    ],
  };
  const groups = [groupOf(runners, { checkedAtMs: 9_000 })];
  const verdict = verdictOf({ planning: { is: 'planned', plan, atMs: 0 }, groups });

  subscriber({ is: 'reconciled', verdicts: [verdict], skews: new Map() });

  const { body } = await render();
  const states = [...body.matchAll(/^gitea_runners_runner_states\{.*state="(\w+)"\} (\d+)$/gm)].map(
    ([, state, n]) => `${state} ${n}`,
  );
  expect(states).toEqual([
    'initializing 0',
    'idle 1',
    'busy 2',
    'debugging 0',
    'failed 0',
    'retryable 0',
    'stale 0',
    'unknown 0',
  ]);
  expect(body).toContain('gitea_runners_last_look_timestamp_seconds{namespace="runners",group="ci"} 9\n');
});

it('metrics show when the last webhook of each result came', async () => {
  const { render, subscriber } = openMetrics();
  const beforeSeconds = Date.now() / 1000;

  subscriber({ is: 'webhook', result: 'accepted' });

  const { body } = await render();
  const [, told] =
    /^gitea_runners_webhook_last_delivery_timestamp_seconds\{result="accepted"\} (\S+)$/m.exec(body) ?? [];
  expect(Number(told)).toBeGreaterThanOrEqual(Math.floor(beforeSeconds));
  expect(Number(told)).toBeLessThanOrEqual(Date.now() / 1000);
  expect(body).not.toContain('timestamp_seconds{result="signature"}');
  expect(deliveriesIn([body])).toMatchObject({ lastMs: new Map([['accepted', Number(told) * 1000]]) });
});

it('metrics count the dead rows of each group that are left in Gitea, while the replica leads', async () => {
  const { render, subscriber } = openMetrics();
  const shown = async () => (await render()).body.match(/^gitea_runners_dead_registrations\{.*$/gm) ?? [];
  const row = (group: string) => ({ namespace: 'runners', group });

  subscriber({ is: 'dead-registrations', rows: [row('ci'), row('ml')] });
  subscriber({ is: 'dead-registrations', rows: [row('ci'), row('ci')] });
  const counted = await shown();
  subscriber({ is: 'not-leading' });

  expect(counted).toEqual(['gitea_runners_dead_registrations{namespace="runners",group="ci"} 2']);
  expect(await shown()).toEqual([]);
});
