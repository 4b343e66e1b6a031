import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
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
