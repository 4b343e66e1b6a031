import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { NO_DIFFERENCE } from '../../../src/serve/planning/difference.ts';
import type { AppVerdict } from '../../../src/serve/round.ts';
import { openMetrics } from '../../../src/serve/subscribers/metrics.ts';

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

it('a process that leads no longer shows no figures of groups, but goes on counting', async () => {
  const { render, subscriber } = openMetrics();
  const shown = async (): Promise<readonly string[]> => {
    const { body } = await render();
    return ['clock_skew_seconds', 'group_ready', 'looks_total'].filter((name) =>
      new RegExp(`^gitea_runners_${name}\\{.*\\} 1$`, 'm').test(body),
    );
  };
  const origin = 'https://gitea.example.com';
  const metadata = { namespace: 'runners', name: 'ci', uid: 'x' };
  const facts = { generation: 1, suspended: false, activeRunners: 0, argocd: { is: 'unmanaged' } } as const;
  const group = { live: { key: 'runners/ci', object: { metadata } }, runners: [], facts, ready: true };
  const verdict: AppVerdict = {
    application: '',
    planning: { is: 'waiting' },
    difference: NO_DIFFERENCE,
    prints: new Set(),
    settled: true,
    clockWarnings: [],
    groups: [group],
    inputs: [],
    untilMs: 0,
  };

  subscriber({ is: 'looked', origin, beganMs: 0, endedMs: 1 });
  subscriber({ is: 'round-done', verdicts: [verdict], skews: new Map([[origin, 1_000]]) });
  expect(await shown()).toEqual(['clock_skew_seconds', 'group_ready', 'looks_total']);

  subscriber({ is: 'not-leading' });
  expect(await shown()).toEqual(['looks_total']);
});
