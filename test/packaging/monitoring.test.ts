import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SERVE_SELECTOR, serveLogs } from '../../src/shared/installed/installed-names.ts';
import { openMetrics } from '../../src/telemetry/metrics.ts';
import { ALERTS, DASHBOARD_QUERIES } from '../support/monitoring.ts';
import { objects } from './manifests.ts';

it('install/monitoring asks only for metrics that serve has', () => {
  const { registry } = openMetrics();
  const asked = [...DASHBOARD_QUERIES, ...ALERTS.map(({ expr }) => expr)].flatMap(
    (expr) => expr.match(/gitea_runners_\w+/g) ?? [],
  );
  const unknown = asked.filter((name) => !registry.getSingleMetric(name.replace(/_bucket$/, '')));

  expect(asked.length).toBeGreaterThan(20);
  expect(unknown).toEqual([]);
});

it('an alert has the command to type first, but for those whose cause is outside of the cluster', () => {
  const without = ALERTS.filter(({ annotations }) => !annotations.description.includes(': kubectl '));

  expect(without.map(({ alert }) => alert)).toEqual(['GiteaRunnersRateLimited', 'GiteaRunnersClockSkew']);
});

it('commands of alerts name our own pods as the manifests do', () => {
  const commands = ALERTS.flatMap(({ annotations }) => annotations.description.match(/kubectl -n argocd .+/g) ?? []);
  const ours = [
    serveLogs('argocd'),
    `describe pods -l ${SERVE_SELECTOR}`,
    'exec deploy/gitea-runners -- gitea-runners',
  ];

  expect(commands.filter((command) => !ours.some((known) => command.includes(known)))).toEqual([]);
  expect(commands.length).toBeGreaterThan(2);
});

it('the manual tells of every alert, and of no other', () => {
  const manual = readFileSync('docs/monitoring.md', 'utf8');
  const told = [...manual.matchAll(/^\| `(GiteaRunners\w+)` \|/gm)].map(([, name]) => name);

  expect(told).toEqual(ALERTS.map(({ alert }) => alert));
});

it('scrapes the port of the metrics alone, and keeps the labels of RunnerGroups', () => {
  const [monitor] = objects('monitoring/servicemonitor.yaml');
  const service = objects('gitea-runners.yaml').find(({ metadata }) => metadata.name === 'gitea-runners-metrics');

  expect(monitor?.['spec']).toMatchObject({
    selector: { matchLabels: service?.metadata['labels'] },
    endpoints: [{ port: 'metrics', honorLabels: true }],
  });
  expect(service?.['spec']).toMatchObject({ ports: [{ name: 'metrics', port: 9090 }] });
});

it('the dashboard leaves no panel without a place', () => {
  const { panels } = JSON.parse(readFileSync('install/monitoring/dashboard.json', 'utf8'));
  const places = panels.map(({ gridPos: { x, y } }: { gridPos: { x: number; y: number } }) => `${x} ${y}`);

  expect(places.length).toBeGreaterThan(10);
  expect(new Set(places).size).toBe(places.length);
  expect(panels.every(({ gridPos: { x, w } }: { gridPos: { x: number; w: number } }) => x + w <= 24)).toBe(true);
});
